package interlock.conformance;

import com.fasterxml.jackson.annotation.JsonProperty;
import interlock.client.ClientCredentials;
import interlock.client.ConnectionBuilder;
import interlock.client.Json;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A command of the runner; which members there are depends on what it is. */
record Command(
        long id,
        @JsonProperty("do") String action,
        String as,
        String on,
        String target,
        Access access,
        @Nullable List<String> tags,
        @Nullable Integer concurrency,
        boolean quiet,
        List<Script> handlers,
        String type,
        Json payload,
        @Nullable String key,
        @Nullable Long timeoutMs,
        int count,
        String feed,
        String gate,
        String member,
        String client) {

    /** How a client authenticates. */
    record Access(@Nullable Map<String, String> metadata, @Nullable OAuth oauth) {

        void applyTo(ConnectionBuilder<?> builder) {
            if (metadata != null) {
                metadata.forEach(builder::metadata);
            }
            if (oauth != null) {
                builder.tokens(new ClientCredentials(URI.create(oauth.url), oauth.clientId, oauth.clientSecret));
            }
        }
    }

    record OAuth(String url, String clientId, String clientSecret) {}

    /** A handler: the n-th call executes the n-th script, the last one from then on. */
    record Script(String kind, String name, boolean detached, List<List<Map<String, Json>>> scripts) {}
}
