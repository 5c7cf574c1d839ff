package interlock.client;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.IOException;
import java.io.StringWriter;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** How JSON is read and written: no number passes through a binary float. */
final class JsonText {

    private static final JsonFactory FACTORY = JsonFactory.builder()
            // What a server sends has passed its limits.
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    /** For values of programs; it knows the Jackson modules that are on the class path. */
    static final ObjectMapper MAPPER = settings(JsonMapper.builder(FACTORY)).findAndAddModules().build();

    private static final ObjectMapper PAYLOADS =
            settings(JsonMapper.builder(FACTORY)).defaultPropertyInclusion(
                    JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS)).build();
    private static final ObjectWriter WRITER = unquoting(PAYLOADS);

    /** The attribute with the text that is being read. */
    private static final Object SOURCE = new Object();

    private JsonText() {}

    private static JsonMapper.Builder settings(JsonMapper.Builder builder) {
        return builder.addModule(new JavaTimeModule()).addModule(new SimpleModule()
                        .addSerializer(Future.class, new Refusing<>())
                        .addSerializer(CompletionStage.class, new Refusing<>()))
                .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES);
    }

    /** A writer to which NaN is no text; it writes what is not JSON then, and that is refused. */
    static ObjectWriter unquoting(ObjectMapper mapper) {
        return mapper.writer().without(JsonWriteFeature.WRITE_NAN_AS_STRINGS);
    }

    /** Encodes the payload of an event; absent members are left out. */
    static String write(Object payload) {
        if (payload instanceof Json json) {
            return checked(json.text(), payload);
        }
        try {
            return checked(WRITER.writeValueAsString(payload), payload);
        } catch (JsonProcessingException e) {
            throw unencodable(payload, e.getOriginalMessage(), e);
        }
    }

    static IllegalArgumentException unencodable(Object value, @Nullable String why, Throwable cause) {
        return new IllegalArgumentException("cannot encode a " + value.getClass().getName() + " as JSON: " + why, cause);
    }

    /** Returns the JSON of a value if it is such that others can read it. */
    static String checked(String text, Object value) {
        try {
            Texts.checkJson(text);
            return text;
        } catch (IllegalArgumentException e) {
            throw unencodable(value, e.getMessage(), e);
        }
    }

    /** Encodes a document, which has to be an object. */
    static Json object(Object document, String what) {
        Json json = objectOrNull(document, what);
        if (json == null) {
            throw notAnObject(document, what);
        }
        return json;
    }

    /** The same for a document that may be null, in Java or in JSON. */
    static @Nullable Json objectOrNull(@Nullable Object document, String what) {
        if (document == null) {
            return null;
        }
        Json json = Json.of(document);
        if (json.text().strip().equals("null")) {
            return null;
        }
        if (!json.text().stripLeading().startsWith("{")) {
            throw notAnObject(document, what);
        }
        return json;
    }

    private static IllegalArgumentException notAnObject(Object document, String what) {
        String hint = document instanceof String ? "; Json.parse takes a text that is JSON" : "";
        return new IllegalArgumentException(what + " has to be a JSON object, not " + document.getClass().getName() + hint);
    }

    static <T> T read(String text, Class<T> type) {
        return read(text, MAPPER.readerFor(type), type.getSimpleName());
    }

    static <T> T read(String text, TypeReference<T> type) {
        return read(text, MAPPER.readerFor(type), type.getType().getTypeName());
    }

    private static <T> T read(String text, ObjectReader reader, String name) {
        try {
            return reader.withAttribute(SOURCE, text).readValue(text);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("cannot read a " + name + ": " + e.getOriginalMessage(), e);
        }
    }

    /** Checks that a text is one JSON value. */
    static void check(String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new IllegalArgumentException("an empty text is not JSON");
            }
            parser.skipChildren();
            parser.finishToken();
            if (parser.nextToken() != null) {
                throw new IllegalArgumentException("there is more than one JSON value: " + shortened(text));
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("this is not JSON: " + shortened(text), e);
        }
    }

    static JsonNode tree(String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            return tree(parser);
        } catch (IOException e) {
            throw new IllegalArgumentException("this is not JSON: " + shortened(text), e);
        }
    }

    private static JsonNode tree(JsonParser parser) throws IOException {
        JsonNodeFactory nodes = JsonNodeFactory.instance;
        switch (parser.currentToken()) {
            case START_OBJECT:
                ObjectNode object = nodes.objectNode();
                for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                    parser.nextToken();
                    object.set(name, tree(parser));
                }
                return object;
            case START_ARRAY:
                ArrayNode array = nodes.arrayNode();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(tree(parser));
                }
                return array;
            case VALUE_NUMBER_INT:
            case VALUE_NUMBER_FLOAT:
                return new ExactNumber(parser.getText());
            case VALUE_STRING:
                return nodes.textNode(parser.getText());
            case VALUE_TRUE:
                return nodes.booleanNode(true);
            case VALUE_FALSE:
                return nodes.booleanNode(false);
            default:
                return nodes.nullNode();
        }
    }

    /** Makes a parser for looking at parts of a text. */
    static JsonParser parser(String text) throws IOException {
        return FACTORY.createParser(text);
    }

    static String quoted(String text) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }

    static String shortened(String text) {
        return text.length() <= 80 ? text : text.substring(0, 80) + "…";
    }

    /** Refuses what has its result later: its members say only whether it has it. */
    private static final class Refusing<T> extends JsonSerializer<T> {

        @Override
        public void serialize(T value, JsonGenerator generator, SerializerProvider provider) throws IOException {
            provider.reportMappingProblem("a %s has no JSON form; wait for its result", value.getClass().getSimpleName());
        }
    }

    /** Writes the text of a value. */
    static final class Serializer extends JsonSerializer<Json> {

        @Override
        public void serialize(Json value, JsonGenerator generator, SerializerProvider provider) throws IOException {
            generator.writeRawValue(value.text());
        }
    }

    /** Takes the text of a value out of the text that it is a part of. */
    static final class Deserializer extends JsonDeserializer<Json> {

        @Override
        public Json deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (!(context.getAttribute(SOURCE) instanceof String source)) {
                return Json.raw(copied(parser));
            }
            int start = (int) parser.currentTokenLocation().getCharOffset();
            parser.skipChildren();
            parser.finishToken();
            return Json.raw(source.substring(start, (int) parser.currentLocation().getCharOffset()));
        }

        /** For texts that somebody else reads. */
        private static String copied(JsonParser parser) throws IOException {
            StringWriter text = new StringWriter();
            try (JsonGenerator generator = FACTORY.createGenerator(text)) {
                generator.setCodec(MAPPER);
                generator.writeTree(tree(parser));
            }
            return text.toString();
        }

        @Override
        public Json getNullValue(DeserializationContext context) {
            return Json.NULL;
        }

        @Override
        @SuppressWarnings("NullAway")
        public Object getAbsentValue(DeserializationContext context) {
            return null;
        }
    }
}
