package interlock.client;

import org.jspecify.annotations.Nullable;

/**
 * The result of a criterion.
 *
 * @param reason why it does not hold: it is stored with the decision and returned to the caller. At
 *     most 2048 bytes of it are kept.
 */
public record Verdict(boolean holds, @Nullable String reason) {

    /** Whether it holds. */
    public static Verdict of(boolean holds) {
        return new Verdict(holds, null);
    }

    /** It holds. */
    public static Verdict yes() {
        return new Verdict(true, null);
    }

    /** It does not hold, for that reason. */
    public static Verdict no(String reason) {
        return new Verdict(false, reason);
    }
}
