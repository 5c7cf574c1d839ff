package interlock.client;

/**
 * Answers what is not begun any more, so that the server need not wait for the end of the stream to try another
 * member.
 */
final class StoppingException extends RetryableException {

    static final String CODE = "MEMBER_STOPPING";

    private static final long serialVersionUID = 1L;

    StoppingException() {
        super("the member is stopping");
    }
}
