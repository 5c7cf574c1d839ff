package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The events of an answer that is given up after a time. */
final class LimitedSource implements EventSource {

    private final EventSource source;
    private final InterlockException late;
    private final CompletableFuture<Void> timeUp;
    private volatile boolean isLate;

    LimitedSource(EventSource source, long nanos, InterlockException late) {
        this.source = source;
        this.late = late;
        this.timeUp = new CompletableFuture<Void>().completeOnTimeout(null, Math.max(0, nanos), TimeUnit.NANOSECONDS);
        // The program's own executor may have no thread left.
        timeUp.thenRunAsync(this::giveUp, Settings.Threads.SHARED);
    }

    private void giveUp() {
        isLate = true;
        source.close(); // which wakes up who reads, and cancels the request on the server
    }

    @Override
    public @Nullable CloudEvent next() throws InterruptedException {
        CloudEvent next = source.next();
        if (isLate) {
            throw late;
        }
        if (next == null || next.getType().equals(Envelope.STREAM_END)) {
            timeUp.cancel(false);
        }
        return next;
    }

    @Override
    public void close() {
        timeUp.cancel(false);
        source.close();
    }
}
