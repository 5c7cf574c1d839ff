package interlock.client;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The result of a schedule function: when a transition is due, and when it is no longer taken. Times
 * are rounded up to milliseconds.
 */
public final class Timing {

    private final Map<String, Long> members = new LinkedHashMap<>();

    private Timing(String name, long value) {
        members.put(name, value);
    }

    private Timing(Timing begun, String name, long value) {
        members.putAll(begun.members);
        members.remove("expireAt");
        members.remove("expireAfterMs");
        members.put(name, value);
    }

    /** It is taken at that time; at once, if that has passed. */
    public static Timing at(Instant time) {
        return new Timing("fireAt", millis(time));
    }

    /** It is taken that long from now. */
    public static Timing after(Duration time) {
        return new Timing("fireAfterMs", millis(time));
    }

    /** It is no longer taken after that time. */
    public Timing expiringAt(Instant time) {
        return new Timing(this, "expireAt", millis(time));
    }

    /** It is no longer taken that long after it was due. */
    public Timing expiringAfter(Duration time) {
        return new Timing(this, "expireAfterMs", millis(time));
    }

    Map<String, Long> members() {
        return members;
    }

    private static long millis(Instant time) {
        return time.plusNanos(999_999).toEpochMilli();
    }

    private static long millis(Duration time) {
        return time.plusNanos(999_999).toMillis();
    }
}
