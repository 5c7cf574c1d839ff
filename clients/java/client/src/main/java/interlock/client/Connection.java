package interlock.client;

import interlock.client.api.ErrorCodes;
import interlock.client.cloudevents.CloudEvent;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.ProtoUtils;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens streams to one server, one after the other. */
final class Connection {

    private static final Logger LOG = LoggerFactory.getLogger(InterlockClient.class);

    private static final String SERVICE = "org.cyoda.cloud.api.grpc.CloudEventsService";
    private static final MethodDescriptor<CloudEvent, CloudEvent> STREAM =
            method("startStreaming", MethodDescriptor.MethodType.BIDI_STREAMING);
    private static final MethodDescriptor<CloudEvent, CloudEvent> LISTEN =
            method("entitySearchCollection", MethodDescriptor.MethodType.SERVER_STREAMING);

    /** How long a server may take to accept a stream. */
    private static final Duration GREETING_TIMEOUT = Duration.ofSeconds(10);
    // Between two attempts the delay doubles, and is never quite the same.
    static final Duration DELAY_FIRST = Duration.ofMillis(100);
    static final Duration DELAY_MAX = Duration.ofSeconds(5);
    /** After how long without a connection that is said, and how often then. */
    private static final Duration WARNING_FIRST = Duration.ofSeconds(1);
    private static final Duration WARNING_EVERY = Duration.ofMinutes(1);

    /** Makes a new stream ready for use. */
    interface Greeter {
        void greet(EventStream stream) throws InterruptedException;
    }

    final Settings settings;
    private final ManagedChannel channel;
    private final CountDownLatch closed = new CountDownLatch(1);
    /** Answers that have an end and calls of their own, until they have arrived. */
    private final Set<Listening> answers = ConcurrentHashMap.newKeySet();
    private Greeter greeter = stream -> {};
    private EventStream.Receiver receiver = (stream, event) -> {};

    private volatile @Nullable EventStream current;
    // Guarded by this.
    private @Nullable CompletableFuture<EventStream> opening;
    /** Until when somebody waits for a stream. */
    private long wantedUntil;
    private boolean isAlwaysWanted;
    /** Why there is no stream, as far as it is known. */
    private volatile @Nullable InterlockException lost;
    // Of the one that opens.
    private Duration delay = Duration.ZERO;
    private long opened;

    private static MethodDescriptor<CloudEvent, CloudEvent> method(String name, MethodDescriptor.MethodType type) {
        return MethodDescriptor.<CloudEvent, CloudEvent>newBuilder()
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(ProtoUtils.marshaller(CloudEvent.getDefaultInstance()))
                .setResponseMarshaller(ProtoUtils.marshaller(CloudEvent.getDefaultInstance()))
                .build();
    }

    Connection(Settings settings) {
        this.settings = settings;
        ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(settings.target, settings.credentials)
                // A server that has vanished is noticed within 30 s.
                .keepAliveTime(20, TimeUnit.SECONDS)
                .keepAliveTimeout(10, TimeUnit.SECONDS)
                .maxInboundMessageSize(Integer.MAX_VALUE)
                // What is done with an event takes no time; handlers and futures have an executor of their own.
                .directExecutor()
                .userAgent("interlock-java/" + InterlockClient.VERSION);
        settings.channel.accept(builder);
        this.channel = builder.build();
    }

    /** Says what is done with new streams, and with events that answer nothing. */
    void serve(Greeter greeter, EventStream.Receiver receiver) {
        this.greeter = greeter;
        this.receiver = receiver;
    }

    boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Waits for outstanding answers, then disconnects. To close once more does nothing. */
    void close(Duration patience) throws InterruptedException {
        synchronized (this) {
            if (isClosed()) {
                return;
            }
            closed.countDown();
        }
        long deadline = System.nanoTime() + patience.toNanos();
        try {
            EventStream open = current;
            if (open != null) {
                open.closeAfterAnswers(patience);
            }
            CompletableFuture.allOf(answers.stream().map(answer -> answer.ended).toArray(CompletableFuture<?>[]::new))
                    .get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | ExecutionException e) {
            LOG.atDebug().addKeyValue("target", settings.target).log("closed before all answers were read");
        } finally {
            channel.shutdownNow();
        }
    }

    /** Waits until the server can be reached. It opens no stream: a server ends silent ones. */
    void connect() throws InterruptedException {
        long deadline = System.nanoTime() + settings.connectTimeout.toNanos();
        Duration wait = DELAY_FIRST;
        while (!isClosed() && !awaitReady(wait)) {
            if (System.nanoTime() - deadline >= 0) {
                throw unreachable();
            }
            wait = Duration.ofNanos(Math.min(doubled(wait).toNanos(), Math.max(1, deadline - System.nanoTime())));
        }
        if (isClosed()) {
            throw Failure.closed();
        }
    }

    /** Tries to reach the server for so long. */
    private boolean awaitReady(Duration patience) throws InterruptedException {
        // The delays of the channel itself grow too long.
        channel.resetConnectBackoff();
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            ConnectivityState state = channel.getState(true);
            if (state == ConnectivityState.READY) {
                return true;
            }
            if (state == ConnectivityState.SHUTDOWN) {
                throw Failure.closed();
            }
            CountDownLatch changed = new CountDownLatch(1);
            channel.notifyWhenStateChanged(state, changed::countDown);
            if (!changed.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                learnWhy();
                return false;
            }
        }
    }

    /** Takes note of why the server cannot be reached. Only a call is told, which fails at once for that reason. */
    private void learnWhy() {
        if (channel.getState(false) != ConnectivityState.TRANSIENT_FAILURE) {
            return;
        }
        channel.newCall(LISTEN, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS))
                .start(new ClientCall.Listener<CloudEvent>() {
                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        if (status.getCode() == Status.Code.UNAVAILABLE) {
                            Throwable cause = status.getCause();
                            while (cause != null && cause.getCause() != null) {
                                cause = cause.getCause();
                            }
                            String because = cause == null ? "" : ": " + cause.getMessage();
                            lost = Failure.connectionLost("UNAVAILABLE: " + status.getDescription() + because);
                        }
                    }
                }, new Metadata());
    }

    private InterlockException unreachable() {
        InterlockException known = lost;
        InterlockException late = new Failure(ClientCodes.CONNECTION_LOST, "no answer from " + settings.target + " within "
                + settings.connectTimeout.toMillis() + " ms" + (known == null ? "" : ": " + known.reason()), true).exception();
        if (known != null) {
            late.initCause(known);
        }
        return late;
    }

    /** The open stream, if there is one. */
    @Nullable EventStream open() {
        EventStream open = current;
        return open != null && open.failure() == null && !isClosed() ? open : null;
    }

    /** Completed with the open stream, or with one that is opened within the connect timeout. */
    CompletableFuture<EventStream> streamSoon() {
        EventStream open = open();
        if (open != null) {
            return CompletableFuture.completedFuture(open);
        }
        CompletableFuture<EventStream> wanted = wanted(settings.connectTimeout).copy();
        CompletableFuture<EventStream> soon = new CompletableFuture<>();
        wanted.orTimeout(settings.connectTimeout.toMillis(), TimeUnit.MILLISECONDS).whenComplete((stream, e) -> {
            if (e == null) {
                soon.complete(stream);
            } else {
                soon.completeExceptionally(e instanceof TimeoutException ? unreachable() : unwrapped(e));
            }
        });
        return soon;
    }

    /** Waits for the open stream, or for one that is opened within the connect timeout. */
    EventStream awaitStreamSoon() throws InterruptedException {
        EventStream open = open();
        return open != null ? open : await(streamSoon());
    }

    /** Waits for the open stream, or for another, however long that takes. */
    EventStream awaitStreamEventually() throws InterruptedException {
        synchronized (this) {
            isAlwaysWanted = true;
        }
        return await(wanted(Duration.ZERO));
    }

    private static EventStream await(CompletableFuture<EventStream> stream) throws InterruptedException {
        try {
            return stream.get();
        } catch (ExecutionException e) {
            throw unwrapped(e);
        }
    }

    static InterlockException unwrapped(Throwable failure) {
        Throwable cause = failure;
        while (!(cause instanceof InterlockException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof InterlockException known) {
            return known;
        }
        InterlockException lost = Failure.connectionLost(String.valueOf(cause));
        lost.initCause(cause);
        return lost;
    }

    private synchronized CompletableFuture<EventStream> wanted(Duration patience) {
        if (isClosed()) {
            return CompletableFuture.failedFuture(Failure.closed());
        }
        EventStream open = open();
        if (open != null) {
            return CompletableFuture.completedFuture(open);
        }
        long until = System.nanoTime() + patience.toNanos();
        if (opening == null) {
            opening = new CompletableFuture<>();
            wantedUntil = until;
            // The program's own executor may have no thread left.
            Settings.Threads.SHARED.execute(this::openEventually);
        } else if (until - wantedUntil > 0) {
            wantedUntil = until;
        }
        return opening;
    }

    private synchronized boolean isWanted() {
        return isAlwaysWanted || wantedUntil - System.nanoTime() > 0;
    }

    /** Opens a stream, and ends when somebody has it or nobody wants it any more. */
    private void openEventually() {
        InterlockException failed = null;
        EventStream made = null;
        try {
            made = opened();
        } catch (InterlockException e) {
            failed = e;
        } catch (InterruptedException e) {
            failed = Failure.closed();
        } catch (RuntimeException | Error e) {
            failed = Failure.connectionLost("cannot open a stream: " + e);
            failed.initCause(e);
        }
        CompletableFuture<EventStream> waiting;
        synchronized (this) {
            current = made != null ? made : current;
            waiting = opening;
            opening = null;
        }
        if (waiting == null) {
            return;
        }
        if (made != null) {
            waiting.complete(made);
        } else {
            waiting.completeExceptionally(failed);
        }
    }

    private EventStream opened() throws InterruptedException {
        // A stream that ends as soon as it is opened is no reason to hurry.
        if (System.nanoTime() - opened > DELAY_MAX.toNanos()) {
            delay = Duration.ZERO;
        }
        Duration patience = DELAY_FIRST;
        long warned = System.nanoTime() + WARNING_FIRST.toNanos();
        while (isWanted()) {
            pause(delay);
            if (!awaitReady(patience)) {
                if (System.nanoTime() - warned >= 0) {
                    warned = System.nanoTime() + WARNING_EVERY.toNanos();
                    InterlockException why = lost;
                    LOG.atWarn().addKeyValue("target", settings.target)
                            .addKeyValue("error", why == null ? "no answer" : why.getMessage())
                            .log("cannot reach the server; retrying");
                }
                patience = doubled(patience);
                continue;
            }
            delay = doubled(delay);
            try {
                EventStream made = openWithToken();
                opened = System.nanoTime();
                lost = null;
                return made;
            } catch (ConnectionLostException e) {
                if (isClosed()) {
                    throw Failure.closed();
                }
                lost = e;
                LOG.atWarn().addKeyValue("target", settings.target).addKeyValue("error", e.getMessage())
                        .log("cannot open a stream; retrying");
            }
        }
        throw unreachable();
    }

    static Duration doubled(Duration delay) {
        long next = Math.max(DELAY_FIRST.toNanos(), 2 * delay.toNanos());
        return Duration.ofNanos(Math.min(DELAY_MAX.toNanos(), next));
    }

    /** Waits for about so long. */
    void pause(Duration delay) throws InterruptedException {
        long most = delay.toNanos();
        long chosen = most <= 0 ? 0 : most / 2 + ThreadLocalRandom.current().nextLong(most / 2 + 1);
        if (closed.await(chosen, TimeUnit.NANOSECONDS)) {
            throw Failure.closed();
        }
    }

    /** Opens a stream. If the server refuses the token, it does so once more with another one. */
    private EventStream openWithToken() throws InterruptedException {
        TokenSource tokens = settings.tokens;
        if (tokens == null) {
            return openOnce(null);
        }
        String token = tokens.token();
        try {
            return openOnce(token);
        } catch (AccessException e) {
            if (!e.code().equals(ErrorCodes.UNAUTHORIZED)) {
                throw e;
            }
            tokens.forget(token);
            String another = tokens.token();
            if (another.equals(token)) {
                throw e;
            }
            return openOnce(another);
        }
    }

    private EventStream openOnce(@Nullable String token) throws InterruptedException {
        EventStream stream = new EventStream(channel.newCall(STREAM, CallOptions.DEFAULT), settings, receiver);
        stream.start(settings.headers(token));
        boolean isOpen = false;
        try {
            Version.check(stream.accepted.get(GREETING_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
            greeter.greet(stream);
            isOpen = !isClosed();
        } catch (ExecutionException e) {
            throw unwrapped(e);
        } catch (TimeoutException e) {
            throw Failure.connectionLost("the server does not answer");
        } finally {
            if (!isOpen) {
                stream.cancel("the stream is not used");
            }
        }
        if (!isOpen) {
            throw Failure.closed();
        }
        stream.ended.thenAccept(failure -> {
            if (!isClosed() && !stream.isClosing()) {
                LOG.atWarn().addKeyValue("target", settings.target).addKeyValue("error", failure.getMessage())
                        .log("the stream has ended");
            }
        });
        return stream;
    }

    /** Waits for the greeting of the server. */
    static CloudEvent awaitGreeting(EventStream stream) throws InterruptedException {
        try {
            return stream.greeting.get(GREETING_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw unwrapped(e);
        } catch (TimeoutException e) {
            throw Failure.connectionLost("the server does not greet");
        }
    }

    /**
     * Sends a request with a streamed answer on a call of its own, so that reading it slowly delays nothing else.
     * Closing waits for its end.
     */
    EventSource stream(CloudEvent request) throws InterruptedException {
        return separate(request, headers -> {
            Listening answer = listening(Failure::ofAnswer);
            answers.add(answer);
            answer.ended.thenRun(() -> answers.remove(answer));
            answer.start(headers, request);
            return answer;
        });
    }

    /** The same for an answer that has no end. Closing ends it. */
    EventSource listen(CloudEvent request) throws InterruptedException {
        return separate(request, headers -> {
            Listening answer = listening(Failure::of);
            answer.start(headers, request);
            return answer;
        });
    }

    /** A call that has not begun, with what its end means unless that is of this client. */
    private Listening listening(Function<Status, InterlockException> meaning) {
        return new Listening(channel.newCall(LISTEN, CallOptions.DEFAULT), ended -> {
            InterlockException failure = meaning.apply(ended);
            return isClosed() && failure instanceof ConnectionLostException ? Failure.closed() : failure;
        });
    }

    private EventSource separate(CloudEvent request, Function<Metadata, Listening> start) throws InterruptedException {
        Envelope.checkSize(request, settings.messageBytesMax);
        long deadline = System.nanoTime() + settings.connectTimeout.toNanos();
        connect();
        TokenSource tokens = settings.tokens;
        if (tokens == null) {
            return start.apply(settings.headers(null));
        }
        String token = token(tokens, deadline);
        return new Authenticated(start, tokens, token);
    }

    /** A token; where none can be obtained, that is tried again within the connect timeout. */
    private String token(TokenSource tokens, long deadline) throws InterruptedException {
        for (Duration wait = DELAY_FIRST; ; wait = doubled(wait)) {
            try {
                return tokens.token();
            } catch (ConnectionLostException e) {
                lost = e;
                if (System.nanoTime() + wait.toNanos() - deadline >= 0) {
                    throw unreachable();
                }
            }
            pause(wait);
        }
    }

    /** Asks again with another token, if the first one is refused; once it was accepted, that is a lost connection. */
    private final class Authenticated implements EventSource {

        private final Function<Metadata, Listening> start;
        private final TokenSource tokens;
        private String token;
        private volatile Listening source;
        private volatile boolean isClosed;
        private boolean isAgain;

        Authenticated(Function<Metadata, Listening> start, TokenSource tokens, String token) {
            this.start = start;
            this.tokens = tokens;
            this.token = token;
            this.source = start.apply(settings.headers(token));
        }

        @Override
        public @Nullable CloudEvent next() throws InterruptedException {
            try {
                return source.next();
            } catch (AccessException e) {
                if (!e.code().equals(ErrorCodes.UNAUTHORIZED)) {
                    throw e;
                }
                boolean wasAccepted = source.isAccepted();
                String another = replaced(wasAccepted || !isAgain);
                if (another == null) {
                    throw e;
                }
                if (wasAccepted) {
                    // The token was revoked meanwhile. The same request would have the answer begin again: a caller that
                    // resumes asks for the rest, with another token.
                    throw Failure.asLost(e);
                }
                isAgain = true;
                token = another;
                Listening again = start.apply(settings.headers(another));
                source = again;
                if (isClosed) {
                    again.close();
                }
                return next();
            }
        }

        /** Another token than the one that was refused; null if there is none. */
        private @Nullable String replaced(boolean isWanted) throws InterruptedException {
            tokens.forget(token);
            if (!isWanted) {
                return null;
            }
            String another = tokens.token();
            return another.equals(token) ? null : another;
        }

        @Override
        public void close() {
            isClosed = true;
            source.close();
        }
    }
}
