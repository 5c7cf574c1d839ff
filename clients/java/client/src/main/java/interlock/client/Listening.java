package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A streamed answer on a call of its own: while it is not read, the server waits. */
final class Listening extends ClientCall.Listener<CloudEvent> implements EventSource {

    /** Once so many bytes are unread, no further event is asked for. */
    private static final int UNREAD_BYTES_MAX = 1 << 20;

    /** What came: an event, or how the call ended. */
    private record Arrived(@Nullable CloudEvent event, @Nullable Status end) {}

    /** Completed when the call has ended; what has arrived may be unread. */
    final CompletableFuture<Void> ended = new CompletableFuture<>();

    private final ClientCall<CloudEvent, CloudEvent> call;
    private final Function<Status, InterlockException> meaning;
    private final AtomicLong unread = new AtomicLong();
    private final LinkedBlockingQueue<Arrived> arrived = new LinkedBlockingQueue<>();
    /** The server has not refused the call at once. */
    private volatile boolean isAccepted;
    private volatile boolean isClosed;
    /** Why the server is refused, which is known before anything has arrived. */
    private volatile @Nullable InterlockException refused;
    private @Nullable Arrived last;

    /** Reads a call; {@code meaning} says what a failed end of it is to the program. */
    Listening(ClientCall<CloudEvent, CloudEvent> call, Function<Status, InterlockException> meaning) {
        this.call = call;
        this.meaning = meaning;
    }

    void start(Metadata headers, CloudEvent request) {
        call.start(this, headers);
        call.request(1);
        call.sendMessage(request);
        call.halfClose();
    }

    boolean isAccepted() {
        return isAccepted;
    }

    @Override
    public void onHeaders(Metadata headers) {
        isAccepted = true;
        try {
            Version.check(headers);
        } catch (InterlockException e) {
            refused = e;
            arrived.add(new Arrived(null, Status.OK));
            call.cancel("the version of the server is another one", null);
        }
    }

    @Override
    public void onMessage(CloudEvent event) {
        boolean isEnough = unread.addAndGet(Envelope.size(event)) >= UNREAD_BYTES_MAX;
        arrived.add(new Arrived(event, null));
        if (!isEnough) {
            call.request(1);
        }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
        arrived.add(new Arrived(null, status));
        ended.complete(null);
    }

    @Override
    public @Nullable CloudEvent next() throws InterruptedException {
        if (last == null) {
            Arrived one = arrived.take();
            if (one.event != null && !isClosed) {
                int size = Envelope.size(one.event);
                long before = unread.getAndAdd(-size);
                if (before >= UNREAD_BYTES_MAX && before - size < UNREAD_BYTES_MAX) {
                    call.request(1);
                }
                return one.event;
            }
            last = one;
        }
        if (refused != null) {
            throw refused;
        }
        if (isClosed || last.end == null || last.end.isOk()) {
            return null;
        }
        throw meaning.apply(last.end);
    }

    @Override
    public void close() {
        isClosed = true;
        arrived.add(new Arrived(null, Status.OK));
        call.cancel("the reader wants no more", null);
    }
}
