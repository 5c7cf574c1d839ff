package interlock.client;

import interlock.client.api.AttachedEntity;
import interlock.client.api.CommittedMeta;
import interlock.client.api.ModelSpec;
import org.jspecify.annotations.Nullable;

/** What the requests for processors, criteria and schedules have in common. */
record Calculation(
        String requestId,
        String entityId,
        @Nullable String processorName,
        @Nullable String criteriaName,
        @Nullable String functionName,
        @Nullable String parameters,
        @Nullable String transactionId,
        @Nullable Named workflow,
        @Nullable Taken transition,
        @Nullable AttachedEntity payload) {

    record Named(@Nullable String name) {}

    record Taken(@Nullable String name, @Nullable String stateFrom, @Nullable String stateTo) {}

    String name() {
        if (processorName != null) {
            return processorName;
        }
        return criteriaName != null ? criteriaName : functionName == null ? "" : functionName;
    }

    /** The entity, if it is attached. */
    @Nullable Entity entity() {
        if (payload == null) {
            return null;
        }
        CommittedMeta meta = payload.meta();
        return new Entity(meta.id(), new ModelSpec(meta.modelKey().name(), meta.modelKey().version()), meta.state(),
                payload.data(), meta.transactionId(), meta.creationDate(), meta.lastUpdateTime());
    }
}
