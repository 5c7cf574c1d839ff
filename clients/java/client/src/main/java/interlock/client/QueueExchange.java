package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** A request whose answer is read event by event. */
final class QueueExchange extends Exchange implements EventSource {

    private final EventStream stream;
    private final Condition changed;
    private final Queue<CloudEvent> events = new ArrayDeque<>();
    private @Nullable InterlockException failure;
    /** How many bytes are unread. */
    private long unread;

    QueueExchange(CloudEvent request, Lane lane, EventStream stream) {
        super(request, lane);
        this.stream = stream;
        this.changed = stream.lock.newCondition();
    }

    long unread() {
        return unread;
    }

    @Override
    void take(CloudEvent event, boolean isLast) {
        if (!isLeft) {
            events.add(event);
            unread += Envelope.size(event);
            stream.unread += Envelope.size(event);
        }
        changed.signal();
    }

    @Override
    void arrived() {}

    @Override
    void fail(InterlockException failure) {
        stream.lock.lock();
        try {
            this.failure = failure;
            drop();
            changed.signalAll();
        } finally {
            stream.lock.unlock();
        }
    }

    @Override
    public @Nullable CloudEvent next() throws InterruptedException {
        CloudEvent next;
        stream.lock.lockInterruptibly();
        try {
            while (events.isEmpty()) {
                if (failure != null) {
                    throw failure;
                }
                if (isComplete || isLeft) {
                    return null;
                }
                changed.await();
            }
            next = events.remove();
            unread -= Envelope.size(next);
            stream.unread -= Envelope.size(next);
        } finally {
            stream.lock.unlock();
        }
        stream.wasRead();
        return next;
    }

    @Override
    public void close() {
        stream.lock.lock();
        try {
            drop();
            changed.signalAll();
        } finally {
            stream.lock.unlock();
        }
        stream.wasRead();
        stream.giveUp(this);
    }

    /** Forgets what is unread; the lock is held. */
    private void drop() {
        isLeft = true;
        events.clear();
        stream.unread -= unread;
        unread = 0;
    }
}
