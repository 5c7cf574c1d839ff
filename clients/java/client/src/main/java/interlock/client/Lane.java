package interlock.client;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Bounds how many requests are unanswered. Most requests are in the lane of their stream. Those in
 * the transaction of a call are in a lane of that call, because the others may be waiting for that
 * very call.
 *
 * <p>Its members are guarded by the lock of the stream.
 */
final class Lane {

    /** The transaction, if it is that of one. */
    final @Nullable String token;

    private final Deque<Exchange> waiting = new ArrayDeque<>();
    private int free;

    Lane(int places, @Nullable String token) {
        this.free = places;
        this.token = token;
    }

    /** Takes a place; without one, the exchange waits. */
    boolean take(Exchange exchange) {
        if (free > 0) {
            free--;
            return true;
        }
        waiting.add(exchange);
        return false;
    }

    /** Gives a place to the exchange that has waited longest, which is returned. */
    @Nullable Exchange release() {
        Exchange next = waiting.poll();
        if (next == null) {
            free++;
        }
        return next;
    }

    /** Removes an exchange that waits; false if it does not. */
    boolean remove(Exchange exchange) {
        return waiting.remove(exchange);
    }

    /** Removes all that wait. */
    Deque<Exchange> clear() {
        Deque<Exchange> all = new ArrayDeque<>(waiting);
        waiting.clear();
        return all;
    }
}
