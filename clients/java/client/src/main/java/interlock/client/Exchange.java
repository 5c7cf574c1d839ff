package interlock.client;

import interlock.client.cloudevents.CloudEvent;

/** A request on a stream, and what becomes of its answer. */
abstract class Exchange {

    final CloudEvent request;
    final Lane lane;

    // Guarded by the lock of the stream.
    boolean isSent;
    boolean isComplete;
    /** Nobody reads the answer any more. */
    boolean isLeft;

    Exchange(CloudEvent request, Lane lane) {
        this.request = request;
        this.lane = lane;
    }

    /** Takes an event of the answer; the lock of the stream is held. */
    abstract void take(CloudEvent event, boolean isLast);

    /** Acts on what was taken; the lock is not held. */
    abstract void arrived();

    /** Ends with a failure; the lock is not held. */
    abstract void fail(InterlockException failure);
}
