package interlock.client;

import org.jspecify.annotations.Nullable;

/**
 * The functions that a member serves with. Whatever they throw fails the call; see
 * {@link RejectedException} and {@link RetryableException}. When a call is given up, the thread of its
 * handler is interrupted.
 */
public final class Handlers {

    private Handlers() {}

    /** Changes an entity when a transition is taken. */
    @FunctionalInterface
    public interface Processor {

        /**
         * Returns the whole new document, which is whatever Jackson writes as an object, or null to leave
         * the document as it is. It may also return a {@link java.util.concurrent.CompletionStage} of that.
         *
         * @param entity the entity in the state before the transition
         */
        @Nullable Object handle(Entity entity, CallContext context) throws Exception;
    }

    /** Decides whether a criterion holds. Throwing is no decision: it fails the whole request. */
    @FunctionalInterface
    public interface Criterion {

        /**
         * Returns whether it holds.
         *
         * @param entity the entity as it would be written
         */
        Verdict handle(Entity entity, CallContext context) throws Exception;
    }

    /** Computes when a scheduled transition is due. */
    @FunctionalInterface
    public interface ScheduleFunction {

        /** Returns when it is due. Throwing fails the write after which it would have been scheduled. */
        Timing handle(Entity entity, CallContext context) throws Exception;
    }

    /** Does the work of a step of a step workflow, or of an item of a manager. */
    @FunctionalInterface
    public interface Action {

        /**
         * Returns the output, which is whatever Jackson writes, commonly an object, null for an empty one, an
         * {@link Outcome} with a name of its own, or {@link Pending}. It may also return a
         * {@link java.util.concurrent.CompletionStage} of one of these. Throwing is the outcome
         * {@code failure}.
         */
        @Nullable Object handle(Json input, TaskContext context) throws Exception;
    }

    /**
     * A processor, criterion or schedule function to which the workflow does not attach the entity.
     *
     * @param <R> its result
     */
    @FunctionalInterface
    public interface Detached<R extends @Nullable Object> {

        /** Returns the same as one with the entity. */
        R handle(CallContext context) throws Exception;
    }
}
