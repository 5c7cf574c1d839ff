package interlock.client;

/** Another transaction committed first: read again, then write again. */
public final class ConflictException extends InterlockException {

    private static final long serialVersionUID = 1L;

    ConflictException(Failure failure) {
        super(failure);
    }
}
