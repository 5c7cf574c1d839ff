package interlock.client;

import interlock.client.api.ModelSpec;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Chooses the changes that {@link Feeds#changes} follows; at first all of the tenant from now on. */
public final class Changes {

    @Nullable ModelSpec model;
    @Nullable List<String> states;
    @Nullable Long after;
    boolean hasData;

    /** All changes of the tenant from now on. */
    public static Changes all() {
        return new Changes();
    }

    /** Changes of the entities of a model, from now on. */
    public static Changes of(ModelSpec model) {
        Changes changes = new Changes();
        changes.model = model;
        return changes;
    }

    private Changes() {}

    /** Only changes that leave an entity in one of these states. */
    public Changes states(String... names) {
        states = List.of(names);
        return this;
    }

    /** Changes after that sequence, the last one that was dealt with; 0 is before the first. */
    public Changes after(long sequence) {
        after = sequence;
        return this;
    }

    /** Includes the documents. */
    public Changes withData() {
        hasData = true;
        return this;
    }
}
