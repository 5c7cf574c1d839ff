package interlock.client;

/** No compute member executed the call; nothing was written. */
public final class ComputeUnavailableException extends InterlockException {

    private static final long serialVersionUID = 1L;

    ComputeUnavailableException(Failure failure) {
        super(failure);
    }
}
