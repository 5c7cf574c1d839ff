package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import org.jspecify.annotations.Nullable;

/** Where the events of a streamed answer come from. */
interface EventSource {

    /** Waits for the next event; null after the last one, and after it was closed. */
    @Nullable CloudEvent next() throws InterruptedException;

    /** Reads no more; what waits for the next event returns. */
    void close();
}
