package interlock.conformance;

import com.fasterxml.jackson.databind.node.ObjectNode;
import interlock.client.Answers;
import interlock.client.Entity;
import interlock.client.Event;
import interlock.client.InterlockException;
import interlock.client.Json;
import interlock.client.Request;
import interlock.client.RequestOption;
import interlock.client.Session;
import interlock.client.api.EntityCreateRequest;
import interlock.client.api.EntityDeleteRequest;
import interlock.client.api.EntityGetRequest;
import interlock.client.api.EntitySearchRequest;
import interlock.client.api.EntityTransitionRequest;
import interlock.client.api.EntityUpdateRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** Sends the requests of commands and scripts. */
final class Asking {

    private Asking() {}

    /** Sends a request with one answer, by the typed operation where there is one to use. */
    static Json ask(Session session, String type, Json payload, @Nullable String key, @Nullable Long timeoutMs) {
        RequestOption[] options = options(key, timeoutMs);
        return switch (type) {
            case "EntityCreateRequest" -> typed(payload, EntityCreateRequest.class, session.operations()::entityCreate, options);
            case "EntityGetRequest" -> typed(payload, EntityGetRequest.class, session.operations()::entityGet, options);
            case "EntityUpdateRequest" -> typed(payload, EntityUpdateRequest.class, session.operations()::entityUpdate, options);
            case "EntityTransitionRequest" ->
                typed(payload, EntityTransitionRequest.class, session.operations()::entityTransition, options);
            case "EntityDeleteRequest" -> typed(payload, EntityDeleteRequest.class, session.operations()::entityDelete, options);
            default -> session.call(type, payload, options);
        };
    }

    /** The same without waiting. */
    static CompletableFuture<Json> askAsync(Session session, String type, Json payload) {
        return switch (type) {
            case "EntityCreateRequest" -> session.async().entityCreate(payload.decode(EntityCreateRequest.class)).thenApply(Json::of);
            case "EntityGetRequest" -> session.async().entityGet(payload.decode(EntityGetRequest.class)).thenApply(Json::of);
            default -> session.callAsync(type, payload);
        };
    }

    private static RequestOption[] options(@Nullable String key, @Nullable Long timeoutMs) {
        List<RequestOption> options = new ArrayList<>();
        if (key != null) {
            options.add(RequestOption.idempotencyKey(key));
        }
        if (timeoutMs != null) {
            options.add(RequestOption.timeout(Duration.ofMillis(timeoutMs)));
        }
        return options.toArray(RequestOption[]::new);
    }

    /** A typed answer is a successful one, so it has no {@code success}, which the runner looks for. */
    private static <Q extends Request, A> Json typed(
            Json payload, Class<Q> request, BiFunction<Q, RequestOption[], A> operation, RequestOption[] options) {
        ObjectNode answer = Json.of(operation.apply(payload.decode(request), options)).objectNode();
        answer.put("success", true);
        return Json.of(answer);
    }

    /** Sends a request with a streamed answer, and reads all of it. */
    static List<Json> collect(Session session, String type, Json payload) {
        List<Json> items = new ArrayList<>();
        try (Answers<Event> events = session.stream(type, payload)) {
            for (Event event : events) {
                items.add(event.data());
            }
        }
        return items;
    }

    /** Reads each entity of a search, in the loop over it; how many there were. */
    static int readEach(Session session, Json payload) {
        int read = 0;
        try (Answers<Entity> found = session.entities().search(payload.decode(EntitySearchRequest.class))) {
            for (Entity entity : found) {
                session.entities().get(entity.id());
                read++;
            }
        }
        return read;
    }

    static Map<String, Object> failure(Throwable failure) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        Map<String, Object> error = new LinkedHashMap<>();
        if (cause instanceof InterlockException known) {
            error.put("code", known.code());
            error.put("message", known.reason());
            error.put("retryable", known.isRetryable());
        } else {
            error.put("code", cause instanceof UnsupportedOperationException ? "UNSUPPORTED" : "EXCEPTION");
            error.put("message", String.valueOf(cause));
            error.put("retryable", false);
        }
        return error;
    }
}
