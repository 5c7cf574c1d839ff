package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** What a member is doing: it takes work, has handlers do it, and sends the answers. */
final class Desk {

    private static final Logger LOG = LoggerFactory.getLogger(InterlockMember.class);

    /** How much work may wait, besides as much as may run at once; more is rejected as retryable. */
    private static final int WAITING_MAX = 1024;

    /** Does work of a kind and a name. */
    interface Handler {
        @Nullable Object handle(Work work) throws Exception;
    }

    private final Settings settings;

    // All of these are guarded by this.
    private final Map<Kind, Map<String, Handler>> handlers = new EnumMap<>(Kind.class);
    private final Map<String, Work> working = new LinkedHashMap<>();
    /** How many running calls are part of a transaction. */
    private final Map<String, Integer> transactions = new HashMap<>();
    private final Places places;
    /** A task may cause calls, so it does not take their places. */
    private final Places taskPlaces;
    private int tasks;
    /** Work that has its place, for the next thread. */
    private final Deque<Work> ready = new ArrayDeque<>();
    /** A thread was asked for and has not arrived. */
    private boolean isWaking;
    private boolean isDraining;

    Desk(Settings settings) {
        this.settings = settings;
        this.places = new Places(settings.concurrency);
        this.taskPlaces = new Places(settings.concurrency);
        for (Kind kind : Kind.values()) {
            handlers.put(kind, new TreeMap<>());
        }
    }

    synchronized void register(Kind kind, String name, Handler handler) {
        handlers.get(kind).put(name, handler);
    }

    /** The names of the actions. */
    synchronized List<String> actions() {
        return List.copyOf(handlers.get(Kind.ACTION).keySet());
    }

    void beginCall(Work work) {
        RetryableException refusal;
        synchronized (this) {
            // A running call waits for those that it has caused in its transaction: were they to wait for its
            // place, or to be left when the member stops, neither would ever end. The transaction of a task is
            // not known, so while there are tasks any may be one of those.
            work.isNested = work.transactionId != null && transactions.containsKey(work.transactionId);
            boolean isStopping = isDraining && !work.isNested && tasks == 0;
            refusal = take(work, isStopping);
            if (refusal == null && !work.isNested && !places.take(work)) {
                return;
            }
        }
        begin(work, refusal);
    }

    void beginTask(Work work) {
        RetryableException refusal;
        synchronized (this) {
            refusal = take(work, isDraining);
            if (refusal == null) {
                tasks++;
                if (!taskPlaces.take(work)) {
                    return;
                }
            }
        }
        begin(work, refusal);
    }

    /** Counts one more, unless this member is stopping or there are too many: returns why it is refused. */
    private @Nullable RetryableException take(Work work, boolean isStopping) {
        if (isStopping) {
            return new StoppingException();
        }
        long workMax = WAITING_MAX + 2L * settings.concurrency;
        if (working.size() >= workMax) {
            return new RetryableException("this member already has " + workMax + " calls in flight");
        }
        working.put(work.requestId, work);
        if (work.timeUp != null) {
            // The program's own executor may have no thread left, because of handlers that hang.
            work.timeUp.thenRunAsync(() -> giveUpLate(work), Settings.Threads.SHARED);
        }
        return null;
    }

    private void begin(Work work, @Nullable RetryableException refusal) {
        if (refusal != null) {
            work.stream.send(work.failed(refusal, true));
            return;
        }
        boolean isWaking;
        synchronized (this) {
            ready.add(work);
            isWaking = wakes();
        }
        wake(isWaking);
    }

    /**
     * Whether one more thread has to be asked for. One at a time is on its way: if there is more to do when
     * it arrives, it asks for the next. So handlers that take no time need few threads, and none waits for a
     * handler that takes long.
     */
    private boolean wakes() {
        if (isWaking || ready.isEmpty()) {
            return false;
        }
        isWaking = true;
        return true;
    }

    private void wake(boolean isWanted) {
        if (!isWanted) {
            return;
        }
        try {
            settings.executor.execute(this::serve);
        } catch (RejectedExecutionException e) {
            refuseAll();
        }
    }

    private void refuseAll() {
        while (true) {
            Work work;
            synchronized (this) {
                isWaking = false;
                work = ready.poll();
            }
            if (work == null) {
                return;
            }
            answer(work, null, new RetryableException("the executor of this member takes no more work"));
            finish(work);
        }
    }

    /** Executes handlers on this thread, as long as there is work. */
    private void serve() {
        Work work;
        boolean isMore;
        synchronized (this) {
            isWaking = false;
            work = ready.poll();
            isMore = wakes();
        }
        while (work != null) {
            wake(isMore);
            if (execute(work)) {
                finish(work);
            }
            synchronized (this) {
                work = ready.poll();
                isMore = wakes();
            }
        }
    }

    /** Executes the handler; false if it ends later. */
    private boolean execute(Work work) {
        if (!work.begin()) {
            about(LOG.atDebug(), work).log("a call was not begun: it was given up");
            answerCancelled(work, null, new CancelledCallException());
            return true;
        }
        enter(work);
        Object result = null;
        Throwable failure = null;
        try {
            Handler handler = handler(work);
            result = Tracing.INSTANCE.trace(work.event, work.kind, work.context.name(), () -> handler.handle(work));
        } catch (Throwable e) { // whatever it is, the server has to know that there is no answer
            failure = e;
        } finally {
            work.leaveThread();
        }
        if (failure == null && result instanceof CompletionStage<?> stage) {
            CompletableFuture<?> later = stage.toCompletableFuture();
            work.await(later);
            later.whenComplete((value, e) -> {
                end(work, value, e instanceof CompletionException && e.getCause() != null ? e.getCause() : e);
                finish(work);
                boolean isMore;
                synchronized (this) {
                    isMore = wakes();
                }
                wake(isMore);
            });
            return false;
        }
        end(work, result, failure);
        return true;
    }

    private Handler handler(Work work) {
        Handler handler;
        synchronized (this) {
            handler = handlers.get(work.kind).get(work.context.name());
        }
        if (handler == null) {
            throw new RetryableException("this member has no " + work.kind + " `" + work.context.name() + "`");
        }
        return handler;
    }

    private void end(Work work, @Nullable Object result, @Nullable Throwable failure) {
        try {
            if (work.context.isCancelled()) {
                answerCancelled(work, result, failure);
            } else {
                answer(work, result, failure);
            }
        } catch (RuntimeException | Error e) {
            about(LOG.atError(), work).setCause(e).log("cannot answer a call");
        } finally {
            leave(work);
        }
    }

    /**
     * Sends what came out of a handler. On a stream that has ended it is dropped: the transaction has ended
     * with it.
     */
    private static void answer(Work work, @Nullable Object result, @Nullable Throwable failure) {
        Throwable failed = failure;
        if (failed == null) {
            try {
                CloudEvent answer = work.done(result);
                work.stream.checkSize(answer);
                work.stream.send(answer);
                return;
            } catch (RuntimeException | Error e) {
                failed = e;
            }
        }
        // Whatever becomes of the log: it is given methods of the program.
        work.stream.send(failed(work, failed));
        if (failed instanceof RejectedException || failed instanceof InterlockException) {
            about(LOG.atInfo(), work).addKeyValue("error", Work.textOf(failed)).log("a handler failed");
            return;
        }
        try {
            about(LOG.atError(), work).setCause(failed).log("a handler failed");
        } catch (RuntimeException | Error e) {
            about(LOG.atError(), work).addKeyValue("error", Work.textOf(failed)).log("a handler failed");
        }
    }

    /**
     * Answers a call of a saga that was cancelled, when its handler has ended: the server undoes it if it was done,
     * and repeats it if that is not known. It expects no answer to anything else.
     */
    private static void answerCancelled(Work work, @Nullable Object result, @Nullable Throwable failure) {
        if (work.isConnectorCall && work.isCancelled) {
            answer(work, result, failure == null ? null : new CancelledCallException());
        }
    }

    private static CloudEvent failed(Work work, Throwable failure) {
        CloudEvent answer = work.failed(failure, true);
        try {
            work.stream.checkSize(answer);
            return answer;
        } catch (InvalidRequestException tooLarge) {
            // That it failed matters more than the warnings.
            return work.failed(failure, false);
        }
    }

    private static LoggingEventBuilder about(LoggingEventBuilder line, Work work) {
        return line.addKeyValue("kind", work.kind).addKeyValue("name", work.context.name());
    }

    private synchronized void enter(Work work) {
        if (work.transactionId != null && !work.isFinished) {
            work.isCounted = true;
            transactions.merge(work.transactionId, 1, Integer::sum);
        }
    }

    private synchronized void leave(Work work) {
        if (work.isCounted) {
            work.isCounted = false;
            transactions.computeIfPresent(work.transactionId, (id, known) -> known == 1 ? null : known - 1);
        }
    }

    /** Gives the place of the work to the work that has waited longest for it. */
    private synchronized void finish(Work work) {
        if (work.isFinished) { // it was given up before its handler has returned
            return;
        }
        work.isFinished = true;
        if (work.timeUp != null) {
            work.timeUp.cancel(false);
        }
        if (working.get(work.requestId) == work) {
            working.remove(work.requestId);
        }
        if (working.isEmpty()) {
            notifyAll();
        }
        Work next = null;
        if (work.kind == Kind.ACTION) {
            tasks--;
            next = taskPlaces.release();
        } else if (!work.isNested) {
            next = places.release();
        }
        if (next != null) {
            ready.add(next);
        }
    }

    /** Gives up a task that the server has given up; its place is free even if its handler goes on. */
    void cancelTask(String requestId, String reason) {
        Work work;
        synchronized (this) {
            work = working.get(requestId);
        }
        if (work != null) {
            work.isCancelled = true;
            about(LOG.atInfo(), work).addKeyValue("reason", reason).log("the server cancelled a task");
            giveUpAndFree(List.of(work));
        }
    }

    /** Gives up a call whose time is up; its place is free even if its handler goes on. */
    private void giveUpLate(Work work) {
        about(LOG.atDebug(), work).log("a call was given up: its time was up");
        giveUpAndFree(List.of(work));
    }

    /** Gives up work; its places are free even if its handlers go on. */
    private void giveUpAndFree(List<Work> all) {
        giveUp(all); // before a place becomes free, which would go to work that is given up, too
        for (Work work : all) {
            leave(work);
            finish(work);
        }
        boolean isMore;
        synchronized (this) {
            isMore = wakes();
        }
        wake(isMore);
    }

    /** Gives up the work of a stream that has ended. */
    void giveUp(EventStream stream) {
        List<Work> all;
        synchronized (this) {
            all = working.values().stream().filter(work -> work.stream == stream).toList();
        }
        giveUpAndFree(all);
    }

    void giveUpAll() {
        List<Work> all;
        synchronized (this) {
            all = new ArrayList<>(working.values());
        }
        giveUp(all);
    }

    private void giveUp(List<Work> all) {
        for (Work work : all) {
            work.giveUp();
            boolean isWaiting;
            synchronized (this) {
                isWaiting = places.remove(work) || taskPlaces.remove(work);
                if (isWaiting) {
                    work.isFinished = true;
                    working.remove(work.requestId);
                    tasks -= work.kind == Kind.ACTION ? 1 : 0;
                    if (working.isEmpty()) {
                        notifyAll();
                    }
                }
            }
            if (isWaiting) {
                answerCancelled(work, null, new CancelledCallException());
            }
        }
    }

    /** Takes nothing more. */
    synchronized void stopTaking() {
        isDraining = true;
    }

    /** Waits until everything is done, for that long at most. */
    synchronized void drain(Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!working.isEmpty()) {
            long rest = deadline - System.nanoTime();
            if (rest <= 0) {
                return;
            }
            TimeUnit.NANOSECONDS.timedWait(this, rest);
        }
    }
}
