package interlock.client;

/** The request itself is wrong; a repeat does not help. */
public final class InvalidRequestException extends InterlockException {

    private static final long serialVersionUID = 1L;

    InvalidRequestException(Failure failure) {
        super(failure);
    }
}
