// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a write did: one transaction, or several.
 *
 * @param chunks What each transaction did, if the request was one for several.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param transactionInfo What the transaction did; of several, the first.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityTransactionResponse(
        @Nullable List<TransactionChunk> chunks,
        String id,
        String requestId,
        TransactionInfo transactionInfo,
        @Nullable List<String> warnings) {}
