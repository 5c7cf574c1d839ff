package interlock.client;

import interlock.client.api.TaskCalculationRequest;
import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A call or a task that the server has sent, and its answer. */
final class Work {

    private static final Pattern REQUEST_ID = Pattern.compile("\"requestId\"\\s*:\\s*\"([^\"\\\\]+)\"");

    final EventStream stream;
    final CloudEvent event;
    final Kind kind;
    final String requestId;
    final WorkContext context;
    /** The entity of a call, if it is attached. */
    final @Nullable Entity entity;
    /** The transaction that a call is a part of. */
    final @Nullable String transactionId;
    /** It was caused by one that runs, in the same transaction; guarded by the member. */
    boolean isNested;
    /** It is counted among what runs in its transaction; guarded by the member. */
    boolean isCounted;
    /** It has no place any more; guarded by the member. */
    boolean isFinished;
    /** A saga calls a connector: how that has ended matters also if it was cancelled. */
    final boolean isConnectorCall;
    /** The server has cancelled it. */
    volatile boolean isCancelled;
    /** Completes when the server gives the call up; null if it did not say when. */
    final @Nullable CompletableFuture<Void> timeUp;

    private final @Nullable Long ends;

    // Guarded by this.
    private @Nullable Thread thread;
    private @Nullable CompletableFuture<?> later;

    private Work(EventStream stream, CloudEvent event, Kind kind, String requestId, WorkContext context,
            @Nullable Entity entity, @Nullable String transactionId) {
        this.stream = stream;
        this.event = event;
        this.kind = kind;
        this.requestId = requestId;
        this.context = context;
        this.entity = entity;
        this.transactionId = transactionId;
        this.isConnectorCall = context instanceof TaskContext task && task.isConnectorCall();
        Duration limit = context instanceof CallContext call ? call.timeLimit() : null;
        this.timeUp = limit == null ? null
                : new CompletableFuture<Void>().completeOnTimeout(null, limit.toMillis(), TimeUnit.MILLISECONDS);
        this.ends = limit == null ? null : System.nanoTime() + limit.toNanos();
    }

    static Work call(EventStream stream, CloudEvent event, Kind kind, Executor executor) {
        Calculation read = JsonText.read(Envelope.data(event), Calculation.class);
        CallContext context = new CallContext(stream, event, read, executor);
        return new Work(stream, event, kind, read.requestId(), context, read.entity(), context.transactionId());
    }

    static Work task(EventStream stream, CloudEvent event, Executor executor) {
        TaskCalculationRequest read = JsonText.read(Envelope.data(event), TaskCalculationRequest.class);
        return new Work(stream, event, Kind.ACTION, read.requestId(), new TaskContext(stream, event, read, executor),
                null, null);
    }

    /**
     * The answer to a call that cannot be read; null if not even its id is known. Another member may be able to read
     * it.
     */
    static @Nullable CloudEvent refusal(CloudEvent event, RuntimeException unread) {
        Matcher id = REQUEST_ID.matcher(Envelope.data(event));
        for (Kind kind : Kind.values()) {
            if (kind.requestType().equals(event.getType()) && id.find()) {
                String message = "this member cannot read the call: " + unread.getMessage();
                Map<String, Object> error = new LinkedHashMap<>();
                error.put("message", Texts.bounded(message, Texts.FAILURE_BYTES_MAX));
                error.put("retryable", true);
                Map<String, Object> payload = new LinkedHashMap<>();
                payload.put("requestId", id.group(1));
                payload.put("success", false);
                payload.put("error", error);
                return Envelope.of(kind.responseType(), payload).build();
            }
        }
        return null;
    }

    CallContext call() {
        return (CallContext) context;
    }

    TaskContext task() {
        return (TaskContext) context;
    }

    /** Begins on this thread; false if the work was given up. */
    synchronized boolean begin() {
        if (context.isCancelled() || ends != null && System.nanoTime() - ends >= 0) {
            return false;
        }
        thread = Thread.currentThread();
        return true;
    }

    /** The handler has returned, so this thread is interrupted no more. */
    synchronized void leaveThread() {
        thread = null;
        Thread.interrupted();
    }

    /** The result comes later. */
    synchronized void await(CompletableFuture<?> result) {
        later = result;
        if (context.isCancelled()) {
            result.cancel(true);
        }
    }

    /** Interrupts the handler. */
    void giveUp() {
        CompletableFuture<?> awaited;
        synchronized (this) {
            context.setCancelled();
            if (thread != null) {
                thread.interrupt();
            }
            awaited = later;
        }
        if (awaited != null) {
            awaited.cancel(true);
        }
    }

    /** The answer with what a handler returned. */
    CloudEvent done(@Nullable Object result) {
        Map<String, Object> payload = begun(true);
        if (kind == Kind.ACTION) {
            putOutcome(payload, result);
        } else if (kind == Kind.CRITERION) {
            Verdict verdict = expected(Verdict.class, result);
            payload.put("matches", verdict.holds());
            if (verdict.reason() != null && !verdict.holds()) {
                payload.put("reason", verdict.reason());
            }
        } else if (kind == Kind.SCHEDULE) {
            payload.put("resultKind", "Schedule");
            payload.put("result", expected(Timing.class, result).members());
        } else if (result instanceof Verdict || result instanceof Timing || result instanceof Outcome
                || result instanceof Pending) { // they have a JSON form, too
            throw new IllegalStateException(
                    "a processor has to return a document or null, not a " + result.getClass().getSimpleName());
        } else {
            Json document = JsonText.objectOrNull(result, "the result of a processor");
            if (document != null) {
                payload.put("payload", Map.of("type", "JSON", "data", document));
            }
        }
        return answer(payload);
    }

    private <T> T expected(Class<T> type, @Nullable Object result) {
        if (result == null) {
            throw new IllegalStateException("a " + kind + " has to return a " + type.getSimpleName() + ", not null");
        }
        return type.cast(result);
    }

    private static void putOutcome(Map<String, Object> payload, @Nullable Object result) {
        String name = "success";
        Object output = result;
        if (result instanceof Outcome outcome) {
            name = outcome.name();
            output = outcome.output();
        } else if (result instanceof Pending pending) {
            name = "pending";
            output = pending.output();
        }
        payload.put("outcome", name);
        payload.put("output", output == null ? Map.of() : Json.of(output));
    }

    /** The answer that it failed. One with warnings may be too large to be sent. */
    CloudEvent failed(Throwable failure, boolean hasWarnings) {
        String message = textOf(failure);
        Map<String, Object> error = new LinkedHashMap<>();
        if (failure instanceof StoppingException) {
            error.put("code", StoppingException.CODE);
        } else if (kind != Kind.ACTION) {
            error.put("code", "CLIENT_ERROR");
        } else if (failure instanceof RejectedException rejected && rejected.code() != null) {
            error.put("code", Texts.bounded(rejected.code(), Texts.FAILURE_BYTES_MAX));
        } else if (failure instanceof InterlockException refused) {
            error.put("code", refused.code());
        }
        error.put("message", Texts.bounded(message, Texts.FAILURE_BYTES_MAX));
        if (failure instanceof RetryableException || failure instanceof InterlockException known && known.isRetryable()) {
            error.put("retryable", true);
        }
        Map<String, Object> payload = begun(false);
        payload.put("error", error);
        if (!hasWarnings) {
            payload.remove("warnings");
        }
        return answer(payload);
    }

    /** The text of a failure; the name of its class if it has none to give. */
    static String textOf(Throwable failure) {
        try {
            boolean isExpected = failure instanceof RejectedException || failure instanceof InterlockException;
            String message = isExpected ? failure.getMessage() : null;
            String text = message == null ? failure.toString() : message;
            return text == null ? failure.getClass().getName() : text;
        } catch (RuntimeException | Error e) { // they are methods of the program
            return failure.getClass().getName();
        }
    }

    private Map<String, Object> begun(boolean isSuccess) {
        Map<String, Object> payload = new LinkedHashMap<>();
        payload.put("requestId", requestId);
        if (kind != Kind.ACTION) {
            payload.put("entityId", call().entityId());
        }
        payload.put("success", isSuccess);
        List<String> warnings = context.warnings();
        if (!warnings.isEmpty()) {
            payload.put("warnings", warnings);
        }
        return payload;
    }

    private CloudEvent answer(Map<String, Object> payload) {
        return Envelope.of(kind.responseType(), payload).build();
    }
}
