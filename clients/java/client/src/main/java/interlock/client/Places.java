package interlock.client;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Bounds how much work is done at once; the member guards it. */
final class Places {

    private final Deque<Work> waiting = new ArrayDeque<>();
    private int free;

    Places(int places) {
        this.free = places;
    }

    /** Takes a place; without one, the work waits. */
    boolean take(Work work) {
        if (free > 0) {
            free--;
            return true;
        }
        waiting.add(work);
        return false;
    }

    /** Gives a place to the work that has waited longest, which is returned. */
    @Nullable Work release() {
        Work next = waiting.poll();
        if (next == null) {
            free++;
        }
        return next;
    }

    /** Removes work that waits; false if it does not. */
    boolean remove(Work work) {
        return waiting.remove(work);
    }
}
