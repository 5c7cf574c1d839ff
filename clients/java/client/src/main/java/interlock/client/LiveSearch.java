package interlock.client;

import interlock.client.api.Condition;
import interlock.client.api.ModelSpec;
import org.jspecify.annotations.Nullable;

/** Chooses what {@link Feeds#search} follows; at first the whole result and then its changes. */
public final class LiveSearch {

    final ModelSpec model;
    final Condition condition;
    @Nullable Long after;
    boolean hasData;

    private LiveSearch(ModelSpec model, Condition condition) {
        this.model = model;
        this.condition = condition;
    }

    /** The entities of a model that satisfy a condition. */
    public static LiveSearch of(ModelSpec model, Condition condition) {
        return new LiveSearch(model, condition);
    }

    /** Only changes after that sequence, the last one that was dealt with. */
    public LiveSearch after(long sequence) {
        after = sequence;
        return this;
    }

    /** Includes the documents of changes; those of the first result always are. */
    public LiveSearch withData() {
        hasData = true;
        return this;
    }
}
