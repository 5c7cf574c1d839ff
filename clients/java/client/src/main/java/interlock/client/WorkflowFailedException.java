package interlock.client;

/** A criterion, a processor or a limit rejected it; nothing was written. */
public final class WorkflowFailedException extends InterlockException {

    private static final long serialVersionUID = 1L;

    WorkflowFailedException(Failure failure) {
        super(failure);
    }
}
