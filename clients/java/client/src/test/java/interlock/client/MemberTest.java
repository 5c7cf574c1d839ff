package interlock.client;

import static interlock.client.Parcels.PARCEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.NullNode;
import interlock.client.api.ActionInvokeRequest;
import interlock.client.api.ActionInvokeResponse;
import interlock.client.api.ActionRegisterRequest;
import interlock.client.api.ComputeMembersGetRequest;
import interlock.client.api.EntityChangeEvent;
import interlock.client.api.ErrorCodes;
import interlock.client.api.ModelSpec;
import interlock.client.api.RunCancelRequest;
import interlock.client.api.RunDefinitionCreateRequest;
import interlock.client.api.RunStartRequest;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class MemberTest {

    private static TestServer server;
    private final TestServer.Tenant tenant = server.tenant();
    private final InterlockMember member = tenant.member().tags("java").build();

    @BeforeAll
    static void startServer() throws IOException {
        server = new TestServer();
    }

    @AfterAll
    static void endServer() {
        server.close();
    }

    @AfterEach
    void close() {
        member.stop(Duration.ZERO);
    }

    @Test
    void aProcessorChangesTheDocumentAndWarns() {
        AtomicReference<CallContext> seen = new AtomicReference<>();
        member.processor("price", (entity, context) -> {
            seen.set(context);
            context.warn("careful");
            return entity.document().put("price", new BigDecimal("7.50"));
        });
        member.start();
        Parcels.prepare(member, Parcels.processor("price", "\"context\": \"blue\""));
        Written written = member.entities().create(PARCEL, Json.parse("{\"sku\":\"A-1\",\"weight\":1.50}"));
        assertEquals("{\"sku\":\"A-1\",\"weight\":1.50,\"price\":7.50}", member.entities().get(written.entityId()).data().text());
        assertTrue(written.warnings().stream().anyMatch(text -> text.contains("careful")), written.toString());
        CallContext context = seen.get();
        assertEquals("price", context.name());
        assertEquals("blue", context.parameters());
        assertEquals("parcels", context.workflow());
        assertEquals(new CallContext.Transition("process", "NEW", "DONE"), context.transition());
        assertEquals(written.entityId(), context.entityId());
        assertEquals(written.transactionId(), context.transactionId());
    }

    @Test
    void aProcessorMayAnswerLater() {
        member.processor("price", (entity, context) ->
                context.entities().createAsync(PARCEL, Map.of("sku", "inner")).handle((inner, e) -> Map.of("sku", "later")));
        member.start();
        Parcels.prepare(member, Parcels.flow("\"manual\": true, \"processors\": [{\"name\": \"price\", \"type\": \"externalized\","
                + " \"executionMode\": \"SYNC\", \"config\": {\"calculationNodesTags\": \"java\"}}]"));
        Entity entity = Parcels.created(member);
        member.entities().transition(entity.id(), "process");
        assertEquals("{\"sku\":\"later\"}", member.entities().get(entity.id()).data().text());
    }

    /** Cannot say what it is about. */
    private static final class SpeechlessException extends Exception {

        @Override
        public String getMessage() {
            throw new IllegalStateException("no text");
        }
    }

    @Test
    void whatAHandlerThrowsFailsTheTransition() {
        Queue<Exception> failures = new ConcurrentLinkedQueue<>(List.of(
                new RejectedException("too heavy"), new IllegalStateException("odd"), new IOException("no disk"),
                new SpeechlessException()));
        member.processor("price", (entity, context) -> {
            Exception next = failures.poll();
            if (next != null) {
                throw next;
            }
            return null;
        });
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        for (String text : List.of("too heavy", "odd", "no disk", SpeechlessException.class.getName())) {
            WorkflowFailedException failed = assertThrows(WorkflowFailedException.class, () -> Parcels.created(member));
            assertTrue(failed.getMessage().contains(text), failed.getMessage());
        }
        assertEquals("DONE", Parcels.created(member).state());
    }

    @Test
    void aResultThatIsNoDocumentFailsTheTransition() {
        Queue<Object> results = new ConcurrentLinkedQueue<>(List.of("text", Verdict.of(true)));
        member.processor("price", (entity, context) -> results.poll());
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        for (String text : List.of("has to be a JSON object", "not a Verdict")) {
            WorkflowFailedException failed = assertThrows(WorkflowFailedException.class, () -> Parcels.created(member));
            assertTrue(failed.getMessage().contains(text), failed.getMessage());
        }
    }

    @Test
    void nullOfAnyKindLeavesTheDocument() {
        Queue<Object> results = new ConcurrentLinkedQueue<>(List.of(NullNode.instance, Json.NULL, Json.parse(" null "),
                CompletableFuture.completedFuture(NullNode.instance)));
        member.processor("price", (entity, context) -> results.poll());
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        while (!results.isEmpty()) {
            Entity left = Parcels.created(member);
            assertEquals("DONE", left.state());
            assertEquals("{\"sku\":\"A-1\",\"weight\":1.50}", left.data().text());
        }
    }

    @Test
    void aResultThatJsonCannotExpressFailsTheTransition() {
        Queue<Object> results = new ConcurrentLinkedQueue<>(List.of(Map.of("weight", Double.NaN), Map.of("weight", Float.POSITIVE_INFINITY),
                Map.of("sku", "a\ud800b"), Json.parse("{\"sku\":\"a\\ud800b\"}")));
        member.processor("price", (entity, context) -> results.poll());
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        for (String text : List.of("not finite", "not finite", "lone surrogate U+D800", "lone surrogate U+D800")) {
            WorkflowFailedException failed = assertThrows(WorkflowFailedException.class, () -> Parcels.created(member));
            assertTrue(failed.getMessage().contains(text), failed.getMessage());
        }
        for (Object odd : List.of(Double.NaN, "a\ud800b")) {
            assertThrows(IllegalArgumentException.class, () -> member.entities().create(PARCEL, Map.of("note", odd)));
        }
        assertThrows(IllegalArgumentException.class,
                () -> member.entities().create(PARCEL, Map.of("sku", "A"), RequestOption.idempotencyKey("k\ud800")));
        assertEquals("DONE", Parcels.created(member).state());
    }

    @Test
    void halfOfACharacterInAFailureOrAWarningIsReplaced() {
        member.processor("price", (entity, context) -> {
            context.warn("warned \ud800!");
            if (entity.document().path("sku").asText().equals("good")) {
                return null;
            }
            throw new RejectedException("odd \ud83d!");
        });
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        WorkflowFailedException failed = assertThrows(WorkflowFailedException.class, () -> Parcels.created(member));
        assertTrue(failed.getMessage().contains("odd \ufffd!"), failed.getMessage());
        Written written = member.entities().create(PARCEL, Map.of("sku", "good"));
        assertTrue(written.warnings().stream().anyMatch(text -> text.contains("warned \ufffd!")), written.toString());
    }

    @Test
    void aFailureAndWarningsOfAnySizeFailTheCallAlone() throws Exception {
        String large = "é\u0001".repeat(6 << 20);
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        member.processor("price", (entity, context) -> {
            String sku = entity.document().path("sku").asText();
            if (sku.equals("slow")) {
                began.countDown();
                gate.await();
                return null;
            }
            for (int i = 0; i < 3000 && sku.equals("warned"); i++) {
                context.warn(large.substring(0, 1 << 15));
            }
            throw new RejectedException(large);
        });
        member.action("charge", (input, task) -> {
            throw new RejectedException(large, large);
        });
        member.start();
        Parcels.prepare(member, Parcels.processor("price"));
        CompletableFuture<Written> slow = member.entities().createAsync(PARCEL, Map.of("sku", "slow"));
        assertTrue(began.await(20, TimeUnit.SECONDS));
        for (String sku : List.of("large", "warned")) {
            WorkflowFailedException failed =
                    assertThrows(WorkflowFailedException.class, () -> member.entities().create(PARCEL, Map.of("sku", sku)));
            assertTrue(failed.getMessage().contains("é"));
        }
        assertTrue(invoked("charge").task().error().message().startsWith("é"));
        gate.countDown();
        slow.get(20, TimeUnit.SECONDS); // it was on the same stream
    }

    @Test
    void aRetryableFailureIsRetriedUnderTheSameKey() {
        List<String> keys = new ArrayList<>();
        member.processor("price", (entity, context) -> {
            keys.add(context.dispatchKey());
            if (keys.size() == 1) {
                throw new RetryableException("try again");
            }
            return null;
        });
        member.start();
        Parcels.prepare(member, Parcels.processor("price", "\"retryPolicy\": \"FIXED\""));
        Parcels.created(member);
        assertEquals(2, keys.size());
        assertTrue(keys.get(0) != null && keys.get(0).equals(keys.get(1)), keys.toString());
    }

    @Test
    void aCriterionDecidesAndSaysWhy() {
        member.criterion("is-light", (entity, context) -> {
            BigDecimal weight = entity.document().path("weight").decimalValue();
            return weight.compareTo(BigDecimal.ONE) < 0 ? Verdict.yes() : Verdict.no(weight + " kg are too much");
        });
        member.start();
        Parcels.prepare(member, Parcels.criterion("is-light"));
        assertEquals("NEW", Parcels.created(member).state());
        String light = member.entities().create(PARCEL, Map.of("weight", 0.5)).entityId();
        assertEquals("DONE", member.entities().get(light).state());
    }

    @Test
    void aScheduleFunctionDecidesWhen() {
        member.schedule("soon", (entity, context) -> Timing.after(Duration.ofMillis(20)).expiringAfter(Duration.ofHours(1)));
        member.start();
        Parcels.prepare(member, Parcels.flow("\"manual\": false, \"schedule\": {\"function\": "
                + "{\"name\": \"soon\", \"resultKind\": \"Schedule\", \"calculationNodesTags\": \"java\"}}"));
        try (Answers<EntityChangeEvent> changes = member.feeds().changes(Changes.of(PARCEL).after(0).states("DONE"))) {
            Parcels.created(member);
            assertEquals("DONE", changes.iterator().next().state());
        }
    }

    @Test
    void aCallWritesInItsTransaction() {
        ModelSpec label = new ModelSpec("label", 1);
        AtomicReference<String> labelId = new AtomicReference<>();
        AtomicReference<Boolean> isRejected = new AtomicReference<>(false);
        AtomicReference<InterlockException> outside = new AtomicReference<>();
        member.processor("price", (entity, context) -> {
            labelId.set(context.entities().create(label, Map.of("sku", "L")).entityId());
            assertEquals("L", context.entities().get(labelId.get()).document().path("sku").asText());
            outside.set(assertThrows(NotFoundException.class, () -> member.entities().get(labelId.get())));
            if (isRejected.get()) {
                throw new RejectedException("no");
            }
            return null;
        });
        member.start();
        member.models().importSample(label, Map.of("sku", "A"));
        member.models().lock(label);
        Parcels.prepare(member, Parcels.processor("price"));
        Parcels.created(member);
        assertEquals(ErrorCodes.ENTITY_NOT_FOUND, outside.get().code());
        member.entities().get(labelId.get());
        isRejected.set(true);
        assertThrows(WorkflowFailedException.class, () -> Parcels.created(member));
        assertThrows(NotFoundException.class, () -> member.entities().get(labelId.get()));
    }

    @Test
    void aMemberWithOnePlaceServesTheCallThatItsProcessorCauses() {
        AtomicInteger depth = new AtomicInteger();
        try (InterlockMember narrow = tenant.member().tags("java").concurrency(1).build()) {
            narrow.processor("price", (entity, context) -> {
                if (depth.incrementAndGet() == 1) {
                    context.entities().create(PARCEL, Map.of("sku", "inner"));
                }
                return null;
            });
            narrow.start();
            Parcels.prepare(narrow, Parcels.processor("price"));
            Parcels.created(narrow);
            assertEquals(2, depth.get());
        }
    }

    @Test
    void aCallIsGivenUpWithTheServerAndItsPlaceGivenToAnother() throws Exception {
        BlockingQueue<String> began = new LinkedBlockingQueue<>();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        CountDownLatch gate = new CountDownLatch(1);
        try (InterlockMember narrow = tenant.member().tags("java").concurrency(1).build()) {
            narrow.processor("price", (entity, context) -> {
                began.add(context.transition().name());
                if (!context.transition().name().equals("hangs")) {
                    return null;
                }
                try {
                    gate.await();
                } catch (InterruptedException e) {
                    interrupted.complete(!Instant.now().isBefore(context.deadline()) && context.isCancelled());
                }
                gate.await(); // it goes on all the same
                return null;
            });
            narrow.start();
            String moves = Map.of("hangs", 3_000, "waits", 100, "goes", 30_000).entrySet().stream()
                    .map(limit -> """
                            {"name": "%s", "next": "DONE", "manual": true, "processors": [
                              {"name": "price", "type": "externalized", "executionMode": "SYNC",
                               "config": {"calculationNodesTags": "java", "responseTimeoutMs": %d}}]}
                            """.formatted(limit.getKey(), limit.getValue()))
                    .collect(Collectors.joining(","));
            Parcels.prepare(narrow, """
                    {"version": "1", "name": "parcels", "initialState": "NEW", "states": {
                      "NEW": {"transitions": [%s]}, "DONE": {}}}
                    """.formatted(moves));
            CompletableFuture<?> hangs = moved(narrow, "hangs");
            assertEquals("hangs", began.take());
            assertTimedOut(moved(narrow, "waits"));
            CompletableFuture<?> goes = moved(narrow, "goes");
            assertTimedOut(hangs);
            goes.join();
            assertEquals("goes", began.take());
            assertTrue(interrupted.get(20, TimeUnit.SECONDS));
        } finally {
            gate.countDown();
        }
    }

    private static CompletableFuture<?> moved(Session session, String transition) {
        String id = session.entities().create(PARCEL, Map.of("sku", "A")).entityId();
        return session.entities().transitionAsync(id, transition);
    }

    private static void assertTimedOut(CompletableFuture<?> moved) {
        CompletionException failed = assertThrows(CompletionException.class, moved::join);
        assertTrue(failed.getCause().getMessage().contains("DISPATCH_TIMEOUT"), failed.toString());
    }

    @Test
    void aRunningCallIsGivenUpWithItsStreamAndTheMemberJoinsAgain() throws Exception {
        try (TestServer own = new TestServer()) {
            TestServer.Tenant its = own.tenant();
            AtomicInteger calls = new AtomicInteger();
            CountDownLatch began = new CountDownLatch(1);
            CompletableFuture<Boolean> givenUp = new CompletableFuture<>();
            InterlockMember joined = its.member().tags("java").build();
            joined.processor("price", (entity, context) -> {
                if (calls.incrementAndGet() > 1) {
                    return null;
                }
                began.countDown();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    givenUp.complete(context.isCancelled());
                    throw e;
                }
                return null;
            });
            try (InterlockClient client = its.client().build()) {
                joined.start();
                Parcels.prepare(client, Parcels.processor("price"));
                CompletableFuture<Written> asked = client.entities().createAsync(PARCEL, Map.of("sku", "A"));
                assertTrue(began.await(20, TimeUnit.SECONDS));
                own.kill();
                CompletionException failed = assertThrows(CompletionException.class, asked::join);
                assertInstanceOf(ConnectionLostException.class, failed.getCause());
                assertTrue(givenUp.get(20, TimeUnit.SECONDS));
                own.start();
                awaitMember(client);
                Parcels.prepare(client, Parcels.processor("price")); // the server keeps nothing
                assertEquals("DONE", Parcels.created(client).state());
            } finally {
                joined.stop(Duration.ZERO);
            }
        }
    }

    @Test
    void aHandlerThatGoesOnAfterItsStreamWasLostKeepsNoPlace() throws Exception {
        CountDownLatch began = new CountDownLatch(2);
        CountDownLatch gate = new CountDownLatch(1);
        try (TestServer own = new TestServer()) {
            TestServer.Tenant its = own.tenant();
            InterlockMember joined = its.member().tags("java").concurrency(1).build();
            AtomicInteger calls = new AtomicInteger();
            AtomicInteger tasks = new AtomicInteger();
            joined.processor("price", (entity, context) -> hangs(calls, began, gate));
            joined.action("charge", (input, task) -> hangs(tasks, began, gate));
            try (InterlockClient client = its.client().build()) {
                joined.start();
                prepareCharging(client);
                CompletableFuture<Written> asked = client.entities().createAsync(PARCEL, Map.of("sku", "A"));
                client.operations().runStart(RunStartRequest.builder().definition("charging").build());
                assertTrue(began.await(20, TimeUnit.SECONDS));
                own.kill();
                assertThrows(CompletionException.class, asked::join);
                own.start();
                awaitMember(client);
                prepareCharging(client); // the server keeps nothing
                assertEquals("DONE", Parcels.created(client).state());
                RunStartRequest charging = RunStartRequest.builder().definition("charging").waitMs(20_000L).build();
                assertEquals("completed", client.operations().runStart(charging).run().status());
            } finally {
                gate.countDown();
                joined.stop(Duration.ZERO);
            }
        }
    }

    /** Hangs the first time, whatever becomes of the work. */
    private static Object hangs(AtomicInteger times, CountDownLatch began, CountDownLatch gate) {
        if (times.incrementAndGet() > 1) {
            return null;
        }
        began.countDown();
        while (true) {
            try {
                gate.await();
                return null;
            } catch (InterruptedException e) {
                assertTrue(gate.getCount() > 0);
            }
        }
    }

    private static void prepareCharging(InterlockClient client) {
        Parcels.prepare(client, Parcels.processor("price"));
        client.operations().actionRegister(ActionRegisterRequest.builder().name("charge").build());
        client.operations().runDefinitionCreate(RunDefinitionCreateRequest.builder().document(Json.of(Map.of(
                "kind", "Workflow", "name", "charging", "version", "1", "start", Map.of("run", "@actions/charge",
                        "transitions", Map.of("success", "flo.Completed"))))).build());
    }

    private static void awaitMember(InterlockClient client) {
        while (true) { // the test has a timeout
            try {
                if (!client.operations().computeMembersGet(new ComputeMembersGetRequest()).members().isEmpty()) {
                    return;
                }
            } catch (ConnectionLostException e) {
                assertTrue(e.getMessage() != null);
            }
        }
    }

    @Test
    void aMemberThatStopsFinishesWhatIsRunning() throws Exception {
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        member.processor("price", (entity, context) -> {
            began.countDown();
            gate.await();
            return Map.of("sku", "finished");
        });
        member.start();
        try (InterlockClient client = tenant.client().build()) {
            Parcels.prepare(client, Parcels.processor("price"));
            CompletableFuture<Written> asked = client.entities().createAsync(PARCEL, Map.of("sku", "A"));
            assertTrue(began.await(20, TimeUnit.SECONDS));
            CompletableFuture<Void> stopped = CompletableFuture.runAsync(member::close);
            gate.countDown();
            String id = asked.get(20, TimeUnit.SECONDS).entityId();
            stopped.get(20, TimeUnit.SECONDS);
            assertEquals("{\"sku\":\"finished\"}", client.entities().get(id).data().text());
            assertThrows(ComputeUnavailableException.class, () -> Parcels.created(client));
        }
    }

    @Test
    void aMemberThatTheServerRefusesEnds() {
        InterlockMember refused = tenant.member().metadata("x-mock-roles", "ROLE_USER").tags("java").build();
        AccessException failure = assertThrows(AccessException.class, refused::run);
        assertEquals(ErrorCodes.FORBIDDEN, failure.code());
    }

    @Test
    void aMemberThatRunsEndsWhenItIsClosed() throws Exception {
        CompletableFuture<Void> running = CompletableFuture.runAsync(member::run);
        try (InterlockClient client = tenant.client().build()) {
            awaitMember(client);
            member.close();
            running.get(20, TimeUnit.SECONDS);
            assertThrows(IllegalStateException.class, member::start);
        }
    }

    @Test
    void anActionExecutesATask() {
        member.action("charge", (input, task) -> {
            task.touch(Duration.ofSeconds(30), Map.of("done", 1));
            BigDecimal amount = input.node().path("amount").decimalValue();
            return Map.of("charged", amount, "attempt", task.attempt());
        });
        member.action("inspect", (input, task) -> new Outcome("fraud", Map.of("why", "odd")));
        member.action("list", (input, task) -> List.of(1, 2));
        member.action("count", (input, task) -> 5);
        member.start();
        assertEquals("[1,2]", invoked("list").task().output().text());
        assertEquals("5", invoked("count").task().output().text());
        assertEquals(Map.of("charged", new BigDecimal("12.30"), "attempt", 1), invoked("charge").task().output().decode(Map.class));
        assertEquals("fraud", invoked("inspect").task().outcome());
    }

    @Test
    void aCancelledTaskLeavesItsPlaceToTheNextOne() throws Exception {
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        try (InterlockMember narrow = tenant.member().concurrency(1).build()) {
            narrow.action("hangs", (input, task) -> {
                began.countDown();
                while (true) { // it goes on whatever becomes of its task
                    try {
                        gate.await();
                        return null;
                    } catch (InterruptedException e) {
                        assertTrue(task.isCancelled());
                    }
                }
            });
            narrow.action("goes", (input, task) -> null);
            narrow.start();
            for (String name : List.of("hangs", "goes")) {
                narrow.operations().actionRegister(ActionRegisterRequest.builder().name(name).build());
                narrow.operations().runDefinitionCreate(RunDefinitionCreateRequest.builder().document(Json.of(Map.of(
                        "kind", "Workflow", "name", name, "version", "1", "start", Map.of("run", "@actions/" + name,
                                "transitions", Map.of("success", "flo.Completed"))))).build());
            }
            RunStartRequest hangs = RunStartRequest.builder().definition("hangs").build();
            String runId = narrow.operations().runStart(hangs).runId();
            assertTrue(began.await(20, TimeUnit.SECONDS));
            narrow.operations().runCancel(RunCancelRequest.builder().runId(runId).build());
            RunStartRequest goes = RunStartRequest.builder().definition("goes").waitMs(20_000L).build();
            assertEquals("completed", narrow.operations().runStart(goes).run().status());
        } finally {
            gate.countDown();
        }
    }

    @Test
    void anExecutorOfOneThreadIsFreeForHandlers() {
        ExecutorService one = Executors.newSingleThreadExecutor();
        try (InterlockMember narrow = tenant.member().tags("java").executor(one).build();
                InterlockClient client = tenant.client().build()) {
            narrow.processor("price", (entity, context) -> null);
            Thread running = new Thread(narrow::run);
            running.setDaemon(true);
            running.start();
            awaitMember(client);
            Parcels.prepare(client, Parcels.processor("price"));
            assertEquals("DONE", Parcels.created(client).state());
        } finally {
            one.shutdown();
        }
    }

    private ActionInvokeResponse invoked(String action) {
        member.operations().actionRegister(ActionRegisterRequest.builder().name(action).build());
        return member.operations().actionInvoke(ActionInvokeRequest.builder()
                .name(action).input(Json.parse("{\"amount\":12.30}")).waitMs(10_000).build());
    }
}
