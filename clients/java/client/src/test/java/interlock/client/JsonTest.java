package interlock.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import interlock.client.api.AccountGetRequest;
import interlock.client.api.DataFormat;
import interlock.client.api.EntityCreateRequest;
import interlock.client.api.ModelSpec;
import interlock.client.api.NewEntity;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {

    @ParameterizedTest
    @ValueSource(strings = {"1.50", "-0", "-0.0", "1E5", "1e+2", "0.10e1", "1e400", "1e-400", "100",
        "1234567890123456789012345678901234567890.1234567890", "123456789012345678901234567890"})
    void aNumberKeepsItsDigits(String digits) {
        String text = "{\"a\":" + digits + ",\"b\":[" + digits + "]}";
        assertEquals(text, Json.of(Json.parse(text).node()).text());
        assertEquals(text, Json.of(Map.of("x", Json.parse(text).objectNode())).node().path("x").toString());
        assertEquals(digits, Json.parse(text).node().at("/b/0").asText());
    }

    @Test
    void aNumberOfATreeIsANumber() {
        JsonNode tree = Json.parse("{\"small\":7,\"large\":3000000000,\"huge\":99999999999999999999,\"part\":1.50}").node();
        assertEquals(7, tree.path("small").intValue());
        assertTrue(tree.path("small").isInt() && tree.path("large").isLong() && tree.path("huge").isBigInteger());
        assertEquals(new BigDecimal("1.50"), tree.path("part").decimalValue());
        assertEquals(1.5, tree.path("part").doubleValue());
    }

    record Parcel(String sku, BigDecimal weight, Map<String, Object> more, @Nullable Instant sent) {}

    @Test
    void aDocumentBecomesARecordAndBack() {
        Json json = Json.parse("{\"sku\":\"A\",\"weight\":1.50,\"more\":{\"x\":[0.10]},\"sent\":\"2026-01-02T03:04:05.678Z\",\"new\":1}");
        Parcel parcel = json.decode(Parcel.class);
        assertEquals(new BigDecimal("1.50"), parcel.weight());
        assertEquals(Map.of("x", List.of(new BigDecimal("0.10"))), parcel.more());
        assertEquals(Instant.parse("2026-01-02T03:04:05.678Z"), parcel.sent());
        assertEquals("{\"sku\":\"A\",\"weight\":1.50,\"more\":{\"x\":[0.10]},\"sent\":\"2026-01-02T03:04:05.678Z\"}",
                Json.of(parcel).text());
    }

    @Test
    void theDocumentOfARequestIsTakenAsItIsWritten() {
        String data = "{ \"a\" : 1.50, \"t\": \"\\u00e9 \\\"x\\\"\", \"n\":null, \"l\":[1E5 , {}] }";
        EntityCreateRequest request = Json.parse(
                "{\"dataFormat\":\"JSON\",\"payload\":{\"data\":" + data + ",\"model\":{\"name\":\"m\",\"version\":1}},\"later\":0}")
                .decode(EntityCreateRequest.class);
        assertEquals(data, request.payload().data().text());
        assertEquals(DataFormat.JSON, request.dataFormat());
        assertNull(request.chunkSize());
        assertEquals("{\"dataFormat\":\"JSON\",\"payload\":{\"data\":" + data + ",\"model\":{\"name\":\"m\",\"version\":1}}}",
                JsonText.write(request));
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "true", "\"a\\n\"", "12", "-1.50e3", "[]", "{}", "[1,\"x\"]"})
    void aValueOfAnyKindIsTakenAsItIsWritten(String text) {
        NewEntity read = Json.parse("{\"model\":{\"name\":\"m\",\"version\":1},\"data\":" + text + "}").decode(NewEntity.class);
        assertEquals(Json.parse(text), read.data());
        assertEquals("{\"data\":" + text + ",\"model\":{\"name\":\"m\",\"version\":1}}", JsonText.write(read));
    }

    @Test
    void aLargeDocumentIsTakenAsItIsWritten() {
        String data = "{\"text\":\"" + "é x".repeat(400_000) + "\",\"n\":1.50}";
        NewEntity read = Json.parse("{\"data\":" + data + ",\"model\":{\"name\":\"m\",\"version\":1}}").decode(NewEntity.class);
        assertEquals(data, read.data().text());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "{} {}", "nul", "[1,]", "01"})
    void whatIsNotJsonIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
    }

    record Measured(double value) {}

    static Stream<Object> notFinite() {
        return Stream.of(Double.NaN, Double.POSITIVE_INFINITY, Float.NaN, Float.NEGATIVE_INFINITY, new double[] {1, Double.NaN},
                new float[] {Float.POSITIVE_INFINITY}, List.of("N", Double.NaN), Map.of("\"", Double.NaN), new Measured(Double.NaN),
                JsonNodeFactory.instance.numberNode(Double.NaN), Json.parse("{}").objectNode().put("n", Double.NEGATIVE_INFINITY));
    }

    @ParameterizedTest
    @MethodSource("notFinite")
    void aNumberThatIsNotFiniteIsNoJson(Object value) {
        for (Executable encoding : List.<Executable>of(() -> Json.of(value), () -> Json.of(value, new ObjectMapper()),
                () -> JsonText.write(Map.of("n", value)))) {
            IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, encoding);
            assertTrue(String.valueOf(refused.getMessage()).contains("not finite"), refused.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\ud800b", "\ud800", "\udc00\ud800", "\\\ud83d", "\ud83d\ud83d\ude00", "\ude00"})
    void halfOfACharacterIsNoJson(String text) {
        for (Executable encoding : List.<Executable>of(() -> Json.of(text), () -> Json.of(Map.of(text, 1)),
                () -> Json.of(Map.of("s", text), new ObjectMapper()), () -> JsonText.write(Map.of("s", text)),
                () -> JsonText.write(Json.parse('"' + text.replace("\\", "") + '"')),
                () -> Json.of(text, JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build()),
                () -> Texts.checkWhole(text, "a text"))) {
            IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, encoding);
            assertTrue(String.valueOf(refused.getMessage()).contains("lone surrogate U+D"), refused.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"😀", "\\ud83d\\ude00", "\\\\ud800", "NaN \\\"Infinity", "é\\n\\\\", "\\u0041"})
    void aWholeCharacterIsJson(String escaped) {
        String text = "{\"N" + escaped + "\":[\"" + escaped + "\",1E5]}";
        assertEquals(text, JsonText.write(Json.parse(text)));
        assertEquals(Json.parse(text).node(), Json.of(Json.parse(text).node()).node());
    }

    @Test
    void aTextIsCutBetweenCharacters() {
        for (String text : List.of("é".repeat(20), "日".repeat(20), "😀".repeat(20))) {
            for (int size = 8; size < 24; size++) {
                String cut = Texts.bounded(text, size);
                assertTrue(cut.getBytes(StandardCharsets.UTF_8).length <= size && cut.endsWith("…"), cut);
                Texts.checkWhole(cut, "it");
            }
        }
        assertEquals("a\ufffdb\ufffd", Texts.bounded("a\ud800b\udc00", 20));
        assertEquals("short", Texts.bounded("short", 5));
    }

    /** What it has is not visible to Jackson. */
    static final class Hidden {
        private final BigDecimal total = BigDecimal.ONE;
    }

    static Stream<Object> formless() {
        return Stream.of(new Hidden(), new Object(), List.of(new Hidden()), CompletableFuture.completedFuture(Map.of("n", 1)),
                Map.of("n", CompletableFuture.completedFuture(3)), Map.of("n", new CompletableFuture<>().minimalCompletionStage()),
                Map.of("n", new FutureTask<>(() -> 3)));
    }

    @ParameterizedTest
    @MethodSource("formless")
    void whatWouldBeWrittenWithoutItsContentsIsNoJson(Object value) {
        assertThrows(IllegalArgumentException.class, () -> Json.of(value));
        assertThrows(IllegalArgumentException.class, () -> JsonText.object(value, "a document"));
        assertThrows(IllegalArgumentException.class, () -> JsonText.write(Map.of("data", value)));
    }

    @Test
    void aRequestMayHaveNoMembers() {
        assertEquals("{}", JsonText.write(new AccountGetRequest()));
        assertEquals("{}", Json.of(new AccountGetRequest()).text());
    }

    @Test
    void aTextIsNoDocument() {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> JsonText.object("{}", "a document"));
        assertTrue(refused.getMessage().contains("Json.parse"), refused.getMessage());
        ObjectNode tree = Json.parse("{\"a\":1}").objectNode();
        assertEquals("{\"a\":1}", JsonText.object(tree, "a document").text());
    }

    @Test
    void aBuilderNeedsWhatARequestNeeds() {
        NullPointerException missing = assertThrows(NullPointerException.class, () -> NewEntity.builder().data(Json.NULL).build());
        assertEquals("model", missing.getMessage());
        NewEntity made = NewEntity.builder().data(Json.NULL).model(new ModelSpec("m", 1)).build();
        assertEquals(made, made.toBuilder().build());
    }
}
