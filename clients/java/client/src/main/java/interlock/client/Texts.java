package interlock.client;

import java.nio.charset.StandardCharsets;

/**
 * Texts as the wire can carry them.
 *
 * <p>What a handler says may be of any size, such as the output of a program that failed. It is cut, because the
 * server ends the whole stream, with all other calls, for a message that is too large.
 */
final class Texts {

    static final int FAILURE_BYTES_MAX = 64 << 10;
    static final int WARNINGS_MAX = 1000;
    static final int WARNING_BYTES_MAX = 4 << 10;

    private static final String MORE = "…";
    private static final int MORE_BYTES = MORE.getBytes(StandardCharsets.UTF_8).length;
    private static final char REPLACEMENT = '\uFFFD';

    private Texts() {}

    /**
     * A text that has no more bytes in UTF-8 than that. It ends between two characters, and has U+FFFD for every half
     * of one: a surrogate without the other.
     */
    static String bounded(String text, int bytesMax) {
        StringBuilder whole = new StringBuilder(Math.min(text.length(), bytesMax));
        int bytes = 0;
        int cut = 0; // where there is still room for the sign that there was more
        int size;
        for (int at = 0; at < text.length(); at += size) {
            int character = text.codePointAt(at);
            size = Character.charCount(character);
            if (isSurrogate(character)) {
                character = REPLACEMENT;
            }
            bytes += bytesOf(character);
            if (bytes > bytesMax) {
                return whole.substring(0, cut) + MORE;
            }
            whole.appendCodePoint(character);
            if (bytes <= bytesMax - MORE_BYTES) {
                cut = whole.length();
            }
        }
        return whole.toString();
    }

    private static int bytesOf(int character) {
        if (character < 0x80) {
            return 1;
        }
        return character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    }

    private static boolean isSurrogate(int character) {
        return character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE;
    }

    /** Fails if a text has half of a character: UTF-8 has no bytes for it, and it would become another text. */
    static void checkWhole(String text, String what) {
        int size;
        for (int at = 0; at < text.length(); at += size) {
            int character = text.codePointAt(at);
            size = Character.charCount(character);
            if (isSurrogate(character)) {
                throw halved(what, character);
            }
        }
    }

    private static IllegalArgumentException halved(String what, int surrogate) {
        return new IllegalArgumentException("%s has half of a character, the lone surrogate U+%04X, which UTF-8 cannot express"
                .formatted(what, surrogate));
    }

    /**
     * Fails if a JSON text has what other programs would not read: a number that is none, such as NaN, or half of a
     * character, as it is or escaped.
     */
    static void checkJson(String json) {
        boolean isInside = false; // of a text
        int at = 0;
        while (at < json.length()) {
            char next = json.charAt(at);
            if (next == '"') {
                isInside = !isInside;
            } else if (!isInside && (next == 'N' || next == 'I')) {
                // Outside of texts, JSON has no capital letters but the E of a number.
                throw new IllegalArgumentException("JSON has no numbers that are not finite (NaN, Infinity)");
            } else if (isInside && (next == '\\' || Character.isSurrogate(next))) {
                at = afterCharacter(json, at);
                continue;
            }
            at++;
        }
    }

    /** Where the character ends that is escaped, or has two parts. */
    private static int afterCharacter(String json, int start) {
        boolean isEscaped = json.charAt(start) == '\\';
        if (isEscaped && !isUnicodeEscape(json, start)) {
            return start + 2;
        }
        int width = isEscaped ? "\\uXXXX".length() : 1;
        char first = unit(json, start, isEscaped);
        if (!Character.isSurrogate(first)) {
            return start + width;
        }
        int second = start + width;
        boolean isWhole = Character.isHighSurrogate(first) && second < json.length()
                && isUnicodeEscape(json, second) == isEscaped
                && Character.isLowSurrogate(unit(json, second, isEscaped));
        if (!isWhole) {
            throw halved("a text in it", first);
        }
        return second + width;
    }

    private static boolean isUnicodeEscape(String json, int at) {
        return json.startsWith("\\u", at) && at + 6 <= json.length();
    }

    private static char unit(String json, int at, boolean isEscaped) {
        return isEscaped ? (char) Integer.parseInt(json, at + 2, at + 6, 16) : json.charAt(at);
    }
}
