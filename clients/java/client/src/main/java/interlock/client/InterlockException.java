package interlock.client;

import interlock.client.api.ErrorCodes;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A request failed. Codes with the same remedy share a subclass; {@link #code} names the one that it
 * was. The message is the whole text, {@code <CODE>: <reason>}.
 */
public class InterlockException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String code;
    private final String reason;
    private final boolean isRetryable;
    private final transient Map<String, Json> properties;
    private final transient List<String> warnings;

    InterlockException(Failure failure) {
        super(failure.code() + ": " + failure.reason());
        this.code = failure.code();
        this.reason = failure.reason();
        this.isRetryable = failure.isRetryable();
        this.properties = Map.copyOf(failure.properties());
        this.warnings = List.copyOf(failure.warnings());
    }

    /** What went wrong: one of {@link ErrorCodes}, of {@link ClientCodes}, or a newer one. */
    public String code() {
        return code;
    }

    /** The text without the code. */
    public String reason() {
        return reason;
    }

    /** Whether the same request may succeed later. */
    public boolean isRetryable() {
        return isRetryable;
    }

    /** Details for programs, as documented for the code. */
    public Map<String, Json> properties() {
        return properties == null ? Map.of() : properties;
    }

    /** The warnings of the server and of compute members before it failed. */
    public List<String> warnings() {
        return warnings == null ? List.of() : warnings;
    }

    /** What the code means and what to do about it; null for an unknown one. */
    public @Nullable String remedy() {
        String own = ClientCodes.REMEDIES.get(code);
        String meaning = own == null ? ErrorCodes.meaning(code) : own;
        return meaning.isEmpty() ? null : meaning;
    }
}
