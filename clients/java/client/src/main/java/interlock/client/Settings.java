package interlock.client;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What the builders of clients and members have set. */
final class Settings {

    /** The resolvers of gRPC have names of their own, such as {@code unix:/run/interlock}. */
    private static final Pattern RESOLVER = Pattern.compile("(?:dns|unix|xds):");
    private static final Pattern HOST_AND_PORT = Pattern.compile("(?:\\[[^\\]]+\\]|[^:]+):(\\d{1,5})");

    final String target;
    int inFlight = ConnectionBuilder.DEFAULT_IN_FLIGHT;
    int messageBytesMax = ConnectionBuilder.DEFAULT_MESSAGE_BYTES_MAX;
    Duration connectTimeout = ConnectionBuilder.DEFAULT_CONNECT_TIMEOUT;
    final Map<String, String> metadata = new LinkedHashMap<>();
    @Nullable TokenSource tokens;
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    Consumer<ManagedChannelBuilder<?>> channel = builder -> {};
    Executor executor = Threads.SHARED;

    /** How many bytes of answers on a stream may be unread before it is no longer read, and the server waits. */
    long unreadBytesMax = 64L << 20;
    /**
     * How long that may last until the largest unread answer is dropped. The patience of the server with a slow
     * reader is 30 s.
     */
    Duration stallTimeout = Duration.ofSeconds(10);

    // Of members.
    final Set<String> tags = new LinkedHashSet<>();
    Map<String, String> labels = Map.of();
    @Nullable String namespace;
    int concurrency = InterlockMember.Builder.DEFAULT_CONCURRENCY;
    Duration drainTimeout = InterlockMember.Builder.DEFAULT_DRAIN_TIMEOUT;

    Settings(String target) {
        if (target.startsWith("http://") || target.startsWith("https://")) {
            throw new Failure(ClientCodes.INVALID_OPTIONS,
                    target + " is a URL; the target is host:port of the gRPC port, such as localhost:9090, and TLS is"
                            + " enabled by tls()", false).exception();
        }
        if (!isUsable(target)) {
            throw new Failure(ClientCodes.INVALID_OPTIONS, '"' + target + "\" is not host:port of the gRPC port, such as"
                    + " localhost:9090 or [::1]:9090", false).exception();
        }
        this.target = target;
    }

    private static boolean isUsable(String target) {
        if (RESOLVER.matcher(target).lookingAt()) {
            return true;
        }
        Matcher parts = HOST_AND_PORT.matcher(target);
        if (!parts.matches()) {
            return false;
        }
        int port = Integer.parseInt(parts.group(1));
        return port > 0 && port < 1 << 16;
    }

    /** The metadata of a gRPC call. */
    Metadata headers(@Nullable String token) {
        Metadata headers = new Metadata();
        metadata.forEach((name, value) -> headers.put(key(name), value));
        if (token != null) {
            headers.put(key("authorization"), "Bearer " + token);
        }
        Tracing.INSTANCE.inject((name, value) -> headers.put(key(name), value));
        return headers;
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    /** Threads that keep no program running; they end when they have nothing to do. */
    static final class Threads {

        private static final AtomicInteger MADE = new AtomicInteger();

        static final ExecutorService SHARED = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work, "interlock-" + MADE.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
    }
}
