package interlock.client;

import interlock.client.api.EntityChangeEvent;

/** An event of a live search: an entity of the first result, or a change. */
public sealed interface Match {

    /** An entity of the first result. */
    record Found(Entity entity) implements Match {}

    /**
     * A change. Its {@code change} is whether the entity entered the result, changed within it or left
     * it; {@code complete} stands for the end of the first result, as of its sequence.
     */
    record Changed(EntityChangeEvent event) implements Match {}
}
