package interlock.client;

import java.util.Map;

/**
 * The result of an action whose outcome is not {@code success}; the transitions of the step name it.
 *
 * @param output what Jackson writes, commonly an object
 */
public record Outcome(String name, Object output) {

    /** An outcome without an output. */
    public Outcome(String name) {
        this(name, Map.of());
    }
}
