package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A request of which the first event of the answer is wanted. */
final class SingleExchange extends Exchange {

    /** Completed on the thread of the stream, so nothing that takes time may depend on it. */
    final CompletableFuture<CloudEvent> answer = new CompletableFuture<>();

    private @Nullable CloudEvent first;

    SingleExchange(CloudEvent request, Lane lane) {
        super(request, lane);
    }

    @Override
    void take(CloudEvent event, boolean isLast) {
        if (first == null) {
            first = event;
        }
    }

    @Override
    void arrived() {
        CloudEvent event = first;
        if (event != null) {
            answer.complete(event);
        }
    }

    @Override
    void fail(InterlockException failure) {
        answer.completeExceptionally(failure);
    }
}
