package interlock.conformance;

import com.fasterxml.jackson.databind.node.ObjectNode;
import interlock.client.CallContext;
import interlock.client.Entity;
import interlock.client.InterlockException;
import interlock.client.InterlockMember;
import interlock.client.Json;
import interlock.client.Outcome;
import interlock.client.RejectedException;
import interlock.client.RetryableException;
import interlock.client.Session;
import interlock.client.TaskContext;
import interlock.client.Timing;
import interlock.client.Verdict;
import interlock.client.WorkContext;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A handler that does what scripts say. */
final class ScriptedHandler {

    private final Program program;
    private final InterlockMember member;
    private final String memberName;
    private final Command.Script script;
    private final boolean isQuiet;
    private final AtomicInteger called = new AtomicInteger();

    ScriptedHandler(Program program, InterlockMember member, String memberName, Command.Script script, boolean isQuiet) {
        this.program = program;
        this.member = member;
        this.memberName = memberName;
        this.script = script;
        this.isQuiet = isQuiet;
    }

    void register() {
        String name = script.name();
        switch (script.kind() + (script.detached() ? " detached" : "")) {
            case "processor" -> member.processor(name, this::calculate);
            case "processor detached" -> member.detachedProcessor(name, context -> calculate(null, context));
            case "criterion" -> member.criterion(name, (entity, context) -> (Verdict) calculate(entity, context));
            case "criterion detached" -> member.detachedCriterion(name, context -> (Verdict) calculate(null, context));
            case "schedule" -> member.schedule(name, (entity, context) -> (Timing) calculate(entity, context));
            case "schedule detached" -> member.detachedSchedule(name, context -> (Timing) calculate(null, context));
            case "action" -> member.action(name, this::act);
            default -> throw new IllegalArgumentException(script.kind() + " is not a kind of handler");
        }
    }

    private @Nullable Object calculate(@Nullable Entity entity, CallContext context) throws Exception {
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("entityId", context.entityId());
        line.put("state", entity == null ? null : entity.state());
        line.put("data", entity == null ? null : entity.data());
        line.put("parameters", context.parameters());
        line.put("workflow", context.workflow());
        line.put("transition", context.transition().name());
        line.put("transactionId", context.transactionId());
        line.put("dispatchKey", context.dispatchKey());
        line.put("caller", context.caller());
        return follow(new Call(context, member, entity == null ? null : entity.data(), context.entityId()), line);
    }

    private @Nullable Object act(Json input, TaskContext context) throws Exception {
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("data", input);
        line.put("attempt", context.attempt());
        line.put("runId", context.runId());
        line.put("step", context.step());
        line.put("idempotencyKey", context.idempotencyKey());
        return follow(new Call(context, context.outside(), input, ""), line);
    }

    private @Nullable Object follow(Call call, Map<String, @Nullable Object> about) throws Exception {
        List<List<Map<String, Json>>> scripts = script.scripts();
        List<Map<String, Json>> steps = scripts.get(Math.min(called.getAndIncrement(), scripts.size() - 1));
        if (isQuiet) {
            return call.follow(steps);
        }
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("event", "called");
        line.put("call", call.number);
        line.put("member", memberName);
        line.put("kind", script.kind());
        line.put("name", script.name());
        line.putAll(about);
        program.say(line);
        String how = "returned";
        try {
            return call.follow(steps);
        } catch (Exception e) {
            how = call.context.isCancelled() ? "cancelled" : howItFailed(e);
            throw e;
        } finally {
            program.say(Map.of("event", "left", "call", call.number, "how", how));
        }
    }

    private static String howItFailed(Exception failure) {
        if (failure instanceof RetryableException) {
            return "retry";
        }
        return failure instanceof RejectedException ? "rejected" : "raised";
    }

    /** A request of a step. */
    private record Asked(String type, Json payload, @Nullable String key) {}

    /** One call of the handler. */
    private final class Call {

        private final WorkContext context;
        private final Session outside;
        private final @Nullable Json given;
        private final String entityId;
        private final long number = program.nextCall();

        Call(WorkContext context, Session outside, @Nullable Json given, String entityId) {
            this.context = context;
            this.outside = outside;
            this.given = given;
            this.entityId = entityId;
        }

        /** Executes the steps until one of them ends the call. */
        @Nullable Object follow(List<Map<String, Json>> steps) throws Exception {
            for (Map<String, Json> step : steps) {
                Optional<Object> result = execute(step);
                if (result.isPresent()) {
                    return result.get();
                }
                if (step.containsKey("keep")) {
                    return null;
                }
            }
            return null;
        }

        private Optional<Object> execute(Map<String, Json> step) throws Exception {
            String name = step.keySet().stream().filter(one -> !one.equals("reason") && !one.equals("outcome"))
                    .findFirst().orElseThrow();
            Json value = step.get(name);
            switch (name) {
                case "return":
                    return Optional.of(value);
                case "merge":
                    ObjectNode document = given.objectNode();
                    document.setAll(value.objectNode());
                    return Optional.of(document);
                case "matches":
                    return Optional.of(new Verdict(value.decode(Boolean.class), text(step.get("reason"))));
                case "schedule":
                    return Optional.of(timing(value.decode(Times.class)));
                case "output":
                    String outcome = text(step.get("outcome"));
                    return Optional.of(outcome == null ? value : new Outcome(outcome, value));
                case "reject":
                    throw new RejectedException(text(value));
                case "retry":
                    throw new RetryableException(text(value));
                case "raise":
                    throw new IllegalStateException(text(value));
                case "warn":
                    context.warn(text(value));
                    break;
                case "wait":
                    await(text(value), text(step.get("reason")));
                    break;
                case "call":
                    ask(context, value);
                    break;
                case "outside":
                    ask(outside, value);
                    break;
                case "collect":
                    collect(value);
                    break;
                default:
            }
            return Optional.empty();
        }

        /** Waits at a gate. With a reason, a call that is given up meanwhile fails with it. */
        private void await(String gate, @Nullable String reason) throws InterruptedException {
            try {
                program.gate(gate).await();
            } catch (InterruptedException e) {
                if (reason == null) {
                    throw e;
                }
                throw new IllegalStateException(reason, e);
            }
        }

        private void ask(Session session, Json step) {
            Asked asked = read(step);
            sayAnswer(() -> Map.of("ok", Asking.ask(session, asked.type, asked.payload, asked.key, null)));
        }

        private void collect(Json step) {
            Asked asked = read(step);
            sayAnswer(() -> Map.of("items", Asking.collect(context, asked.type, asked.payload)));
        }

        private Asked read(Json step) {
            Asked asked = step.decode(Asked.class);
            String payload = asked.payload.text().replace("\"$entityId\"", '"' + entityId + '"');
            return new Asked(asked.type, Json.parse(payload), asked.key);
        }

        private void sayAnswer(Supplier<Map<String, ?>> answer) {
            Map<String, Object> line = new LinkedHashMap<>(Map.of("event", "asked", "call", number));
            try {
                line.putAll(answer.get());
            } catch (InterlockException e) {
                if (context.isCancelled()) {
                    throw e;
                }
                line.put("error", Asking.failure(e));
            }
            program.say(line);
        }
    }

    private static @Nullable String text(@Nullable Json json) {
        return json == null ? null : json.decode(String.class);
    }

    private record Times(
            @Nullable Long fireAt, @Nullable Long fireAfterMs, @Nullable Long expireAt, @Nullable Long expireAfterMs) {}

    private static Timing timing(Times times) {
        Timing timing = times.fireAt != null ? Timing.at(Instant.ofEpochMilli(times.fireAt))
                : Timing.after(Duration.ofMillis(times.fireAfterMs == null ? 0 : times.fireAfterMs));
        if (times.expireAt != null) {
            return timing.expiringAt(Instant.ofEpochMilli(times.expireAt));
        }
        return times.expireAfterMs != null ? timing.expiringAfter(Duration.ofMillis(times.expireAfterMs)) : timing;
    }
}
