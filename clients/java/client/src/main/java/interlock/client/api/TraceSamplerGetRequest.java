// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;

/** A request for a setting as it is. */
public record TraceSamplerGetRequest() implements Request {

    @Override
    public String eventType() {
        return "TraceSamplerGetRequest";
    }
}
