package interlock.client;

/** The request was given up: its time was over, its thread was interrupted, or the server cancelled it. */
public final class CancelledException extends InterlockException {

    private static final long serialVersionUID = 1L;

    CancelledException(Failure failure) {
        super(failure);
    }
}
