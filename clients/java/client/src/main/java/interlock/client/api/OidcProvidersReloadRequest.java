// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;

/** A request about all of them. */
public record OidcProvidersReloadRequest() implements Request {

    @Override
    public String eventType() {
        return "OidcProvidersReloadRequest";
    }
}
