package interlock.generator;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Names and texts as Java has them. */
final class Text {

    private static final Set<String> RESERVED = Set.of(
            "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue",
            "default", "do", "double", "else", "enum", "extends", "final", "finally", "float", "for", "goto", "if",
            "implements", "import", "instanceof", "int", "interface", "long", "native", "new", "package", "private",
            "protected", "public", "return", "short", "static", "strictfp", "super", "switch", "synchronized", "this",
            "throw", "throws", "transient", "try", "void", "volatile", "while", "true", "false", "null",
            // Methods of every object, which a component of a record cannot be named like.
            "clone", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait");

    private static final Pattern CODE = Pattern.compile("`([^`]*)`");

    private Text() {}

    /** The first lines of every generated file. */
    static String header() {
        return "// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.\n";
    }

    /** The words of a name of the wire. */
    private static List<String> words(String wire) {
        List<String> words = new ArrayList<>();
        for (String part : wire.split("[^A-Za-z0-9]+")) {
            if (part.isEmpty()) {
                continue;
            }
            if (part.equals(part.toUpperCase(Locale.ROOT))) {
                words.add(part);
                continue;
            }
            words.addAll(List.of(part.split("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")));
        }
        return words;
    }

    /** A name as that of a type. */
    static String pascal(String wire) {
        return words(wire).stream()
                .map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1).toLowerCase(Locale.ROOT))
                .collect(Collectors.joining());
    }

    /** A name as that of a component or a method. */
    static String camel(String wire) {
        String pascal = pascal(wire);
        String camel = pascal.substring(0, 1).toLowerCase(Locale.ROOT) + pascal.substring(1);
        return RESERVED.contains(camel) ? camel + "Value" : camel;
    }

    /** A name as that of a constant. */
    static String constant(String wire) {
        String name = words(wire).stream().map(word -> word.toUpperCase(Locale.ROOT)).collect(Collectors.joining("_"));
        if (name.isEmpty()) {
            return "EMPTY";
        }
        return Character.isDigit(name.charAt(0)) ? "_" + name : name;
    }

    /** A string literal. */
    static String literal(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    /** A text of the protocol as a part of a comment. */
    static String prose(String text) {
        String escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
                .replace("*/", "*&#47;").replace("@", "&#64;");
        return CODE.matcher(escaped).replaceAll("<code>$1</code>");
    }

    /** A comment of one or more lines, or nothing for an empty text. */
    static String comment(String indent, String prose) {
        if (prose.isEmpty()) {
            return "";
        }
        String[] lines = prose.split("\n");
        if (lines.length == 1) {
            return indent + "/** " + lines[0] + " */\n";
        }
        StringBuilder out = new StringBuilder(indent).append("/**\n");
        for (String line : lines) {
            out.append(indent).append(line.isBlank() ? " *" : " * " + line.strip()).append('\n');
        }
        return out.append(indent).append(" */\n").toString();
    }

    /** Ends a text with a full stop. */
    static String sentence(String text) {
        String trimmed = text.strip();
        return trimmed.isEmpty() || trimmed.endsWith(".") ? trimmed : trimmed + ".";
    }

    /** Every line of a source, indented by four spaces. */
    static String indented(String source) {
        return source.lines().map(line -> line.isEmpty() ? line : "    " + line).collect(Collectors.joining("\n", "", "\n"));
    }
}
