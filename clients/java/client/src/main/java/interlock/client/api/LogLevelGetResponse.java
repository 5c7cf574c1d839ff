// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is logged.
 *
 * @param id The id of the request's event.
 * @param previous The level before a change.
 * @param requestId The id of the request's event.
 * @param warnings What the caller should know, although the request was answered.
 */
public record LogLevelGetResponse(
        String id,
        Level level,
        @Nullable String previous,
        String requestId,
        @Nullable List<String> warnings) {

    /** A text with the values below; a newer server may have others. */
    public record Level(@JsonValue String value) {

        public static final Level DEBUG = new Level("debug");

        public static final Level INFO = new Level("info");

        public static final Level WARN = new Level("warn");

        public static final Level ERROR = new Level("error");

        public static final Level EMPTY = new Level("");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public Level {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }
}
