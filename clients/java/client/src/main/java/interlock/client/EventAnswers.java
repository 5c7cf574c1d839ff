package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import org.jspecify.annotations.Nullable;

/** The events of a streamed answer. */
final class EventAnswers extends Answers<Event> {

    private final EventSource source;
    private boolean isOver;

    EventAnswers(EventSource source) {
        this.source = source;
    }

    @Override
    @Nullable Event next() throws InterruptedException {
        if (isOver) {
            return null;
        }
        CloudEvent next;
        try {
            next = source.next();
        } catch (InterlockException e) {
            isOver = true;
            throw e;
        }
        if (next == null) {
            isOver = true;
            return null;
        }
        String data = Envelope.data(next);
        InterlockException failure = Failure.in(data);
        if (failure != null) {
            isOver = true;
            source.close();
            throw failure;
        }
        if (next.getType().equals(Envelope.STREAM_END)) {
            isOver = true;
            return null;
        }
        return new Event(next.getType(), Json.raw(data));
    }

    @Override
    public void close() {
        source.close();
    }
}
