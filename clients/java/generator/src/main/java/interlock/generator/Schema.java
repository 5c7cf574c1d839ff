package interlock.generator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The part of JSON Schema that the schemas of the server use. */
record Schema(JsonNode node) {

    String description() {
        return node.path("description").asText("");
    }

    /** The schemas true and nothing at all. */
    boolean isAnything() {
        return node.isMissingNode() || node.isBoolean();
    }

    Optional<String> reference() {
        String reference = node.path("$ref").asText("");
        return reference.isEmpty() ? Optional.empty() : Optional.of(reference.substring(reference.lastIndexOf('/') + 1));
    }

    /** The JSON type, without null; empty if there is none or are several. */
    Optional<String> type() {
        JsonNode type = node.path("type");
        if (type.isTextual()) {
            return Optional.of(type.asText());
        }
        List<String> several = new ArrayList<>();
        type.forEach(one -> {
            if (!one.asText().equals("null")) {
                several.add(one.asText());
            }
        });
        return several.size() == 1 ? Optional.of(several.get(0)) : Optional.empty();
    }

    boolean is(String type) {
        return type().filter(type::equals).isPresent();
    }

    String format() {
        return node.path("format").asText("");
    }

    Map<String, Schema> properties() {
        Map<String, Schema> properties = new TreeMap<>();
        node.path("properties").properties().forEach(one -> properties.put(one.getKey(), new Schema(one.getValue())));
        return properties;
    }

    boolean requires(String member) {
        for (JsonNode one : node.path("required")) {
            if (one.asText().equals(member)) {
                return true;
            }
        }
        return false;
    }

    Schema items() {
        return new Schema(node.path("items"));
    }

    Optional<Schema> additional() {
        JsonNode additional = node.path("additionalProperties");
        return additional.isMissingNode() ? Optional.empty() : Optional.of(new Schema(additional));
    }

    /** Those of anyOf and oneOf, without null. */
    List<Schema> alternatives() {
        List<Schema> found = new ArrayList<>();
        for (String name : List.of("anyOf", "oneOf")) {
            node.path(name).forEach(one -> {
                Schema alternative = new Schema(one);
                if (!one.path("type").asText("").equals("null")) {
                    found.add(alternative);
                }
            });
        }
        return found;
    }

    /** The values of a schema that lists texts, with what they mean; else nothing. */
    Optional<Map<String, String>> texts() {
        Map<String, String> found = new LinkedHashMap<>();
        for (JsonNode one : node.path("enum")) {
            if (one.isNull()) {
                continue;
            }
            if (!one.isTextual()) {
                return Optional.empty();
            }
            found.put(one.asText(), "");
        }
        JsonNode constant = node.path("const");
        if (constant.isTextual()) {
            found.put(constant.asText(), description());
        }
        for (Schema alternative : alternatives()) {
            Optional<Map<String, String>> texts = alternative.texts();
            if (texts.isEmpty()) {
                return Optional.empty();
            }
            texts.get().forEach(found::putIfAbsent);
        }
        return found.isEmpty() ? Optional.empty() : Optional.of(found);
    }

    /**
     * An object with the members of all alternatives, if each is an object. What is not the same in
     * all of them is optional.
     */
    Optional<Schema> merged(Map<String, Schema> definitions) {
        List<Schema> alternatives = alternatives();
        if (alternatives.size() < 2) {
            return Optional.empty();
        }
        ObjectNode properties = JsonNodeFactory.instance.objectNode();
        Set<String> required = null;
        for (Schema alternative : alternatives) {
            Schema one = alternative.reference().map(definitions::get).orElse(alternative);
            Map<String, Schema> members = one.properties();
            if (members.isEmpty()) {
                return Optional.empty();
            }
            Set<String> its = new TreeSet<>();
            members.forEach((name, property) -> {
                JsonNode known = properties.get(name);
                properties.set(name, known == null ? property.node : combined(known, property.node));
                if (one.requires(name)) {
                    its.add(name);
                }
            });
            if (required == null) {
                required = its;
            } else {
                required.retainAll(its);
            }
        }
        ObjectNode made = JsonNodeFactory.instance.objectNode();
        made.put("description", description()).put("type", "object");
        made.set("properties", properties);
        required.forEach(made.withArray("required")::add);
        return Optional.of(new Schema(made));
    }

    /** The schema of a member that two alternatives have. */
    private static JsonNode combined(JsonNode known, JsonNode another) {
        if (known.equals(another)) {
            return known;
        }
        Optional<Map<String, String>> one = new Schema(known).texts();
        Optional<Map<String, String>> other = new Schema(another).texts();
        if (one.isPresent() && other.isPresent()) {
            Set<String> values = new LinkedHashSet<>(one.get().keySet());
            values.addAll(other.get().keySet());
            ObjectNode made = JsonNodeFactory.instance.objectNode();
            made.put("description", known.path("description").asText("")).put("type", "string");
            values.forEach(made.withArray("enum")::add);
            return made;
        }
        JsonNode plain = withoutDescription(known);
        return plain.equals(withoutDescription(another)) ? plain : JsonNodeFactory.instance.booleanNode(true);
    }

    private static JsonNode withoutDescription(JsonNode node) {
        JsonNode copy = node.deepCopy();
        if (copy instanceof ObjectNode object) {
            object.remove("description");
        }
        return copy;
    }
}
