package interlock.client;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import interlock.client.api.ErrorCodes;
import io.grpc.Status;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What is known about a failed request. */
record Failure(
        String code, String reason, boolean isRetryable, Map<String, Json> properties, List<String> warnings) {

    private static final Pattern CODE = Pattern.compile("[A-Z0-9_]+");

    Failure(String code, String reason, boolean isRetryable) {
        this(code, reason, isRetryable, Map.of(), List.of());
    }

    /** Makes the exception of the code. */
    InterlockException exception() {
        return switch (code) {
            case "CONFLICT", "ENTITY_MODIFIED" -> new ConflictException(this);
            case "MODEL_NOT_LOCKED", "MODEL_ALREADY_LOCKED", "MODEL_ALREADY_UNLOCKED", "MODEL_HAS_ENTITIES" ->
                new ModelStateException(this);
            case "WORKFLOW_FAILED" -> new WorkflowFailedException(this);
            case "NO_COMPUTE_MEMBER_FOR_TAG", "COMPUTE_MEMBER_DISCONNECTED", "DISPATCH_TIMEOUT",
                    "DISPATCH_FORWARD_FAILED" ->
                new ComputeUnavailableException(this);
            case "UNAUTHORIZED", "FORBIDDEN" -> new AccessException(this);
            case "CANCELLED" -> new CancelledException(this);
            case "TOO_MANY_REQUESTS", "TENANT_LIMIT_EXCEEDED" -> new LimitException(this);
            case ClientCodes.CONNECTION_LOST -> new ConnectionLostException(this);
            case ClientCodes.CLIENT_CLOSED -> new ClientClosedException(this);
            case ClientCodes.MESSAGE_TOO_LARGE -> new InvalidRequestException(this);
            // Its status is that of what does not exist.
            case "FEATURE_DISABLED" -> new InterlockException(this);
            default -> byStatus();
        };
    }

    private InterlockException byStatus() {
        return switch (ErrorCodes.status(code)) {
            case 400, 413, 415, 422, 428 -> new InvalidRequestException(this);
            // Codes of newer servers, too.
            default -> code.endsWith("NOT_FOUND") ? new NotFoundException(this) : new InterlockException(this);
        };
    }

    static InterlockException connectionLost(String reason) {
        return new Failure(ClientCodes.CONNECTION_LOST, reason, false).exception();
    }

    static InterlockException closed() {
        return new Failure(ClientCodes.CLIENT_CLOSED, "the client was closed", false).exception();
    }

    static InterlockException cancelled(String reason) {
        return new Failure(ErrorCodes.CANCELLED, reason, false).exception();
    }

    /**
     * What the end of a call that the server had accepted means for what was asked on it. If the server has revoked
     * the token of the call, that says nothing about the next one, for which there may be another.
     */
    static InterlockException asLost(InterlockException failure) {
        return failure.code().equals(ErrorCodes.UNAUTHORIZED) ? connectionLost(failure.reason()) : failure;
    }

    /** Marks the failure of a request that was certainly not sent. */
    static InterlockException asUnsent(InterlockException failure) {
        if (!failure.code().equals(ClientCodes.CONNECTION_LOST) || failure.isRetryable()) {
            return failure;
        }
        return new Failure(ClientCodes.CONNECTION_LOST, failure.reason() + "; the request was not sent", true).exception();
    }

    /** What the end of a gRPC call means. */
    static InterlockException of(Status ended) {
        String text = ended.getDescription() == null ? "" : ended.getDescription();
        return switch (ended.getCode()) {
            // Trying again does not change these.
            case UNAUTHENTICATED -> new Failure(ErrorCodes.UNAUTHORIZED, text, false).exception();
            case PERMISSION_DENIED -> new Failure(ErrorCodes.FORBIDDEN, text, false).exception();
            case INVALID_ARGUMENT -> new Failure(ErrorCodes.BAD_REQUEST, text, false).exception();
            case UNIMPLEMENTED -> new Failure("NOT_IMPLEMENTED", text, false).exception();
            case OK -> connectionLost("the stream was closed");
            default -> connectionLost(ended.getCode() + (text.isEmpty() ? "" : ": " + text));
        };
    }

    /**
     * What the end of a call with a streamed answer means. If that has failed on the way, the status has the failure as
     * its text.
     */
    static InterlockException ofAnswer(Status ended) {
        String text = ended.getDescription() == null ? "" : ended.getDescription();
        int colon = Math.max(0, text.indexOf(':'));
        String code = text.substring(0, colon);
        Boolean isRetryable = ErrorCodes.isRetryable(code);
        return isRetryable == null ? of(ended) : new Failure(code, text.substring(colon + 1).strip(), isRetryable).exception();
    }

    /** Fails if an answer reports a failure. */
    static void check(String answer) {
        InterlockException failure = in(answer);
        if (failure != null) {
            throw failure;
        }
    }

    /** The failure that an answer reports, if it does. */
    static @Nullable InterlockException in(String answer) {
        return isFailed(answer) ? read(answer) : null;
    }

    /** Looks no further than at the member that decides it. */
    private static boolean isFailed(String answer) {
        try (JsonParser parser = JsonText.parser(answer)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw invalid(answer, null);
            }
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                JsonToken value = parser.nextToken();
                if (name.equals("success")) {
                    return value == JsonToken.VALUE_FALSE;
                }
                parser.skipChildren();
            }
            return false;
        } catch (IOException e) {
            throw invalid(answer, e);
        }
    }

    private static InterlockException invalid(String answer, @Nullable Throwable cause) {
        InterlockException invalid = new Failure(ClientCodes.INVALID_ANSWER,
                "the server sent what is not an answer: " + JsonText.shortened(answer), false).exception();
        if (cause != null) {
            invalid.initCause(cause);
        }
        return invalid;
    }

    private record Outcome(@Nullable Reported error, @Nullable List<String> warnings) {}

    private record Reported(
            @Nullable String code, @Nullable String message, boolean retryable, @Nullable Map<String, Json> properties) {}

    private static InterlockException read(String answer) {
        Outcome outcome = JsonText.read(answer, Outcome.class);
        List<String> warnings = outcome.warnings == null ? List.of() : outcome.warnings;
        Reported error = outcome.error;
        if (error == null || error.message == null) {
            return new Failure(ErrorCodes.SERVER_ERROR, "the server gave no reason", false, Map.of(), warnings).exception();
        }
        String code = error.code == null ? ErrorCodes.SERVER_ERROR : error.code;
        String reason = error.message;
        int colon = reason.indexOf(':');
        if (colon > 0 && CODE.matcher(reason.substring(0, colon)).matches()) {
            code = reason.substring(0, colon);
            reason = reason.substring(colon + 1).strip();
        }
        Map<String, Json> properties = error.properties == null ? Map.of() : error.properties;
        return new Failure(code, reason, error.retryable, properties, warnings).exception();
    }
}
