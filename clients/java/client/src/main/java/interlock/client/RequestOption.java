package interlock.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Changes how one request is sent. */
public final class RequestOption {

    private final @Nullable String idempotencyKey;
    private final @Nullable Duration timeout;

    private RequestOption(@Nullable String idempotencyKey, @Nullable Duration timeout) {
        this.idempotencyKey = idempotencyKey;
        this.timeout = timeout;
    }

    /** Makes the server perform a write once: a repeat with the same key gets the first answer. */
    public static RequestOption idempotencyKey(String key) {
        return new RequestOption(key, null);
    }

    /**
     * Gives the request up after that time: it is cancelled on the server, which stops whatever it
     * has not committed, and fails with a {@link CancelledException}.
     */
    public static RequestOption timeout(Duration timeout) {
        return new RequestOption(null, timeout);
    }

    static @Nullable String idempotencyKeyOf(RequestOption... options) {
        String chosen = null;
        for (RequestOption option : options) {
            chosen = option.idempotencyKey != null ? option.idempotencyKey : chosen;
        }
        return chosen;
    }

    static @Nullable Duration timeoutOf(RequestOption... options) {
        Duration chosen = null;
        for (RequestOption option : options) {
            chosen = option.timeout != null ? option.timeout : chosen;
        }
        return chosen;
    }
}
