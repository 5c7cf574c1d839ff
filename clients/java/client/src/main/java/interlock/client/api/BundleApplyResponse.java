// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A bundle that was applied, or would be.
 *
 * @param change What a creation did.
 * @param findings The warnings.
 * @param id The id of the request's event.
 * @param removed What the bundle declared before and no longer declares, if there is any.
 * @param routes Such as <code>POST /orders/:id</code>.
 * @param version Rises by one with each change.
 * @param warnings What the caller should know, although the request was answered.
 */
public record BundleApplyResponse(
        @Nullable String bundle,
        @Nullable BundleApplyResponseChange change,
        @Nullable List<String> connectors,
        @Nullable List<Finding> findings,
        String id,
        @Nullable List<String> machines,
        @Nullable Removed removed,
        @Nullable List<String> routes,
        @Nullable List<String> sagas,
        @Nullable Long version,
        @Nullable List<String> warnings) {

    /** What a creation did. */
    public record BundleApplyResponseChange(@JsonValue String value) {

        public static final BundleApplyResponseChange CREATED = new BundleApplyResponseChange("created");

        public static final BundleApplyResponseChange UNCHANGED = new BundleApplyResponseChange("unchanged");

        /** Runs that start from now on follow this document. */
        public static final BundleApplyResponseChange REPLACED = new BundleApplyResponseChange("replaced");

        /** Also for a value that this client does not know. */
        @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
        public BundleApplyResponseChange {
            Objects.requireNonNull(value, "value");
        }

        @Override
        public String toString() {
            return value;
        }
    }

    /**
     * What the bundle declared before and no longer declares, if there is any.
     *
     * @param routes Such as <code>POST /orders/:id</code>.
     */
    public record Removed(
            List<String> connectors,
            List<String> machines,
            List<String> routes,
            List<String> sagas) {}
}
