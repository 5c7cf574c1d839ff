package interlock.client;

import interlock.client.api.EntityChangeEvent;
import interlock.client.api.EntityChangesSubscribeRequest;
import interlock.client.api.EntityResponse;
import interlock.client.api.EntitySearchSubscribeAnswer;
import interlock.client.api.EntitySearchSubscribeRequest;
import interlock.client.api.Operations;
import interlock.client.api.Run;
import interlock.client.api.RunGetRequest;
import interlock.client.api.RunHistoryEvent;
import interlock.client.api.RunHistorySubscribeRequest;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Follows what changes. After a lost connection each of these resumes after its last item, so none is
 * missing and none is repeated. Each is a call of its own, so it may be read slowly.
 *
 * <p>They end with an exception when the server refuses the request, when it cannot be reached at
 * first, and when the client is closed.
 */
public final class Feeds {

    /** The states in which nothing of a run changes again. */
    private static final Set<String> FINISHED = Set.of("completed", "failed", "cancelled", "timed_out");

    private final Requester requester;
    private final Operations operations;

    Feeds(Requester requester, Operations operations) {
        this.requester = requester;
        this.operations = operations;
    }

    /**
     * Follows changes in the order of their commits, each once. To resume after a restart of the
     * program, store the sequence of the last change.
     */
    public Answers<EntityChangeEvent> changes(Changes what) {
        return new ChangeAnswers(what);
    }

    /**
     * Follows what satisfies a condition: first the entities that do, then a change that says that the
     * result is complete, then the changes that make an entity enter or leave the result, or change it
     * within. A connection that is lost before the result is complete is a failure.
     */
    public Answers<Match> search(LiveSearch what) {
        return new LiveAnswers(what);
    }

    /** Follows the events of a run after the sequence, 0 for all, until the run ends. */
    public Answers<RunHistoryEvent> run(String runId, long after) {
        return new RunAnswers(runId, after);
    }

    /**
     * Follows the events of all runs of a namespace, of one definition if it is named, after the
     * position; without one, those from now on.
     */
    public Answers<RunHistoryEvent> runs(@Nullable String namespace, @Nullable String definition, @Nullable Long after) {
        return new AllRunsAnswers(namespace, definition, after);
    }

    /** The newest position of a feed: the refusal of one that does not exist yet names it. */
    private long newest(String eventType) throws InterruptedException {
        try (Answers<Event> refused = requester.listen(eventType, Map.of("fromSequence", Long.MAX_VALUE))) {
            refused.next();
        } catch (InterlockException e) {
            Json newest = e.properties().get("newest");
            if (newest == null) {
                throw e;
            }
            return newest.decode(Long.class);
        }
        throw new Failure("SERVER_ERROR", "the server does not report its newest sequence", false).exception();
    }

    /** The position, or the newest one. */
    private long position(@Nullable Long after, String eventType) {
        if (after != null) {
            return after;
        }
        try {
            return newest(eventType);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    private final class ChangeAnswers extends ResumingAnswers<EntityChangeEvent, EntityChangeEvent> {

        private final Changes what;
        private @Nullable Long after;

        ChangeAnswers(Changes what) {
            super(requester.asker(), true);
            this.what = what;
            this.after = what.after;
        }

        @Override
        Answers<EntityChangeEvent> open() {
            after = position(after, "EntityChangesSubscribeRequest");
            return operations.entityChangesSubscribe(
                    new EntityChangesSubscribeRequest(after, what.hasData, what.model, what.states));
        }

        @Override
        EntityChangeEvent accept(EntityChangeEvent change) {
            after = change.sequence();
            return change;
        }

        @Override
        boolean isOver() {
            return false;
        }
    }

    private final class LiveAnswers extends ResumingAnswers<EntitySearchSubscribeAnswer, Match> {

        private final LiveSearch what;
        private @Nullable Long after;
        private boolean hasBegun;

        LiveAnswers(LiveSearch what) {
            super(requester.asker(), true);
            this.what = what;
            this.after = what.after;
        }

        @Override
        Answers<EntitySearchSubscribeAnswer> open() {
            return operations.entitySearchSubscribe(
                    new EntitySearchSubscribeRequest(what.condition, after, what.hasData, what.model));
        }

        @Override
        Match accept(EntitySearchSubscribeAnswer answer) {
            hasBegun = true;
            if (answer instanceof EntityResponse found) {
                return new Match.Found(Entity.of(found.payload()));
            }
            EntityChangeEvent change = (EntityChangeEvent) answer;
            after = change.sequence();
            return new Match.Changed(change);
        }

        @Override
        boolean isOver() {
            if (after == null) {
                throw Failure.connectionLost("the live search ended before its first result was complete");
            }
            return false;
        }

        @Override
        boolean isFinal(InterlockException failure) {
            return after == null || !hasBegun;
        }
    }

    private final class RunAnswers extends ResumingAnswers<RunHistoryEvent, RunHistoryEvent> {

        private final String runId;
        private long after;

        RunAnswers(String runId, long after) {
            super(requester.asker(), true);
            this.runId = runId;
            this.after = after;
        }

        @Override
        Answers<RunHistoryEvent> open() {
            return operations.runHistorySubscribe(
                    RunHistorySubscribeRequest.builder().runId(runId).fromSequence(after).build());
        }

        @Override
        @Nullable RunHistoryEvent accept(RunHistoryEvent event) {
            if (event.eventType() == null) {
                return null;
            }
            after = event.sequence() == null ? after : event.sequence();
            return event;
        }

        /** The answer ends with the run, and may end with the server. */
        @Override
        boolean isOver() {
            Run run = operations.runGet(new RunGetRequest(runId)).run();
            return run != null && FINISHED.contains(run.status()) && after >= run.lastSequence();
        }
    }

    private final class AllRunsAnswers extends ResumingAnswers<RunHistoryEvent, RunHistoryEvent> {

        private final @Nullable String namespace;
        private final @Nullable String definition;
        private @Nullable Long after;

        AllRunsAnswers(@Nullable String namespace, @Nullable String definition, @Nullable Long after) {
            super(requester.asker(), true);
            this.namespace = namespace;
            this.definition = definition;
            this.after = after;
        }

        @Override
        Answers<RunHistoryEvent> open() {
            after = position(after, "RunHistorySubscribeRequest");
            return operations.runHistorySubscribe(new RunHistorySubscribeRequest(definition, after, namespace, null));
        }

        @Override
        @Nullable RunHistoryEvent accept(RunHistoryEvent event) {
            after = event.position();
            return event.eventType() == null ? null : event;
        }

        @Override
        boolean isOver() {
            return false;
        }
    }
}
