package interlock.generator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Everything that is generated from. */
record Protocol(List<Operation> operations, List<ErrorCode> errors, Map<String, Schema> files) {

    /** A request and what answers it. */
    record Operation(String request, List<String> answers, boolean isStreaming, boolean isEndless, String role) {

        String method() {
            String name = request.substring(0, request.length() - "Request".length());
            return Text.camel(name);
        }

        /** The type of an answer, or of one item of it. */
        String answer() {
            return answers.size() == 1 ? answers.get(0) : union();
        }

        String union() {
            return request.substring(0, request.length() - "Request".length()) + "Answer";
        }
    }

    /** A code of failed requests. */
    record ErrorCode(String code, String meaning, boolean isRetryable, int status) {}

    static Protocol read(Path folder) throws IOException {
        ObjectMapper json = new ObjectMapper();
        JsonNode index = json.readTree(folder.resolve("index.json").toFile());
        Map<String, Schema> files = new TreeMap<>();
        try (Stream<Path> paths = Files.list(folder)) {
            for (Path path : paths.toList()) {
                String name = path.getFileName().toString();
                if (name.endsWith(".json") && !name.equals("index.json")) {
                    JsonNode schema = json.readTree(path.toFile());
                    files.put(schema.path("title").asText(), new Schema(schema));
                }
            }
        }
        Protocol protocol = new Protocol(operations(index), errors(index), files);
        for (Operation operation : protocol.operations) {
            for (String name : operation.answers) {
                if (!files.containsKey(name) || !files.containsKey(operation.request)) {
                    throw new IOException("there is no schema of " + name + " or " + operation.request + " in " + folder);
                }
            }
        }
        return protocol;
    }

    private static List<Operation> operations(JsonNode index) {
        List<Operation> operations = new ArrayList<>();
        for (JsonNode one : index.path("operations")) {
            List<String> answers = new ArrayList<>();
            one.path("responses").forEach(answer -> answers.add(answer.asText()));
            operations.add(new Operation(one.path("request").asText(), answers, one.path("streaming").asBoolean(),
                    one.path("endless").asBoolean(), one.path("role").asText("")));
        }
        return operations;
    }

    private static List<ErrorCode> errors(JsonNode index) {
        List<ErrorCode> errors = new ArrayList<>();
        for (JsonNode one : index.path("errors")) {
            errors.add(new ErrorCode(one.path("code").asText(), one.path("meaning").asText(),
                    one.path("retryable").asBoolean(), one.path("status").asInt()));
        }
        return errors;
    }

    boolean isOperation(String title) {
        return operations.stream().anyMatch(operation -> operation.request.equals(title));
    }

    /** Whether clients send events of this type. */
    boolean isSent(String title) {
        JsonNode about = files.get(title).node().path("x-interlock");
        return !about.path("request").asText("").isEmpty() || about.path("sender").asText("").equals("client");
    }

    /** Whether events of this type answer requests of clients. */
    boolean isAnswer(String title) {
        return !files.get(title).node().path("x-interlock").path("answers").isEmpty();
    }

    static Map<String, Schema> definitions(Schema file) {
        Map<String, Schema> definitions = new TreeMap<>();
        file.node().path("$defs").properties().forEach(one -> definitions.put(one.getKey(), new Schema(one.getValue())));
        return definitions;
    }
}
