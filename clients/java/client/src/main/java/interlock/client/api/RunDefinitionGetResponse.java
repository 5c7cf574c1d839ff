// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import interlock.client.Json;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A definition with its document.
 *
 * @param bundle Of a saga: the bundle that declares it.
 * @param createdAt When the version was created.
 * @param description Lists show the first 1024 bytes.
 * @param digest SHA-256 of the compiled form, in hexadecimal.
 * @param document As it was sent: a text or an object.
 * @param enabled Whether the name is enabled; single versions may be disabled all the same.
 * @param findings The warnings.
 * @param id The id of the request's event.
 * @param kind <code>flo</code> or <code>saga</code>.
 * @param plans The names of its plans.
 * @param schedule How it starts runs by the clock.
 * @param trigger How it starts runs by the events of a topic.
 * @param version The latest version, or the one that was asked for.
 * @param versions In the order in which they were created.
 * @param warnings What the caller should know, although the request was answered.
 */
public record RunDefinitionGetResponse(
        @Nullable String bundle,
        @Nullable Instant createdAt,
        @Nullable String description,
        @Nullable String digest,
        @Nullable List<String> disabledVersions,
        @Nullable Json document,
        @Nullable Boolean enabled,
        @Nullable List<Finding> findings,
        String id,
        @Nullable String kind,
        @Nullable String name,
        @Nullable List<String> plans,
        @Nullable RunDefinitionGetResponseSchedule schedule,
        @Nullable Trigger trigger,
        @Nullable String version,
        @Nullable List<String> versions,
        @Nullable List<String> warnings) {

    /**
     * How it starts runs by the clock.
     *
     * @param active Whether it is neither paused nor disabled.
     * @param running How many of its runs have not ended.
     * @param skipped How often it started nothing because too many of its runs were live.
     */
    public record RunDefinitionGetResponseSchedule(
            boolean active,
            @Nullable String cron,
            @Nullable Long intervalMs,
            @Nullable Instant lastFireAt,
            @Nullable Instant nextFireAt,
            long running,
            long skipped) {}

    /**
     * How it starts runs by the events of a topic.
     *
     * @param active Whether it is not disabled.
     * @param batchSize How many events a run takes.
     * @param lag How many events have not started a run yet.
     * @param missed How many events were removed from the topic before they started a run; absent if none were.
     * @param mode <code>shared</code>, <code>exclusive</code> or <code>key_shared</code>.
     * @param namespace Where the topic is.
     * @param position The sequence of the last event that has started a run.
     */
    public record Trigger(
            boolean active,
            long batchSize,
            String consumerGroup,
            long lag,
            @Nullable Long missed,
            String mode,
            String namespace,
            long position,
            String topic) {}
}
