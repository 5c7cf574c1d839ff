package interlock.client;

/** The model is not in the state that the request needs. */
public final class ModelStateException extends InterlockException {

    private static final long serialVersionUID = 1L;

    ModelStateException(Failure failure) {
        super(failure);
    }
}
