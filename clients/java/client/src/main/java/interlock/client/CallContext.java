package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** What a processor, criterion or schedule function knows beside the entity, and what it may do. */
public final class CallContext extends WorkContext {

    /**
     * The transition that a call is a part of.
     *
     * @param from the state before it
     * @param to the state after it
     */
    public record Transition(@Nullable String name, @Nullable String from, @Nullable String to) {}

    private final Calculation calculation;
    private final @Nullable String dispatchKey;
    private final @Nullable Duration timeLimit;
    private final @Nullable Instant deadline;

    CallContext(EventStream stream, CloudEvent event, Calculation calculation, Executor executor) {
        super(Asker.OfTransaction.of(stream, Envelope.attribute(event, Envelope.TOKEN), executor),
                calculation.name(), CallerIdentity.of(event));
        this.calculation = calculation;
        this.dispatchKey = Envelope.attribute(event, Envelope.DISPATCH_KEY);
        String milliseconds = Envelope.attribute(event, Envelope.TIME_LIMIT);
        this.timeLimit = milliseconds == null ? null : Duration.ofMillis(Long.parseLong(milliseconds));
        this.deadline = timeLimit == null ? null : Instant.now().plus(timeLimit);
    }

    /** The id of the entity, also if that is not attached. */
    public String entityId() {
        return calculation.entityId();
    }

    /** The {@code context} of what is called, as the workflow has it. */
    public @Nullable String parameters() {
        return calculation.parameters();
    }

    /** The name of the workflow. */
    public @Nullable String workflow() {
        return calculation.workflow() == null ? null : calculation.workflow().name();
    }

    /** The transition; its names are null for the criterion by which a workflow is chosen. */
    public Transition transition() {
        Calculation.Taken taken = calculation.transition();
        return taken == null ? new Transition(null, null, null)
                : new Transition(taken.name(), taken.stateFrom(), taken.stateTo());
    }

    /** The transaction; null outside of one. */
    public @Nullable String transactionId() {
        String id = calculation.transactionId();
        return id == null || id.isEmpty() ? null : id;
    }

    /**
     * The same for every attempt of one call. What was done elsewhere under it need not be done again.
     */
    public @Nullable String dispatchKey() {
        return dispatchKey;
    }

    /** When the server gives the call up, and the handler is interrupted; null if the server did not say. */
    public @Nullable Instant deadline() {
        return deadline;
    }

    /** How long after its arrival the server gives the call up. */
    @Nullable Duration timeLimit() {
        return timeLimit;
    }
}
