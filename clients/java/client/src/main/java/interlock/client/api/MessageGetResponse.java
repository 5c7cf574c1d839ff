// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A message.
 *
 * @param header Empty if <code>success</code> is false.
 * @param id The id of the request's event.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record MessageGetResponse(
        Json content,
        MessageGetResponseHeader header,
        String id,
        Map<String, Json> metaData,
        String requestId,
        @Nullable List<String> warnings) {

    /**
     * Empty if <code>success</code> is false.
     *
     * @param contentLength In bytes.
     */
    public record MessageGetResponseHeader(
            @Nullable String contentEncoding,
            @Nullable Long contentLength,
            @Nullable String contentType,
            @Nullable String correlationId,
            @Nullable String messageId,
            @Nullable String recipient,
            @Nullable String replyTo,
            @Nullable String subject,
            @Nullable String userId) {}
}
