package interlock.client;

import java.util.ArrayList;
import java.util.List;

/**
 * What handlers know of a call, and what they may do. Its operations read and write in the
 * transaction of the call: they see what that has written so far, and what they write is committed or
 * rolled back together with it.
 */
public abstract class WorkContext extends Session {

    private final String name;
    private final CallerIdentity caller;
    private final List<String> warnings = new ArrayList<>();
    /** How many warnings were too many; guarded by them. */
    private int dropped;
    private volatile boolean isCancelled;

    WorkContext(Asker asker, String name, CallerIdentity caller) {
        super(asker);
        this.name = name;
        this.caller = caller;
    }

    /** What is called, as the workflow names it. */
    public String name() {
        return name;
    }

    /** Who caused the call. */
    public CallerIdentity caller() {
        return caller;
    }

    /**
     * Adds a warning to what the caller gets, whether the call succeeds or not. Of one call 1,000 warnings are kept,
     * and 4 KiB of each.
     */
    public void warn(String warning) {
        String text = Texts.bounded(warning, Texts.WARNING_BYTES_MAX);
        synchronized (warnings) {
            if (warnings.size() < Texts.WARNINGS_MAX) {
                warnings.add(text);
            } else {
                dropped++;
            }
        }
    }

    /**
     * Whether the call was given up: its stream was lost, and with it the transaction, its time was up, or
     * the server cancelled it. Its answer would not be used. The thread of the handler is interrupted then, too.
     */
    public boolean isCancelled() {
        return isCancelled;
    }

    void setCancelled() {
        isCancelled = true;
    }

    List<String> warnings() {
        synchronized (warnings) {
            List<String> all = new ArrayList<>(warnings);
            if (dropped > 0) { // the last place says so
                all.set(all.size() - 1, (dropped + 1) + " more warnings were left out");
            }
            return all;
        }
    }
}
