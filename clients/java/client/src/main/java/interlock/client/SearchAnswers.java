package interlock.client;

import interlock.client.api.EntityResponse;
import interlock.client.api.EntitySearchRequest;
import interlock.client.api.Operations;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The result of a search, each entity once. */
final class SearchAnswers extends ResumingAnswers<EntityResponse, Entity> {

    /** How often a search is sent without an entity in return. */
    private static final int ATTEMPTS = 3;

    private final Operations operations;
    private final EntitySearchRequest request;
    private final Set<String> seen = new HashSet<>();
    private int attempts;

    SearchAnswers(Asker asker, Operations operations, EntitySearchRequest request) {
        super(asker, false);
        this.operations = operations;
        this.request = request;
    }

    @Override
    Answers<EntityResponse> open() {
        attempts++;
        return operations.entitySearch(request);
    }

    @Override
    @Nullable Entity accept(EntityResponse item) {
        Entity entity = Entity.of(item.payload());
        if (!seen.add(entity.id())) {
            return null;
        }
        attempts = 0;
        return entity;
    }

    @Override
    boolean isOver() {
        return true;
    }

    @Override
    boolean isFinal(InterlockException failure) {
        return !seen.isEmpty() && request.pointInTime() == null || attempts >= ATTEMPTS;
    }
}
