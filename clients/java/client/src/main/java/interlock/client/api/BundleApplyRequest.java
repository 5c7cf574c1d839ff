// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param bundle The name of the bundle; if absent, that of the block <code>service</code>, else <code>default</code>.
 * @param dryRun Whether nothing is stored; false if absent.
 * @param files At most 200 files, of 4 MiB together. Those that do not end with <code>.hcl</code> are templates of
 * mails.
 * @param namespace <code>default</code> if absent.
 * @param variables The values of <code>env()</code>. They are sealed, and never answered.
 */
public record BundleApplyRequest(
        @Nullable String bundle,
        @Nullable Boolean dryRun,
        List<BundleFile> files,
        @Nullable String namespace,
        @Nullable Map<String, String> variables) implements Request {

    @Override
    public String eventType() {
        return "BundleApplyRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.bundle = bundle;
        builder.dryRun = dryRun;
        builder.files = files;
        builder.namespace = namespace;
        builder.variables = variables;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable String bundle;
        private @Nullable Boolean dryRun;
        private @Nullable List<BundleFile> files;
        private @Nullable String namespace;
        private @Nullable Map<String, String> variables;

        private Builder() {}

        /** The name of the bundle; if absent, that of the block <code>service</code>, else <code>default</code>. */
        public Builder bundle(String bundle) {
            this.bundle = bundle;
            return this;
        }

        /** Whether nothing is stored; false if absent. */
        public Builder dryRun(boolean dryRun) {
            this.dryRun = dryRun;
            return this;
        }

        /**
         * At most 200 files, of 4 MiB together. Those that do not end with <code>.hcl</code> are templates of
         * mails.
         */
        public Builder files(List<BundleFile> files) {
            this.files = files;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** The values of <code>env()</code>. They are sealed, and never answered. */
        public Builder variables(Map<String, String> variables) {
            this.variables = variables;
            return this;
        }

        /** Makes it. */
        public BundleApplyRequest build() {
            return new BundleApplyRequest(
                    bundle,
                    dryRun,
                    Objects.requireNonNull(files, "files"),
                    namespace,
                    variables);
        }
    }
}
