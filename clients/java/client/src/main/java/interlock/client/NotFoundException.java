package interlock.client;

/** What the request names does not exist, or belongs to another tenant. */
public final class NotFoundException extends InterlockException {

    private static final long serialVersionUID = 1L;

    NotFoundException(Failure failure) {
        super(failure);
    }
}
