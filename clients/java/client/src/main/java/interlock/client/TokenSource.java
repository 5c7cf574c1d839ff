package interlock.client;

/** Supplies bearer tokens; it is asked for every stream that is opened. */
@FunctionalInterface
public interface TokenSource {

    /**
     * Returns a token that is valid for some time yet. This may wait.
     *
     * @throws InterlockException if there is none; a {@link ConnectionLostException} is retried
     */
    String token() throws InterruptedException;

    /** Drops the token, because the server refused it; then the next one is another. */
    default void forget(String token) {}
}
