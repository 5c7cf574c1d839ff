package interlock.generator;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Writes a record for every schema, one file for each that has a name of its own. */
final class Types {

    /** Names that a nested type must not have, because the types around it use them. */
    private static final Set<String> USED = Set.of(
            "Json", "Map", "List", "Instant", "BigDecimal", "String", "Object", "Record", "Override", "Long", "Integer",
            "Boolean", "Nullable", "Objects", "JsonProperty", "JsonValue", "JsonCreator", "Request", "Builder");

    private final Protocol protocol;
    private final Map<String, String> files = new TreeMap<>();
    /** The definitions that every file has, by the names that they get. */
    private final Map<String, Schema> named = new LinkedHashMap<>();
    private final Map<String, Map<String, String>> namesByFile = new HashMap<>();
    private final Set<String> topLevel = new HashSet<>();
    private final Set<String> sent = new TreeSet<>();

    Types(Protocol protocol) {
        this.protocol = protocol;
        nameDefinitions();
        findSent();
    }

    /** The sources by the names of their files. */
    Map<String, String> files() {
        Set<String> done = new HashSet<>();
        protocol.files().forEach((title, file) -> {
            Set<String> leftOut = new HashSet<>();
            if (protocol.isSent(title)) {
                leftOut.add("id"); // the client chooses it
            }
            if (protocol.isAnswer(title)) {
                leftOut.add("success"); // they become an exception
                leftOut.add("error");
            }
            Map<String, Schema> definitions = Protocol.definitions(file);
            Scope scope = new Scope(namesByFile.get(title), definitions, sent.contains(title));
            write(title, file, scope, leftOut);
            definitions.keySet().forEach(name -> {
                String chosen = namesByFile.get(title).get(name);
                if (done.add(chosen)) {
                    write(chosen, named.get(chosen),
                            new Scope(namesByFile.get(title), definitions, sent.contains(chosen)), Set.of());
                }
            });
        });
        return files;
    }

    /** The definitions of the file at hand, and whether the types are a part of what clients send. */
    private record Scope(Map<String, String> names, Map<String, Schema> definitions, boolean isSent) {}

    private void nameDefinitions() {
        protocol.files().forEach((title, file) -> {
            Map<String, String> names = new TreeMap<>();
            Protocol.definitions(file).forEach((name, definition) -> {
                String chosen = name;
                Schema known = named.get(name);
                if (known != null && !known.equals(definition) || protocol.files().containsKey(name)) {
                    chosen = title + name;
                }
                named.put(chosen, definition);
                names.put(name, chosen);
            });
            namesByFile.put(title, names);
        });
        topLevel.addAll(protocol.files().keySet());
        topLevel.addAll(named.keySet());
    }

    /** Finds the types that are a part of what clients send. */
    private void findSent() {
        protocol.files().forEach((title, file) -> {
            if (protocol.isSent(title)) {
                sent.add(title);
                Protocol.definitions(file).keySet().forEach(name -> sent.add(namesByFile.get(title).get(name)));
            }
        });
    }

    private void write(String name, Schema schema, Scope scope, Set<String> leftOut) {
        String source = declare(name, schema, scope, leftOut, new HashSet<>(Set.of(name)));
        if (source.isEmpty()) {
            return; // a plain value needs no type
        }
        StringBuilder out = new StringBuilder(Text.header()).append("package interlock.client.api;\n\n");
        TreeSet<String> imports = new TreeSet<>();
        addImport(imports, source, "@JsonProperty", "com.fasterxml.jackson.annotation.JsonProperty");
        addImport(imports, source, "@JsonValue", "com.fasterxml.jackson.annotation.JsonValue");
        addImport(imports, source, "@JsonCreator", "com.fasterxml.jackson.annotation.JsonCreator");
        addImport(imports, source, "Json ", "interlock.client.Json");
        addImport(imports, source, "Json>", "interlock.client.Json");
        addImport(imports, source, "implements Request", "interlock.client.Request");
        addImport(imports, source, "BigDecimal", "java.math.BigDecimal");
        addImport(imports, source, "Instant ", "java.time.Instant");
        addImport(imports, source, "Instant>", "java.time.Instant");
        addImport(imports, source, "List<", "java.util.List");
        addImport(imports, source, "Map<", "java.util.Map");
        addImport(imports, source, "Objects.", "java.util.Objects");
        addImport(imports, source, "@Nullable", "org.jspecify.annotations.Nullable");
        imports.forEach(one -> out.append("import ").append(one).append(";\n"));
        if (!imports.isEmpty()) {
            out.append('\n');
        }
        files.put(name + ".java", out.append(source).toString());
    }

    private static void addImport(Set<String> imports, String source, String use, String type) {
        if (Pattern.compile("(?<![A-Za-z])" + Pattern.quote(use)).matcher(source).find()) {
            imports.add(type);
        }
    }

    /** The source of a type, or nothing if a plain Java type has the values. */
    private String declare(String name, Schema schema, Scope scope, Set<String> leftOut, Set<String> enclosing) {
        Optional<Map<String, String>> texts = schema.texts();
        if (texts.isPresent()) {
            return Records.ofTexts(name, schema.description(), texts.get());
        }
        Schema object = schema.merged(scope.definitions).orElse(schema);
        if (object.properties().isEmpty() && !object.is("object")) {
            return "";
        }
        Map<String, Records.Component> components = new LinkedHashMap<>();
        StringBuilder nested = new StringBuilder();
        object.properties().forEach((member, property) -> {
            if (leftOut.contains(member)) {
                return;
            }
            Optional<Schema> inline = inline(property, scope);
            String inner = inline.isPresent() ? nestedName(name, member, enclosing) : "";
            String type = typeOf(inner, property, scope);
            components.put(member, new Records.Component(type, object.requires(member), property.description()));
            inline.ifPresent(one -> {
                Set<String> around = new HashSet<>(enclosing);
                around.add(inner);
                nested.append('\n').append(Text.indented(declare(inner, one, scope, Set.of(), around)));
                enclosing.add(inner);
            });
        });
        boolean isRequest = protocol.isOperation(name) && enclosing.contains(name) && protocol.files().get(name) == schema;
        return new Records(name, components, scope.isSent, isRequest, unionsOf(name))
                .source(schema.description(), nested.toString());
    }

    private String unionsOf(String name) {
        return protocol.operations().stream()
                .filter(operation -> operation.answers().size() > 1 && operation.answers().contains(name))
                .map(Protocol.Operation::union)
                .sorted()
                .reduce("", (left, right) -> left.isEmpty() ? right : left + ", " + right);
    }

    private String nestedName(String parent, String member, Set<String> enclosing) {
        String name = Text.pascal(member);
        boolean isTaken = topLevel.contains(name) || USED.contains(name) || enclosing.contains(name);
        return isTaken ? parent + name : name;
    }

    /** The schema for which a property needs a type of its own. */
    private Optional<Schema> inline(Schema schema, Scope scope) {
        if (schema.isAnything() || schema.reference().isPresent()) {
            return Optional.empty();
        }
        boolean isOwn = schema.texts().filter(texts -> texts.size() > 1).isPresent()
                || !schema.properties().isEmpty() || schema.merged(scope.definitions).isPresent();
        if (isOwn) {
            return Optional.of(schema);
        }
        if (schema.is("array")) {
            return inline(schema.items(), scope);
        }
        return schema.is("object") ? schema.additional().flatMap(one -> inline(one, scope)) : Optional.empty();
    }

    /** The Java type of a value; {@code name} is that of its type, if it needs one. */
    private String typeOf(String name, Schema schema, Scope scope) {
        if (schema.isAnything()) {
            return "Json";
        }
        if (schema.reference().isPresent()) {
            return reference(schema.reference().get(), scope);
        }
        if (inline(schema, scope).filter(one -> one == schema).isPresent()) {
            return name;
        }
        if (schema.alternatives().size() == 1 && schema.alternatives().get(0).reference().isPresent()) {
            return reference(schema.alternatives().get(0).reference().get(), scope);
        }
        return switch (schema.type().orElse("")) {
            case "string" -> schema.format().equals("date-time") ? "Instant" : "String";
            case "boolean" -> "boolean";
            case "number" -> "BigDecimal";
            case "integer" -> schema.format().equals("int32") ? "int" : "long";
            case "array" -> "List<" + boxed(typeOf(name, schema.items(), scope)) + ">";
            case "object" -> schema.additional()
                    .map(one -> "Map<String, " + boxed(typeOf(name, one, scope)) + ">")
                    .orElse("Json");
            default -> "Json";
        };
    }

    private String reference(String definition, Scope scope) {
        String name = scope.names.get(definition);
        Schema schema = scope.definitions.get(definition);
        boolean isPlain = schema.texts().isEmpty() && schema.properties().isEmpty()
                && schema.merged(scope.definitions).isEmpty() && !schema.is("object");
        return isPlain ? typeOf(name, schema, scope) : name;
    }

    static String boxed(String type) {
        return switch (type) {
            case "boolean" -> "Boolean";
            case "int" -> "Integer";
            case "long" -> "Long";
            default -> type;
        };
    }
}
