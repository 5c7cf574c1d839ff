package interlock.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A JSON value as text. It keeps the digits of its numbers as they were written: {@code 1.50} does
 * not become {@code 1.5}.
 *
 * <p>Two are equal if they have the same text.
 */
@JsonSerialize(using = JsonText.Serializer.class)
@JsonDeserialize(using = JsonText.Deserializer.class)
public final class Json {

    /** The value {@code null}. */
    public static final Json NULL = new Json("null");

    private final String text;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Encodes a value: a map, a list, a record, a Jackson tree, or whatever Jackson can write. A text
     * becomes a JSON text; see {@link #parse} for JSON that is a text already.
     *
     * @throws IllegalArgumentException if it cannot be encoded: among others a number that is not finite, such as
     *         NaN, and a text with half of a character (a lone surrogate)
     */
    public static Json of(Object value) {
        return of(value, JsonText.MAPPER);
    }

    /** The same with the settings of another mapper. */
    public static Json of(Object value, ObjectMapper mapper) {
        if (value instanceof Json json) {
            return json;
        }
        try {
            String text = JsonText.unquoting(mapper).writeValueAsString(value);
            return new Json(JsonText.checked(text, value));
        } catch (JsonProcessingException e) {
            throw JsonText.unencodable(value, e.getOriginalMessage(), e);
        }
    }

    /** Takes a text that is JSON; an {@link IllegalArgumentException} if it is not. */
    public static Json parse(String text) {
        JsonText.check(text);
        return new Json(text);
    }

    /** A text that is known to be JSON. */
    static Json raw(String text) {
        return new Json(text);
    }

    /** The text. */
    public String text() {
        return text;
    }

    /** A new tree of the value, which may be changed. Its numbers keep their digits. */
    public JsonNode node() {
        return JsonText.tree(text);
    }

    /** The same for an object; an {@link IllegalStateException} for another value. */
    public ObjectNode objectNode() {
        if (node() instanceof ObjectNode object) {
            return object;
        }
        throw new IllegalStateException("this is JSON, but not an object: " + JsonText.shortened(text));
    }

    /**
     * Reads the value into a class. Fractions in values of the type {@code Object} become
     * {@code BigDecimal}.
     */
    public <T> T decode(Class<T> type) {
        return JsonText.read(text, type);
    }

    /** The same for a type with parameters, such as a list of records. */
    public <T> T decode(TypeReference<T> type) {
        return JsonText.read(text, type);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Json json && json.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
