package interlock.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import interlock.client.api.EntityMeta;
import interlock.client.api.EntityPayload;
import interlock.client.api.ModelSpec;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A stored document and the state that it is in.
 *
 * @param state that of its workflow
 * @param data the document
 * @param transactionId the transaction that wrote this version
 */
public record Entity(
        String id, ModelSpec model, String state, Json data, String transactionId, Instant createdAt, Instant updatedAt) {

    /** A new tree of the document, which may be changed. Its numbers keep their digits. */
    public ObjectNode document() {
        return data.objectNode();
    }

    /** Reads the document into a class; see {@link Json#decode(Class)}. */
    public <T> T decode(Class<T> type) {
        return data.decode(type);
    }

    static Entity of(EntityPayload payload) {
        Json data = payload.data() == null ? Json.NULL : payload.data();
        EntityMeta meta = payload.meta();
        if (meta == null) {
            throw new Failure(ClientCodes.INVALID_ANSWER, "the server sent an entity without its state", false).exception();
        }
        return new Entity(meta.id(), new ModelSpec(meta.modelKey().name(), meta.modelKey().version()), meta.state(), data,
                orEmpty(meta.transactionId()), meta.creationDate(), meta.lastUpdateTime());
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }
}
