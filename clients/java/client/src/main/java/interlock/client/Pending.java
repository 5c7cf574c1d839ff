package interlock.client;

import java.util.Map;

/**
 * The result of an action that has begun what ends later. The task stays open until its outcome is
 * reported, by {@code taskComplete} or {@code taskFail}. What was written in its transaction is
 * committed.
 *
 * @param output what Jackson writes, commonly an object
 */
public record Pending(Object output) {

    /** One without an output. */
    public Pending() {
        this(Map.of());
    }
}
