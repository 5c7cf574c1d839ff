package interlock.client;

import io.grpc.Metadata;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The version of this client, and of the servers that it understands. */
final class Version {

    static final String CLIENT = "0.1.0";

    /** Names the version of the server in the headers of a stream. */
    private static final Metadata.Key<String> HEADER =
            Metadata.Key.of("interlock-version", Metadata.ASCII_STRING_MARSHALLER);
    private static final Pattern NUMBERS = Pattern.compile("(\\d+)(?:\\.(\\d+))?.*");

    private Version() {}

    /** Refuses a server of a version that this client does not understand; one that does not say it is accepted. */
    static void check(Metadata headers) {
        String server = headers.get(HEADER);
        if (server != null && !server.isEmpty() && !understood(server).equals(understood(CLIENT))) {
            throw new Failure(ClientCodes.SERVER_NOT_UNDERSTOOD,
                    "the server is of version " + server + "; this client understands " + understood(CLIENT), false).exception();
        }
    }

    /**
     * The part of a version in which a client and its server must agree: the major version, and while it
     * is 0 the minor one, too.
     */
    static String understood(String version) {
        Matcher numbers = NUMBERS.matcher(version);
        if (!numbers.matches()) {
            return version;
        }
        if (!numbers.group(1).equals("0")) {
            return numbers.group(1);
        }
        return "0." + (numbers.group(2) == null ? "0" : numbers.group(2));
    }
}
