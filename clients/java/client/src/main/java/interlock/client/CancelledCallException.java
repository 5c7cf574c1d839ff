package interlock.client;

/** Answers a call of a saga that the server has cancelled. */
final class CancelledCallException extends RejectedException {

    private static final long serialVersionUID = 1L;

    CancelledCallException() {
        super("the call was cancelled; it may have been done", "CANCELLED");
    }
}
