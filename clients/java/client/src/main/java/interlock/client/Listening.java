package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/** An answer without an end, on a call of its own: while it is not read, the server waits. */
final class Listening extends ClientCall.Listener<CloudEvent> implements EventSource {

    /** How many events are asked for ahead of their use. */
    private static final int READ_AHEAD = 32;

    /** What came: an event, or how the call ended. */
    private record Arrived(@Nullable CloudEvent event, @Nullable Status end) {}

    private final ClientCall<CloudEvent, CloudEvent> call;
    private final LinkedBlockingQueue<Arrived> arrived = new LinkedBlockingQueue<>();
    /** The server has not refused the call at once. */
    private volatile boolean isAccepted;
    private volatile boolean isClosed;
    /** Why the server is refused, which is known before anything has arrived. */
    private volatile @Nullable InterlockException refused;
    private @Nullable Arrived last;

    Listening(ClientCall<CloudEvent, CloudEvent> call) {
        this.call = call;
    }

    void start(Metadata headers, CloudEvent request) {
        call.start(this, headers);
        call.request(READ_AHEAD);
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
        arrived.add(new Arrived(event, null));
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
        arrived.add(new Arrived(null, status));
    }

    @Override
    public @Nullable CloudEvent next() throws InterruptedException {
        if (last == null) {
            Arrived one = arrived.take();
            if (one.event != null && !isClosed) {
                call.request(1);
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
        throw Failure.of(last.end);
    }

    @Override
    public void close() {
        isClosed = true;
        arrived.add(new Arrived(null, Status.OK));
        call.cancel("the reader wants no more", null);
    }
}
