package interlock.generator;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Writes one record. */
record Records(
        String name, Map<String, Component> components, boolean isSent, boolean isRequest, String unions) {

    /** A component of a record; members of the wire are the keys. */
    record Component(String type, boolean isRequired, String description) {

        /** The type that a component has. */
        String declared() {
            if (isRequired) {
                return type;
            }
            return "@Nullable " + Types.boxed(type);
        }
    }

    /** A record for a text with known values; a server may send others. */
    static String ofTexts(String name, String description, Map<String, String> texts) {
        StringBuilder out = new StringBuilder(Text.comment("", comment(description,
                "A text with the values below; a newer server may have others.")));
        out.append("public record ").append(name).append("(@JsonValue String value) {\n");
        Set<String> written = new HashSet<>();
        texts.forEach((text, meaning) -> {
            String constant = Text.constant(text);
            if (written.add(constant)) {
                out.append('\n').append(Text.comment("    ", Text.sentence(Text.prose(meaning))));
                out.append("    public static final ").append(name).append(' ').append(constant).append(" = new ")
                        .append(name).append('(').append(Text.literal(text)).append(");\n");
            }
        });
        return out.append("""

                    /** Also for a value that this client does not know. */
                    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
                    public %s {
                        Objects.requireNonNull(value, "value");
                    }

                    @Override
                    public String toString() {
                        return value;
                    }
                }
                """.formatted(name)).toString();
    }

    private static String comment(String description, String otherwise) {
        String text = Text.sentence(Text.prose(description));
        return text.isEmpty() ? otherwise : text;
    }

    String source(String description, String nested) {
        StringBuilder out = new StringBuilder(Text.comment("", typeComment(description)));
        out.append("public record ").append(name).append('(').append(componentList()).append(')').append(implemented());
        StringBuilder body = new StringBuilder(nested);
        if (isRequest) {
            body.append("""

                        @Override
                        public String eventType() {
                            return "%s";
                        }
                    """.formatted(name));
        }
        if (hasBuilder()) {
            body.append(builder());
        }
        if (body.isEmpty()) {
            return out.append(" {}\n").toString();
        }
        return out.append(" {\n").append(body).append("}\n").toString();
    }

    private String typeComment(String description) {
        StringBuilder text = new StringBuilder(comment(description, isRequest ? "The payload of this request." : ""));
        String parameters = components.entrySet().stream()
                .filter(one -> !one.getValue().description.isEmpty())
                .map(one -> "@param " + Text.camel(one.getKey()) + " "
                        + Text.prose(one.getValue().description.strip()).replace("\n", "\n    "))
                .collect(Collectors.joining("\n"));
        if (!parameters.isEmpty()) {
            text.append(text.isEmpty() ? "" : "\n\n").append(parameters);
        }
        return text.toString();
    }

    private String componentList() {
        if (components.isEmpty()) {
            return "";
        }
        return components.entrySet().stream()
                .map(one -> "\n        " + named(one.getKey()) + one.getValue().declared() + " " + Text.camel(one.getKey()))
                .collect(Collectors.joining(","));
    }

    private static String named(String member) {
        return Text.camel(member).equals(member) ? "" : "@JsonProperty(" + Text.literal(member) + ") ";
    }

    private String implemented() {
        String all = isRequest ? "Request" : "";
        if (!unions.isEmpty()) {
            all = all.isEmpty() ? unions : all + ", " + unions;
        }
        return all.isEmpty() ? "" : " implements " + all;
    }

    private boolean hasBuilder() {
        return isSent && !components.isEmpty();
    }

    private String builder() {
        StringBuilder out = new StringBuilder("""

                    /** Begins with nothing set. */
                    public static Builder builder() {
                        return new Builder();
                    }

                    /** Begins with what this has. */
                    public Builder toBuilder() {
                        Builder builder = new Builder();
                """);
        components.keySet().forEach(member -> {
            String field = Text.camel(member);
            out.append("        builder.").append(field).append(" = ").append(field).append(";\n");
        });
        out.append("        return builder;\n    }\n\n    /** Sets one member after the other. */\n")
                .append("    public static final class Builder {\n\n");
        components.forEach((member, component) -> out.append("        private @Nullable ")
                .append(Types.boxed(component.type)).append(' ').append(Text.camel(member)).append(";\n"));
        out.append("\n        private Builder() {}\n");
        components.forEach((member, component) -> out.append(setter(Text.camel(member), component)));
        out.append("\n        /** Makes it. */\n        public ").append(name).append(" build() {\n            return new ")
                .append(name).append('(');
        out.append(components.entrySet().stream().map(one -> {
            String field = Text.camel(one.getKey());
            return one.getValue().isRequired ? "\n                    Objects.requireNonNull(" + field + ", \"" + field + "\")"
                    : "\n                    " + field;
        }).collect(Collectors.joining(",")));
        return out.append(");\n        }\n    }\n").toString();
    }

    private static String setter(String field, Component component) {
        String comment = Text.comment("        ", Text.sentence(Text.prose(component.description)));
        return "\n" + comment + """
                        public Builder %s(%s %s) {
                            this.%s = %s;
                            return this;
                        }
                """.formatted(field, component.type, field, field, field);
    }
}
