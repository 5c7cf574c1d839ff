// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one transaction wrote.
 *
 * @param transactionId Absent if nothing was written.
 */
public record TransactionInfo(
        List<String> entityIds,
        @Nullable String transactionId) {}
