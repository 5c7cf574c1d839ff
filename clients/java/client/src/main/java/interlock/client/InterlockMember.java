package interlock.client;

import interlock.client.api.CalculationMemberJoinEvent;
import interlock.client.api.TaskCancelEvent;
import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the calls of one tenant: it executes processors, criteria, schedule functions and actions by
 * their names.
 *
 * <pre>{@code
 * InterlockMember member = InterlockMember.builder("localhost:9090").tags("billing").build();
 * member.processor("add-tax", (order, context) -> order.document().put("tax", 50));
 * member.run();
 * }</pre>
 *
 * <p>When the stream is lost, running calls are given up, because their transactions are gone, and the
 * member joins again, however long that takes. Its operations are sent on the same stream, outside its
 * calls.
 */
public final class InterlockMember extends Session implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(InterlockMember.class);

    /** How long a member that stops waits until the server has taken note of it. */
    private static final Duration DRAIN_NOTICE_TIMEOUT = Duration.ofSeconds(2);

    final Connection connection;
    private final Desk desk;
    private final Set<String> tags;
    /** Completed when the member stops joining again: with null, or with why it cannot. */
    private final CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
    private boolean isBegun;
    private boolean isStopped;

    private InterlockMember(Settings settings, Connection connection) {
        super(new Asker.OfConnection(connection));
        this.connection = connection;
        this.desk = new Desk(settings);
        this.tags = Collections.synchronizedSet(new TreeSet<>(settings.tags));
        connection.serve(this::greet, this::receive);
    }

    /** Makes a member of the server whose gRPC port is at {@code target}, a host:port. */
    public static Builder builder(String target) {
        return new Builder(target);
    }

    /** Registers the processor of that name. */
    public InterlockMember processor(String name, Handlers.Processor handler) {
        desk.register(Kind.PROCESSOR, name, work -> handler.handle(attached(work), work.call()));
        return this;
    }

    /** Registers a processor to which the workflow does not attach the entity. */
    public InterlockMember detachedProcessor(String name, Handlers.Detached<@Nullable Object> handler) {
        desk.register(Kind.PROCESSOR, name, work -> handler.handle(work.call()));
        return this;
    }

    /** Registers the function criterion of that name. */
    public InterlockMember criterion(String name, Handlers.Criterion handler) {
        desk.register(Kind.CRITERION, name, work -> handler.handle(attached(work), work.call()));
        return this;
    }

    /** Registers a criterion to which the workflow does not attach the entity. */
    public InterlockMember detachedCriterion(String name, Handlers.Detached<Verdict> handler) {
        desk.register(Kind.CRITERION, name, work -> handler.handle(work.call()));
        return this;
    }

    /** Registers the function that computes when the scheduled transition of that function is due. */
    public InterlockMember schedule(String name, Handlers.ScheduleFunction handler) {
        desk.register(Kind.SCHEDULE, name, work -> handler.handle(attached(work), work.call()));
        return this;
    }

    /** Registers a schedule function to which the workflow does not attach the entity. */
    public InterlockMember detachedSchedule(String name, Handlers.Detached<Timing> handler) {
        desk.register(Kind.SCHEDULE, name, work -> handler.handle(work.call()));
        return this;
    }

    /**
     * Registers the action, or the connector, of that name. Register actions before the member joins,
     * because joining announces their names.
     */
    public InterlockMember action(String name, Handlers.Action handler) {
        desk.register(Kind.ACTION, name, work -> handler.handle(work.task().task().input(), work.task()));
        return this;
    }

    /**
     * Registers the function that does the items of managers whose worker names that workflow. Its input
     * is the payload of the item, and it is otherwise as an action. The member needs no tag of its own for
     * it. Register workflows before the member joins.
     */
    public InterlockMember workflow(String code, Handlers.Action handler) {
        tags.add("workflow:" + code);
        return action(code, handler);
    }

    private static Entity attached(Work work) {
        Entity entity = work.entity;
        if (entity == null) {
            throw new RejectedException("the workflow does not attach the entity to `" + work.context.name()
                    + "`, which needs it");
        }
        return entity;
    }

    /**
     * Serves until the process is asked to end (SIGTERM, Ctrl-C), {@link #close} is called, or the thread
     * is interrupted; then it finishes running calls and disconnects. While the server cannot be reached
     * it continues trying.
     *
     * @throws InterlockException if the server refuses this caller
     */
    public void run() {
        begin();
        Thread hook = new Thread(this::close, "interlock-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            // Not on the program's own executor, which may have no thread left.
            Settings.Threads.SHARED.execute(this::stayJoined);
            ended.get();
        } catch (ExecutionException e) {
            throw Connection.unwrapped(e);
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
        } finally {
            remove(hook);
            close();
        }
    }

    private static void remove(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // The process ends, and the hook does what it is for.
            LOG.debug("the process ends");
        }
    }

    /**
     * Joins within the connect timeout, and then serves in the background until it is closed.
     *
     * @throws InterlockException if the server cannot be reached or refuses this caller
     */
    public void start() {
        begin();
        try {
            connection.awaitStreamSoon();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            ended.complete(null);
            throw Failure.cancelled("the thread was interrupted");
        } catch (InterlockException e) {
            ended.complete(null);
            throw e;
        }
        Settings.Threads.SHARED.execute(this::stayJoined);
    }

    private synchronized void begin() {
        if (isBegun || isStopped) {
            throw new IllegalStateException("a member joins once; make another one");
        }
        isBegun = true;
    }

    /** Finishes running calls, for the drain timeout at most, and disconnects. */
    @Override
    public void close() {
        stop(connection.settings.drainTimeout);
    }

    /**
     * Tells the server that this member takes no more calls, finishes the running ones, for that long at most, gives
     * up those that still run then, and disconnects. Calls that arrive nevertheless are answered at once with the
     * retryable failure MEMBER_STOPPING.
     */
    public void stop(Duration patience) {
        boolean isJoined;
        synchronized (this) {
            isStopped = true;
            isJoined = isBegun;
        }
        try {
            long begun = System.nanoTime();
            desk.stopTaking();
            CompletableFuture<?> noticed = noticeDraining(patience);
            desk.drain(patience);
            noticed.handle((answer, failure) -> answer).get();
            long rest = patience.toNanos() - (System.nanoTime() - begun);
            connection.close(Duration.ofNanos(Math.max(0, rest)));
            desk.giveUpAll();
            if (isJoined) {
                ended.handle((nothing, failure) -> failure).get();
            }
        } catch (InterruptedException e) {
            desk.giveUpAll();
            Thread.currentThread().interrupt();
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Tells the server to send no more calls. Completed when it has taken note of that, or has not for too long: then
     * calls may still come, and are answered.
     */
    private CompletableFuture<?> noticeDraining(Duration patience) {
        EventStream stream = connection.open();
        if (stream == null || stream.memberId.isEmpty() || patience.isZero() || patience.isNegative()) {
            return CompletableFuture.completedFuture(null);
        }
        // Not in the lane of the stream, whose places may be taken for longer than this waits.
        Lane lane = new Lane(1, null);
        SingleExchange exchange =
                new SingleExchange(Envelope.of(Envelope.DRAIN, Map.of("workerId", stream.memberId)).build(), lane);
        stream.submit(exchange);
        long most = Math.min(patience.toMillis(), DRAIN_NOTICE_TIMEOUT.toMillis());
        return exchange.answer.orTimeout(most, TimeUnit.MILLISECONDS).whenComplete((answer, failure) -> {
            if (failure instanceof TimeoutException) {
                stream.giveUp(exchange);
            }
        });
    }

    /** Opens a stream whenever there is none. */
    private void stayJoined() {
        try {
            while (true) {
                EventStream stream = connection.awaitStreamEventually();
                stream.ended.get();
                synchronized (this) {
                    if (isStopped) {
                        break;
                    }
                }
            }
            ended.complete(null);
        } catch (InterruptedException | ExecutionException e) {
            ended.completeExceptionally(e);
        } catch (InterlockException e) {
            if (connection.isClosed()) {
                ended.complete(null);
                return;
            }
            LOG.atError().addKeyValue("target", connection.settings.target).addKeyValue("error", e.getMessage()).log("cannot join");
            ended.completeExceptionally(e);
        }
    }

    /** Joins on a new stream. */
    private void greet(EventStream stream) throws InterruptedException {
        stream.ended.thenRun(() -> desk.giveUp(stream));
        stream.send(Envelope.of(Envelope.JOIN, announcement()).build());
        String greeting = Envelope.data(Connection.awaitGreeting(stream));
        Failure.check(greeting);
        stream.memberId = Json.raw(greeting).node().path("memberId").asText();
        LOG.atInfo().addKeyValue("target", connection.settings.target).addKeyValue("member", stream.memberId).log("joined");
    }

    /** What the server has to know of this member. */
    private CalculationMemberJoinEvent announcement() {
        CalculationMemberJoinEvent.Builder join = CalculationMemberJoinEvent.builder().tags(List.copyOf(tags));
        List<String> actions = desk.actions();
        if (!actions.isEmpty()) {
            Settings settings = connection.settings;
            join.actions(actions).maxConcurrency(settings.concurrency);
            if (settings.namespace != null) {
                join.namespace(settings.namespace);
            }
            if (!settings.labels.isEmpty()) {
                join.labels(settings.labels);
            }
        }
        return join.build();
    }

    /** Takes every event of the server that answers no request. */
    private void receive(EventStream stream, CloudEvent event) {
        try {
            switch (event.getType()) {
                case Envelope.KEEP_ALIVE -> acknowledge(stream, event);
                case Envelope.GREETING -> stream.greeting.complete(event);
                case Envelope.TASK -> desk.beginTask(Work.task(stream, event, connection.settings.executor));
                case Envelope.TASK_CANCEL -> {
                    TaskCancelEvent read = JsonText.read(Envelope.data(event), TaskCancelEvent.class);
                    desk.cancelTask(read.requestId(), read.reason());
                }
                case Envelope.ACKNOWLEDGEMENT -> acknowledged(stream, event);
                default -> beginCall(stream, event);
            }
        } catch (RuntimeException e) {
            // One invalid event is no reason to end the stream.
            LOG.atWarn().addKeyValue("type", event.getType()).setCause(e).log("cannot use an event of the server");
            CloudEvent refusal = Work.refusal(event, e);
            if (refusal != null) {
                stream.send(refusal);
            }
        }
    }

    /** What the server could not accept: the joining itself, or an answer. */
    private static void acknowledged(EventStream stream, CloudEvent event) {
        InterlockException failure = Failure.in(Envelope.data(event));
        if (failure != null && !stream.greeting.completeExceptionally(failure)) {
            throw failure;
        }
    }

    private static void acknowledge(EventStream stream, CloudEvent probe) {
        String id = Json.raw(Envelope.data(probe)).node().path("id").asText();
        stream.send(Envelope.of(Envelope.ACKNOWLEDGEMENT, Map.of("sourceEventId", id, "success", true)).build());
    }

    private void beginCall(EventStream stream, CloudEvent event) {
        for (Kind kind : List.of(Kind.PROCESSOR, Kind.CRITERION, Kind.SCHEDULE)) {
            if (kind.requestType().equals(event.getType())) {
                desk.beginCall(Work.call(stream, event, kind, connection.settings.executor));
                return;
            }
        }
        throw new IllegalArgumentException("this client does not know the type " + event.getType());
    }

    /** Settings of a member. */
    public static final class Builder extends ConnectionBuilder<Builder> {

        /** How many calls a member executes at once. */
        public static final int DEFAULT_CONCURRENCY = 64;

        /** How long a member that stops waits for running calls. */
        public static final Duration DEFAULT_DRAIN_TIMEOUT = Duration.ofSeconds(30);

        private Builder(String target) {
            super(target);
        }

        @Override
        Builder self() {
            return this;
        }

        /** Adds tags. The member is sent the calls that require no others. */
        public Builder tags(String... names) {
            settings.tags.addAll(List.of(names));
            return this;
        }

        /**
         * How many calls are executed at once, and how many tasks besides; further ones wait. A call that a
         * running one causes in its own transaction is not counted, because that one waits for it. When 1,024
         * more than the calls and tasks that may run wait, further ones are rejected as retryable.
         */
        public Builder concurrency(int calls) {
            settings.concurrency = positive(calls, "concurrency");
            return this;
        }

        /** Labels that invocations of actions may ask for. */
        public Builder labels(Map<String, String> labels) {
            settings.labels = Map.copyOf(labels);
            return this;
        }

        /** The namespace of the actions, instead of the server's default. */
        public Builder namespace(String namespace) {
            settings.namespace = namespace;
            return this;
        }

        /** How long a member that stops waits for running calls. */
        public Builder drainTimeout(Duration timeout) {
            settings.drainTimeout = timeout;
            return this;
        }

        /** Makes the member. It does not join yet. */
        public InterlockMember build() {
            return new InterlockMember(settings, new Connection(settings));
        }
    }
}
