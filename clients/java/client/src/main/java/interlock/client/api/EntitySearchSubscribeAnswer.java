// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;

/** An event of the answer to EntitySearchSubscribeRequest. */
public sealed interface EntitySearchSubscribeAnswer permits EntityResponse, EntityChangeEvent {

    /** What it may be. */
    List<Class<? extends EntitySearchSubscribeAnswer>> TYPES = List.of(EntityResponse.class, EntityChangeEvent.class);
}
