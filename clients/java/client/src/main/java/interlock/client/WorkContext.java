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

    /** Adds a warning to what the caller gets, whether the call succeeds or not. */
    public void warn(String warning) {
        synchronized (warnings) {
            warnings.add(warning);
        }
    }

    /**
     * Whether the call was given up: its stream was lost, and with it the transaction, or the server
     * cancelled it. Its answer would not be used. The thread of the handler is interrupted then, too.
     */
    public boolean isCancelled() {
        return isCancelled;
    }

    void setCancelled() {
        isCancelled = true;
    }

    List<String> warnings() {
        synchronized (warnings) {
            return List.copyOf(warnings);
        }
    }
}
