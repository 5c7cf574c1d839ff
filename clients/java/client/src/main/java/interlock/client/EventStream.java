package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One open {@code startStreaming} call: any number of requests, and their answers. */
final class EventStream {

    /** How many messages are asked for ahead of their use. */
    private static final int READ_AHEAD = 4;

    /** Is given every event that answers no request. */
    interface Receiver {
        void receive(EventStream on, CloudEvent event);
    }

    final ReentrantLock lock = new ReentrantLock();
    /** How many bytes of answers are unread; guarded by the lock. */
    long unread;

    /** Completed with its headers when the server accepts the stream. */
    final CompletableFuture<Metadata> accepted = new CompletableFuture<>();
    /** Completed, with the reason, when the stream has ended. */
    final CompletableFuture<InterlockException> ended = new CompletableFuture<>();
    /** The greeting of a member. */
    final CompletableFuture<CloudEvent> greeting = new CompletableFuture<>();
    /** The id of the member that has joined on it; empty before. */
    volatile String memberId = "";

    private final ClientCall<CloudEvent, CloudEvent> call;
    private final Settings settings;
    private final Receiver receiver;
    private final Lane lane;

    // Guarded by the lock.
    private final Queue<Outgoing> outbox = new ArrayDeque<>();
    private final Map<String, Exchange> pending = new HashMap<>();
    private @Nullable InterlockException failure;
    private boolean isSending;
    private boolean isClosing;
    private boolean isHalfClosed;
    /** How many messages were taken while there was too much to read. */
    private int owed;
    private long lastRead;

    /** An event to send, and the exchange that it begins, if it does. */
    private record Outgoing(CloudEvent event, @Nullable Exchange exchange) {}

    EventStream(ClientCall<CloudEvent, CloudEvent> call, Settings settings, Receiver receiver) {
        this.call = call;
        this.settings = settings;
        this.receiver = receiver;
        this.lane = new Lane(settings.inFlight, null);
    }

    /** The lane of requests that are in no transaction. */
    Lane lane() {
        return lane;
    }

    void start(Metadata headers) {
        call.start(new Listener(), headers);
        call.request(READ_AHEAD);
    }

    /** Why the stream has ended; null while it is open. */
    @Nullable InterlockException failure() {
        lock.lock();
        try {
            return failure;
        } finally {
            lock.unlock();
        }
    }

    /** How many bytes of answers are unread. */
    long unreadBytes() {
        lock.lock();
        try {
            return unread;
        } finally {
            lock.unlock();
        }
    }

    boolean isClosing() {
        lock.lock();
        try {
            return isClosing;
        } finally {
            lock.unlock();
        }
    }

    /** Sends an event; on a stream that has ended it is dropped. */
    void send(CloudEvent event) {
        lock.lock();
        try {
            if (failure != null) {
                return;
            }
            outbox.add(new Outgoing(event, null));
        } finally {
            lock.unlock();
        }
        flush();
    }

    /** Sends a request once there is a place for it. */
    void submit(Exchange exchange) {
        InterlockException ending;
        lock.lock();
        try {
            ending = failure;
            if (ending == null && exchange.lane.take(exchange)) {
                admit(exchange);
            }
        } finally {
            lock.unlock();
        }
        if (ending != null) {
            exchange.fail(Failure.asUnsent(Failure.asLost(ending)));
        } else {
            flush();
        }
    }

    private void admit(Exchange exchange) {
        pending.put(exchange.request.getId(), exchange);
        outbox.add(new Outgoing(exchange.request, exchange));
    }

    /**
     * Gives a request up, and cancels it on the server if it is not answered. It is still answered
     * then, and has its place until that.
     */
    void giveUp(Exchange exchange) {
        boolean isPending;
        lock.lock();
        try {
            exchange.isLeft = true;
            if (exchange.lane.remove(exchange)) {
                return;
            }
            isPending = pending.get(exchange.request.getId()) == exchange;
        } finally {
            lock.unlock();
        }
        if (isPending) {
            send(Envelope.of(Envelope.CANCEL, Map.of("requestId", exchange.request.getId())).build());
        }
    }

    /** Refuses an event for which the server would end the whole stream. */
    void checkSize(CloudEvent event) {
        Envelope.checkSize(event, settings.messageBytesMax);
    }

    /** Sends what waits, as long as the connection takes it; one thread at a time does. */
    private void flush() {
        while (true) {
            Outgoing next;
            lock.lock();
            try {
                if (isSending || failure != null) {
                    return;
                }
                next = outbox.isEmpty() || !call.isReady() ? null : outbox.remove();
                if (next == null) {
                    if (isClosing && outbox.isEmpty() && !isHalfClosed) {
                        isHalfClosed = true;
                        call.halfClose();
                    }
                    return;
                }
                isSending = true;
                if (next.exchange != null) {
                    next.exchange.isSent = true;
                }
            } finally {
                lock.unlock();
            }
            try {
                call.sendMessage(next.event);
            } catch (IllegalStateException cancelled) {
                return; // the listener finds out how the call ended
            } finally {
                lock.lock();
                isSending = false;
                lock.unlock();
            }
        }
    }

    /** Sends nothing more, and waits for the answers to what was. */
    void closeAfterAnswers(Duration patience) throws InterruptedException {
        lock.lock();
        try {
            isClosing = true;
        } finally {
            lock.unlock();
        }
        flush();
        try {
            ended.get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            cancel("the client was closed");
        }
    }

    void cancel(String reason) {
        call.cancel(reason, null);
    }

    /** Takes note that the program has read something. */
    void wasRead() {
        int more = 0;
        lock.lock();
        try {
            lastRead = System.nanoTime();
            if (unread <= settings.unreadBytesMax) {
                more = owed;
                owed = 0;
            }
        } finally {
            lock.unlock();
        }
        if (more > 0) {
            call.request(more);
        }
    }

    private void take(CloudEvent event) {
        String request = Envelope.attribute(event, Envelope.REQUEST_ID);
        Exchange exchange = null;
        boolean isRead = true;
        boolean isStalled = false;
        lock.lock();
        try {
            if (request != null) {
                exchange = pending.get(request);
                if (exchange != null) {
                    boolean isLast = !event.getAttributesMap().containsKey(Envelope.SEQUENCE);
                    if (isLast) {
                        complete(exchange);
                    }
                    exchange.take(event, isLast);
                }
            }
            if (unread > settings.unreadBytesMax) {
                isRead = false;
                isStalled = owed == 0;
                owed++;
            }
        } finally {
            lock.unlock();
        }
        if (exchange != null) {
            exchange.arrived();
            flush();
        } else if (request == null) {
            receiver.receive(this, event);
        }
        if (isRead) {
            call.request(1);
        } else if (isStalled) {
            watchReaders();
        }
    }

    /** Ends the exchange and begins the one that has waited for its place; the lock is held. */
    private void complete(Exchange exchange) {
        pending.remove(exchange.request.getId());
        exchange.isComplete = true;
        Exchange next = exchange.lane.release();
        if (next != null) {
            admit(next);
        }
    }

    /**
     * Drops the largest unread answer if nothing is read for too long. Only in the transaction of a call can that
     * happen: other streamed answers have calls of their own.
     */
    private void watchReaders() {
        lock.lock();
        try {
            lastRead = System.nanoTime();
        } finally {
            lock.unlock();
        }
        watchReadersAfter(settings.stallTimeout.toNanos());
    }

    private void watchReadersAfter(long nanos) {
        CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, settings.executor).execute(() -> {
            QueueExchange largest = null;
            long rest;
            lock.lock();
            try {
                if (owed == 0 || failure != null) {
                    return;
                }
                rest = settings.stallTimeout.toNanos() - (System.nanoTime() - lastRead);
                if (rest <= 0) {
                    largest = largest();
                    rest = settings.stallTimeout.toNanos();
                }
            } finally {
                lock.unlock();
            }
            if (largest != null) {
                largest.fail(new Failure(ClientCodes.ANSWER_NOT_READ,
                        "it was not read for " + settings.stallTimeout.toMillis() + " ms", false).exception());
                giveUp(largest);
                wasRead();
            }
            watchReadersAfter(rest);
        });
    }

    /** The exchanges whose answers are being read; guarded by the lock. */
    private final List<QueueExchange> readers = new ArrayList<>();

    /** Takes note of an answer that is read event by event. */
    void register(QueueExchange exchange) {
        lock.lock();
        try {
            readers.removeIf(one -> one.isLeft || one.isComplete && one.unread() == 0);
            readers.add(exchange);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable QueueExchange largest() {
        QueueExchange largest = null;
        for (QueueExchange one : readers) {
            if (largest == null || one.unread() > largest.unread()) {
                largest = one;
            }
        }
        return largest;
    }

    private void end(InterlockException reason) {
        List<Exchange> sent = new ArrayList<>();
        List<Exchange> unsent = new ArrayList<>();
        lock.lock();
        try {
            failure = reason;
            for (Exchange exchange : pending.values()) {
                (exchange.isSent ? sent : unsent).add(exchange);
                unsent.addAll(exchange.lane.clear());
            }
            pending.clear();
            outbox.clear();
        } finally {
            lock.unlock();
        }
        InterlockException lost = Failure.asLost(reason);
        sent.forEach(exchange -> exchange.fail(lost));
        unsent.forEach(exchange -> exchange.fail(Failure.asUnsent(lost)));
        ended.complete(reason);
        accepted.completeExceptionally(reason);
        greeting.completeExceptionally(reason);
    }

    private final class Listener extends ClientCall.Listener<CloudEvent> {

        @Override
        public void onHeaders(Metadata headers) {
            accepted.complete(headers);
        }

        @Override
        public void onMessage(CloudEvent event) {
            take(event);
        }

        @Override
        public void onReady() {
            flush();
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            end(Failure.of(status));
        }
    }
}
