package interlock.client;

import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * What clients and members can be given alike.
 *
 * @param <B> the builder
 */
public abstract class ConnectionBuilder<B extends ConnectionBuilder<B>> {

    /** How many requests of one stream a server works on at once. */
    public static final int DEFAULT_IN_FLIGHT = 256;

    /** The largest message that a server accepts. */
    public static final int DEFAULT_MESSAGE_BYTES_MAX = 16 << 20;

    /** How long a request waits for a connection. */
    public static final Duration DEFAULT_CONNECT_TIMEOUT = Duration.ofSeconds(10);

    final Settings settings;

    ConnectionBuilder(String target) {
        this.settings = new Settings(target);
    }

    abstract B self();

    /**
     * How many requests may be unanswered; further ones wait. Requests in the transaction of a call
     * are not counted.
     */
    public B inFlight(int requests) {
        settings.inFlight = positive(requests, "inFlight");
        return self();
    }

    /**
     * The size of the largest message that is sent at all. A server ends the whole stream for one
     * that is too large for it.
     */
    public B messageBytesMax(int bytes) {
        settings.messageBytesMax = positive(bytes, "messageBytesMax");
        return self();
    }

    /** How long a request waits for a connection. */
    public B connectTimeout(Duration timeout) {
        settings.connectTimeout = timeout;
        return self();
    }

    /** Adds gRPC metadata that is sent when a stream is opened. */
    public B metadata(String name, String value) {
        settings.metadata.put(name, value);
        return self();
    }

    /** Authenticates with a token that does not change. */
    public B token(String token) {
        return tokens(() -> token);
    }

    /** Authenticates with the tokens of a source; see {@link ClientCredentials}. */
    public B tokens(TokenSource tokens) {
        settings.tokens = tokens;
        return self();
    }

    /** Encrypts the connection, and trusts the authorities that Java trusts. */
    public B tls() {
        return credentials(TlsChannelCredentials.create());
    }

    /**
     * Encrypts the connection as gRPC is given it here. {@link TlsChannelCredentials} has a builder
     * with trusted authorities and certificates of the client.
     */
    public B credentials(ChannelCredentials credentials) {
        settings.credentials = credentials;
        return self();
    }

    /** Changes the gRPC channel before it is made, for interceptors for instance. */
    public B channel(Consumer<ManagedChannelBuilder<?>> change) {
        settings.channel = settings.channel.andThen(change);
        return self();
    }

    /**
     * Where handlers are executed and futures are completed. It must take work at any time, as
     * {@code Executors.newVirtualThreadPerTaskExecutor()} does; without it there are daemon threads
     * of this library, as many as are needed.
     */
    public B executor(Executor executor) {
        settings.executor = executor;
        return self();
    }

    static int positive(int value, String name) {
        if (value < 1) {
            throw new Failure(ClientCodes.INVALID_OPTIONS, name + " is " + value + "; use 1 or more", false).exception();
        }
        return value;
    }
}
