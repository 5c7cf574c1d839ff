package interlock.client;

/** There is no connection, or it ended before the answer. If it is retryable, the request was not sent. */
public class ConnectionLostException extends InterlockException {

    private static final long serialVersionUID = 1L;

    ConnectionLostException(Failure failure) {
        super(failure);
    }
}
