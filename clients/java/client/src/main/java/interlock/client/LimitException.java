package interlock.client;

/** Too many requests; the property {@code retryAfterMs} is how long to wait, if it is known. */
public final class LimitException extends InterlockException {

    private static final long serialVersionUID = 1L;

    LimitException(Failure failure) {
        super(failure);
    }
}
