package interlock.client;

import interlock.client.api.EntityTransactionResponse;
import java.util.List;

/**
 * What a write did.
 *
 * @param entityIds those of the entities
 * @param warnings those of the server and of compute members
 */
public record Written(List<String> entityIds, String transactionId, List<String> warnings) {

    /** The id of the entity; the first one's of several. */
    public String entityId() {
        return entityIds.get(0);
    }

    static Written of(EntityTransactionResponse answer) {
        return new Written(answer.transactionInfo().entityIds(), answer.transactionInfo().transactionId(),
                answer.warnings() == null ? List.of() : answer.warnings());
    }
}
