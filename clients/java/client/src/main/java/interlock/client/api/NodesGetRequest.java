// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Request;

/** The payload of this request. */
public record NodesGetRequest() implements Request {

    @Override
    public String eventType() {
        return "NodesGetRequest";
    }
}
