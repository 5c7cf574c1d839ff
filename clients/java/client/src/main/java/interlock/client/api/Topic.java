// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/**
 * A topic.
 *
 * @param first The sequence of the oldest event that is kept; that of the next one if none is.
 * @param last The sequence of the newest event.
 */
public record Topic(
        long first,
        long last,
        String topic) {}
