package interlock.client;

import interlock.client.api.TaskCalculationRequest;
import interlock.client.api.TaskTouchRequest;
import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * What an action knows beside its input, and what it may do. Its operations read and write in the
 * transaction in which the outcome of the step is committed. A failure, a timeout and a lost connection
 * discard what they wrote.
 */
public final class TaskContext extends WorkContext {

    private final TaskCalculationRequest task;
    private final Session outside;

    TaskContext(EventStream stream, CloudEvent event, TaskCalculationRequest task, Executor executor) {
        super(Asker.OfTransaction.of(stream, Envelope.attribute(event, Envelope.TOKEN), executor),
                task.name(), CallerIdentity.of(event));
        this.task = task;
        this.outside = new Outside(Asker.OfTransaction.of(stream, null, executor));
    }

    private static final class Outside extends Session {

        Outside(Asker asker) {
            super(asker);
        }
    }

    /** Sends requests outside the transaction. */
    public Session outside() {
        return outside;
    }

    boolean isConnectorCall() {
        return TaskCalculationRequest.Kind.CONNECTOR.equals(task.kind());
    }

    /** The same for every delivery of the task. */
    public String taskId() {
        return task.taskId();
    }

    /** The number of the delivery, from 1. */
    public long attempt() {
        return task.attempt();
    }

    /** The namespace of the action. */
    public String namespace() {
        return task.namespace();
    }

    /** The run; null if the action was invoked without one. */
    public @Nullable String runId() {
        return task.runId();
    }

    /** The step; null if the action was invoked without a run. */
    public @Nullable String step() {
        return task.step();
    }

    /** The definition of the run; null if the action was invoked without one. */
    public TaskCalculationRequest.@Nullable Definition definition() {
        return task.definition();
    }

    /** When the task is over. */
    public Instant deadline() {
        return task.deadline();
    }

    /**
     * The same until one of the executions of the step is answered. What is done elsewhere, or outside
     * the transaction, should carry a key that is made of it.
     */
    public String idempotencyKey() {
        return task.idempotencyKey();
    }

    /** The {@code context} of the action, as it was registered. */
    public @Nullable String parameters() {
        return task.context();
    }

    /** Moves the deadline to that long from now. */
    public void touch(Duration more) {
        outside.operations().taskTouch(
                TaskTouchRequest.builder().taskId(task.taskId()).extendMs(more.toMillis()).build());
    }

    /** The same, and reports how far the work is. */
    public void touch(Duration more, Object progress) {
        outside.operations().taskTouch(TaskTouchRequest.builder()
                .taskId(task.taskId()).extendMs(more.toMillis()).progress(Json.of(progress)).build());
    }

    TaskCalculationRequest task() {
        return task;
    }
}
