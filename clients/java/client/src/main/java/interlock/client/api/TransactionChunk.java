// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one transaction of several wrote, or why it wrote nothing.
 *
 * @param error Why nothing of the transaction was done; the ones before it were.
 * @param failed Items that were left out.
 * @param transactionId Absent if nothing was written.
 */
public record TransactionChunk(
        List<String> entityIds,
        @Nullable TransactionChunkError error,
        @Nullable List<FailedItem> failed,
        @Nullable String transactionId) {

    /**
     * Why nothing of the transaction was done; the ones before it were.
     *
     * @param chunkIndex The place of the transaction, from 0.
     * @param code An error code.
     */
    public record TransactionChunkError(
            long chunkIndex,
            String code,
            String message) {}
}
