package interlock.client;

import org.jspecify.annotations.Nullable;

/**
 * With this a handler rejects a call. The text is returned to the caller of the server. A criterion
 * that merely does not hold returns a {@link Verdict} instead.
 */
public class RejectedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final @Nullable String code;

    /** Rejects for a reason. */
    public RejectedException(String reason) {
        this(reason, null);
    }

    /**
     * Rejects for a reason with a code.
     *
     * @param code what a plan of a step workflow calls fatal or retryable; of actions only
     */
    public RejectedException(String reason, @Nullable String code) {
        super(reason);
        this.code = code;
    }

    /** The code, if there is one. */
    public @Nullable String code() {
        return code;
    }
}
