package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who caused a call.
 *
 * @param kind {@code user}, {@code service} or {@code system}
 */
public record CallerIdentity(String kind, String id, List<String> roles) {

    static CallerIdentity of(CloudEvent event) {
        String roles = Envelope.attribute(event, "authclaims");
        return new CallerIdentity(orEmpty(Envelope.attribute(event, "authtype")), orEmpty(Envelope.attribute(event, "authid")),
                roles == null ? List.of() : List.of(roles.split(",")));
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }
}
