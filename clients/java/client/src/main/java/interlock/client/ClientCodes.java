package interlock.client;

import java.util.Map;

/** The codes of failures that the client finds itself. */
public final class ClientCodes {

    /**
     * There is no connection, or it ended before the answer arrived. The exception is retryable if the
     * request was certainly not sent.
     */
    public static final String CONNECTION_LOST = "CONNECTION_LOST";

    /** The client or the member was closed. */
    public static final String CLIENT_CLOSED = "CLIENT_CLOSED";

    /** The server would not accept a message of this size. */
    public static final String MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE";

    /** The program did not read a streamed answer for too long while others waited for the stream. */
    public static final String ANSWER_NOT_READ = "ANSWER_NOT_READ";

    /**
     * This client was set up wrongly, such as with an address at which there is no token endpoint. Trying again does
     * not help.
     */
    public static final String INVALID_OPTIONS = "INVALID_OPTIONS";

    /** A request cannot be made this way. */
    public static final String NOT_SUPPORTED = "NOT_SUPPORTED";

    /** The server is of a version that this client does not understand: use the client of that version. */
    public static final String SERVER_NOT_UNDERSTOOD = "SERVER_NOT_UNDERSTOOD";

    /** An answer that this client cannot read. */
    public static final String INVALID_ANSWER = "INVALID_ANSWER";

    /** What to do about each. */
    static final Map<String, String> REMEDIES = Map.of(
            CONNECTION_LOST, "there is no connection, or it ended before the answer; it is retryable if the request was"
                    + " certainly not sent",
            CLIENT_CLOSED, "the client or the member was closed; make another one",
            MESSAGE_TOO_LARGE, "the server would not accept a message of this size; send less",
            ANSWER_NOT_READ, "the program did not read a streamed answer within a transaction for too long while others"
                    + " waited for the stream; send no requests until it is read, or ask for less at once",
            INVALID_OPTIONS, "an address, a certificate, metadata or another setting of the client cannot be used;"
                    + " correct it",
            NOT_SUPPORTED, "a request cannot be made this way; use a client",
            SERVER_NOT_UNDERSTOOD, "the server is of a version that this client does not understand; use the client of"
                    + " that version",
            INVALID_ANSWER, "the answer cannot be read; check that the address is that of the gRPC port of a server");

    private ClientCodes() {}
}
