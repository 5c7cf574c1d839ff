package interlock.client;

/** The caller is not authenticated, or not allowed to do this. */
public final class AccessException extends InterlockException {

    private static final long serialVersionUID = 1L;

    AccessException(Failure failure) {
        super(failure);
    }
}
