// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;

/** A payload in which nothing is looked at. */
public record EntityModelGetAllRequest() implements Request {

    @Override
    public String eventType() {
        return "EntityModelGetAllRequest";
    }
}
