// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import interlock.client.Request;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The payload of this request.
 *
 * @param document The document: a text of YAML or JSON, or a JSON object; at most 1 MiB.
 * @param namespace <code>default</code> if absent.
 */
public record RunDefinitionValidateRequest(
        Json document,
        @Nullable String namespace) implements Request {

    @Override
    public String eventType() {
        return "RunDefinitionValidateRequest";
    }

    /** Begins with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Begins with what this has. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.document = document;
        builder.namespace = namespace;
        return builder;
    }

    /** Sets one member after the other. */
    public static final class Builder {

        private @Nullable Json document;
        private @Nullable String namespace;

        private Builder() {}

        /** The document: a text of YAML or JSON, or a JSON object; at most 1 MiB. */
        public Builder document(Json document) {
            this.document = document;
            return this;
        }

        /** <code>default</code> if absent. */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /** Makes it. */
        public RunDefinitionValidateRequest build() {
            return new RunDefinitionValidateRequest(
                    Objects.requireNonNull(document, "document"),
                    namespace);
        }
    }
}
