package interlock.client;

/** The client or the member was closed. */
public final class ClientClosedException extends ConnectionLostException {

    private static final long serialVersionUID = 1L;

    ClientClosedException(Failure failure) {
        super(failure);
    }
}
