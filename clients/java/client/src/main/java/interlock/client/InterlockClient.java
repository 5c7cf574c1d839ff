package interlock.client;

import java.time.Duration;

/**
 * Sends requests to a server, over one multiplexed stream.
 *
 * <pre>{@code
 * try (InterlockClient client = InterlockClient.create("localhost:9090")) {
 *     Entity entity = client.entities().get(id);
 * }
 * }</pre>
 *
 * <p>When the stream is lost, requests that wait for an answer fail with a
 * {@link ConnectionLostException}, and the next request opens another one. Nothing is sent twice.
 */
public final class InterlockClient extends Session implements AutoCloseable {

    /** The version of this client; servers have the same. */
    public static final String VERSION = Version.CLIENT;

    /** How long closing waits for outstanding answers. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    final Connection connection;

    private InterlockClient(Connection connection) {
        super(new Asker.OfConnection(connection));
        this.connection = connection;
    }

    /**
     * Makes a client of the server whose gRPC port is at {@code target}, a host:port. It does not
     * connect yet.
     */
    public static InterlockClient create(String target) {
        return builder(target).build();
    }

    /** Makes a client with other settings than the default ones. */
    public static Builder builder(String target) {
        return new Builder(target);
    }

    /**
     * Waits until the server can be reached, for the connect timeout at most. Calling it is not
     * necessary, but shows early that something is wrong.
     */
    public void connect() {
        try {
            connection.connect();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    /** Waits for outstanding answers, also those that are being read, for 10 s at most, then disconnects. */
    @Override
    public void close() {
        try {
            connection.close(CLOSE_TIMEOUT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Settings of a client. */
    public static final class Builder extends ConnectionBuilder<Builder> {

        private Builder(String target) {
            super(target);
        }

        @Override
        Builder self() {
            return this;
        }

        /** Makes the client. It does not connect yet. */
        public InterlockClient build() {
            return new InterlockClient(new Connection(settings));
        }
    }
}
