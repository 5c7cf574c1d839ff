package interlock.client;

import interlock.client.api.Change;
import interlock.client.api.Condition;
import interlock.client.api.DataFormat;
import interlock.client.api.EntityCreateRequest;
import interlock.client.api.EntityDeleteRequest;
import interlock.client.api.EntityGetRequest;
import interlock.client.api.EntityResponse;
import interlock.client.api.EntitySearchRequest;
import interlock.client.api.EntityTransactionResponse;
import interlock.client.api.EntityTransitionRequest;
import interlock.client.api.EntityUpdateRequest;
import interlock.client.api.LimitExceeded;
import interlock.client.api.ModelSpec;
import interlock.client.api.NewEntity;
import interlock.client.api.Operations;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Short forms of the most common operations on entities. Documents are whatever Jackson writes as an
 * object: maps, records, trees, {@link Json}.
 */
public final class Entities {

    private static final int PAGE_SIZE = 1000;

    private final Requester requester;
    private final Operations operations;

    Entities(Requester requester, Operations operations) {
        this.requester = requester;
        this.operations = operations;
    }

    /** Stores a document and moves it through its workflow. */
    public Written create(ModelSpec model, Object document, RequestOption... options) {
        return Written.of(operations.entityCreate(creation(model, document), options));
    }

    /** The same without waiting; see {@link interlock.client.api.AsyncOperations}. */
    public CompletableFuture<Written> createAsync(ModelSpec model, Object document, RequestOption... options) {
        return requester.askAsync("EntityCreateRequest", creation(model, document),
                data -> Written.of(data.decode(EntityTransactionResponse.class)), options);
    }

    private static EntityCreateRequest creation(ModelSpec model, Object document) {
        return EntityCreateRequest.builder().dataFormat(DataFormat.JSON)
                .payload(new NewEntity(JsonText.object(document, "a document"), model)).build();
    }

    /** Reads an entity. */
    public Entity get(String entityId) {
        return Entity.of(operations.entityGet(EntityGetRequest.builder().entityId(entityId).build()).payload());
    }

    /** Replaces the document of an entity. */
    public Written update(String entityId, Object document, RequestOption... options) {
        return update(entityId, document, null, options);
    }

    /** Replaces the document of an entity, and takes a transition if one is named. */
    public Written update(String entityId, Object document, @Nullable String transition, RequestOption... options) {
        Change.Builder change = Change.builder().entityId(entityId).data(JsonText.object(document, "a document"));
        if (transition != null) {
            change.transition(transition);
        }
        return Written.of(operations.entityUpdate(
                EntityUpdateRequest.builder().dataFormat(DataFormat.JSON).payload(change.build()).build(), options));
    }

    /** Takes a transition of an entity and leaves the document to its processors. */
    public void transition(String entityId, String transition, RequestOption... options) {
        operations.entityTransition(taking(entityId, transition), options);
    }

    /** The same without waiting. */
    public CompletableFuture<@Nullable Void> transitionAsync(String entityId, String transition, RequestOption... options) {
        return requester.askAsync("EntityTransitionRequest",
                taking(entityId, transition), data -> null, options);
    }

    private static EntityTransitionRequest taking(String entityId, String transition) {
        return EntityTransitionRequest.builder().entityId(entityId).transition(transition).build();
    }

    /** Deletes an entity. Its history stays. */
    public void delete(String entityId, RequestOption... options) {
        operations.entityDelete(EntityDeleteRequest.builder().entityId(entityId).build(), options);
    }

    /**
     * Reads all entities of a model, page by page, in the order of their ids. An entity that is there all
     * the time comes once, whatever is written or deleted meanwhile.
     */
    public Answers<Entity> list(ModelSpec model) {
        return new Listing(model);
    }

    /** The entities of a model that satisfy a condition; see {@link #search(EntitySearchRequest)}. */
    public Answers<Entity> search(ModelSpec model, Condition condition) {
        return search(EntitySearchRequest.builder().model(model).condition(condition).build());
    }

    /**
     * The entities that a request finds.
     *
     * <p>If the connection is lost before the first entity, the search begins again. Later it resumes if
     * the request has a {@code pointInTime}, because only then the rest is the rest of the same result;
     * entities that came already are not repeated. Without one it fails with a
     * {@link ConnectionLostException}.
     */
    public Answers<Entity> search(EntitySearchRequest request) {
        return new SearchAnswers(requester.asker(), operations, request);
    }

    /**
     * Pages, one after the other. Each is asked for by the last id of the one before: pages that are found by
     * their number move when an entity of an earlier one is deleted.
     */
    private final class Listing extends Answers<Entity> {

        private final ModelSpec model;
        private String last = "";
        private int count;
        private @Nullable Answers<EntityResponse> current;
        private volatile boolean isClosed;

        Listing(ModelSpec model) {
            this.model = model;
        }

        @Override
        @Nullable Entity next() throws InterruptedException {
            while (!isClosed) {
                Answers<EntityResponse> reading = current;
                if (reading == null) {
                    reading = operations.entitySearch(following());
                    current = reading;
                    count = 0;
                }
                EntityResponse next = reading.next();
                if (next != null) {
                    count++;
                    Entity entity = Entity.of(next.payload());
                    last = entity.id();
                    return entity;
                }
                if (count < PAGE_SIZE) {
                    return null;
                }
                current = null;
            }
            return null;
        }

        private EntitySearchRequest following() {
            Condition isLater = Condition.builder().type(Condition.Type.LIFECYCLE).field(Condition.Field.ID)
                    .operatorType(Condition.OperatorType.GREATER_THAN).value(Json.of(last)).build();
            // In a transaction, it has seen what it lists.
            return EntitySearchRequest.builder().model(model).condition(isLater).limit(PAGE_SIZE)
                    .limitExceeded(LimitExceeded.TRUNCATE).trackingRead(true).build();
        }

        @Override
        public void close() {
            isClosed = true;
            Answers<EntityResponse> reading = current;
            if (reading != null) {
                reading.close();
            }
        }
    }
}
