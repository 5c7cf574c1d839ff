package interlock.client;

/**
 * With this a handler fails that may succeed if it is retried. The server retries, at another member
 * if there is one, if the workflow says {@code "retryPolicy": "FIXED"}; an action as often as it was
 * registered with.
 */
public class RetryableException extends RejectedException {

    private static final long serialVersionUID = 1L;

    /** Fails for a reason. */
    public RetryableException(String reason) {
        super(reason);
    }
}
