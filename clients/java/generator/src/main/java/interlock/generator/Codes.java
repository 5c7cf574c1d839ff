package interlock.generator;

import java.util.Locale;

/** Writes the error codes. */
final class Codes {

    private Codes() {}

    static String source(Protocol protocol) {
        StringBuilder out = new StringBuilder(Text.header()).append("""
                package interlock.client.api;

                import java.util.HashMap;
                import java.util.Map;
                import org.jspecify.annotations.Nullable;

                /** The codes of failed requests. A newer server may have others. */
                public final class ErrorCodes {
                """);
        StringBuilder known = new StringBuilder();
        for (Protocol.ErrorCode code : protocol.errors()) {
            out.append('\n').append(Text.comment("    ", Text.sentence(capitalized(Text.prose(code.meaning())))));
            out.append("    public static final String ").append(code.code()).append(" = \"").append(code.code()).append("\";\n");
            known.append("        KNOWN.put(").append(code.code()).append(", new About(")
                    .append(Text.literal(code.meaning())).append(", ").append(code.status()).append(", ")
                    .append(code.isRetryable()).append("));\n");
        }
        return out.append("""

                    private static final Map<String, About> KNOWN = new HashMap<>();

                    static {
                %s    }

                    private ErrorCodes() {}

                    /** What the code means and what to do about it; empty for an unknown one. */
                    public static String meaning(String code) {
                        About about = KNOWN.get(code);
                        return about == null ? "" : about.meaning;
                    }

                    /** The HTTP status that belongs to the code; 0 for an unknown one. */
                    public static int status(String code) {
                        About about = KNOWN.get(code);
                        return about == null ? 0 : about.status;
                    }

                    /** Whether requests that failed with this code may succeed later; null for an unknown one. */
                    public static @Nullable Boolean isRetryable(String code) {
                        About about = KNOWN.get(code);
                        return about == null ? null : about.isRetryable;
                    }

                    private record About(String meaning, int status, boolean isRetryable) {}
                }
                """.formatted(known)).toString();
    }

    private static String capitalized(String text) {
        return text.isEmpty() ? text : text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }
}
