// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import interlock.client.Json;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Why a request failed.
 *
 * @param code Whether the request or the server is at fault.
 * @param message The specific code, a colon, and what is wrong in words.
 * @param properties What programs need to know of the failure, as documented for its code.
 * @param retryable Present, and true, only if the same request may succeed later.
 */
public record Error(
        Code code,
        String message,
        @Nullable Map<String, Json> properties,
        @Nullable Boolean retryable) {

    /** Whether the request or the server is at fault. */
    public record Code(@JsonValue String value) {

        public static final Code CLIENT_ERROR = new Code("CLIENT_ERROR");

        public static final Code SERVER_ERROR = new Code("SERVER_ERROR");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Code {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
