package interlock.client;

import static interlock.client.Parcels.EVERYTHING;
import static interlock.client.Parcels.PARCEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import interlock.client.api.AccountGetRequest;
import interlock.client.api.ClientCreateRequest;
import interlock.client.api.ClientCreateResponse;
import interlock.client.api.ClientDeleteRequest;
import interlock.client.api.DataFormat;
import interlock.client.api.EntityChangeEvent;
import interlock.client.api.EntityChangesSubscribeRequest;
import interlock.client.api.EntityCreateCollectionRequest;
import interlock.client.api.EntityGetRequest;
import interlock.client.api.ErrorCodes;
import interlock.client.api.NewEntity;
import interlock.client.api.TaskAwaitRequest;
import interlock.client.api.WorkerRegisterRequest;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

@Timeout(120)
class ClientTest {

    private static TestServer server;
    private InterlockClient client;

    @BeforeAll
    static void startServer() throws IOException {
        server = new TestServer();
    }

    @AfterAll
    static void endServer() {
        server.close();
    }

    @Test
    void aUrlIsNoTarget() {
        for (String url : List.of("http://localhost:9090", "https://example.com")) {
            for (Executable make : List.<Executable>of(
                    () -> InterlockClient.create(url), () -> InterlockMember.builder(url))) {
                InterlockException failure = assertThrows(InterlockException.class, make);
                assertEquals(ClientCodes.INVALID_OPTIONS, failure.code(), failure.getMessage());
            }
        }
    }

    @Test
    void theTimeOfARequestEndsAStreamedAnswer() {
        RequestOption soon = RequestOption.timeout(Duration.ofMillis(300));
        EntityChangesSubscribeRequest all = EntityChangesSubscribeRequest.builder().build();
        try (Answers<EntityChangeEvent> changes = client.operations().entityChangesSubscribe(all, soon)) {
            assertThrows(CancelledException.class, () -> changes.forEach(change -> {}));
        }
        RequestOption late = RequestOption.timeout(Duration.ofNanos(1));
        try (Answers<Event> found = client.stream("EntityGetAllRequest", Map.of("model", PARCEL), late)) {
            assertThrows(CancelledException.class, () -> found.forEach(one -> {}));
        } catch (CancelledException e) {
            assertTrue(e.getMessage().contains("no answer within"), "before it was sent");
        }
        CountDownLatch gate = new CountDownLatch(1);
        try (InterlockClient tokenless = InterlockClient.builder(server.target()).tokens(() -> {
            gate.await();
            throw Failure.connectionLost("no tokens today");
        }).build()) {
            assertThrows(CancelledException.class,
                    () -> tokenless.stream("EntityGetAllRequest", Map.of("model", PARCEL), soon));
            gate.countDown();
        }
    }

    @BeforeEach
    void connect() {
        client = server.tenant().client().build();
        client.connect();
    }

    @AfterEach
    void close() {
        client.close();
    }

    private static String unknown() {
        return UUID.randomUUID().toString();
    }

    @Test
    void aDocumentKeepsItsDigits() {
        String digits = "12345678901234567890.1234567890123456789";
        client.models().importSample(PARCEL, Json.parse("{\"sku\":\"A\",\"weight\":" + digits + ",\"price\":1.5}"));
        client.models().lock(PARCEL);
        Written written = client.entities().create(PARCEL, Json.parse("{\"sku\":\"B<7>\",\"weight\":" + digits + ",\"price\":1.50}"));
        Entity entity = client.entities().get(written.entityId());
        assertTrue(entity.data().text().contains(digits) && entity.data().text().contains("1.50"), entity.data().text());
        String copy = client.entities().create(PARCEL, entity.document()).entityId();
        assertEquals(digits, client.entities().get(copy).document().path("weight").asText());
    }

    @Test
    void failuresHaveCodeClassAndRemedy() {
        NotFoundException failure = assertThrows(NotFoundException.class, () -> client.entities().get(unknown()));
        assertEquals(ErrorCodes.ENTITY_NOT_FOUND, failure.code());
        assertEquals(ErrorCodes.meaning(ErrorCodes.ENTITY_NOT_FOUND), failure.remedy());
        assertEquals(failure.code() + ": " + failure.reason(), failure.getMessage());
        InvalidRequestException invalid = assertThrows(InvalidRequestException.class,
                () -> client.call("EntityGetRequest", Map.of()));
        assertTrue(!invalid.isRetryable());
        CompletionException later = assertThrows(CompletionException.class, () -> client.async()
                .entityGet(EntityGetRequest.builder().entityId(unknown()).build()).join());
        assertInstanceOf(NotFoundException.class, later.getCause());
    }

    @Test
    void manyRequestsRunSideBySide() {
        Parcels.prepare(client);
        List<CompletableFuture<Written>> all = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            all.add(client.entities().createAsync(PARCEL, Map.of("sku", "S-" + i)));
        }
        assertEquals(500, all.stream().map(one -> one.join().entityId()).distinct().count());
        try (Answers<Entity> listed = client.entities().list(PARCEL)) {
            assertEquals(500, listed.stream().count());
        }
    }

    /** Pages found by their number would have moved by what was deleted. */
    @Test
    void everythingThatIsListedCanBeDeletedMeanwhile() {
        Parcels.prepare(client);
        NewEntity parcel = new NewEntity(Json.of(Map.of("sku", "A")), PARCEL);
        client.operations().entityCreateCollection(EntityCreateCollectionRequest.builder().dataFormat(DataFormat.JSON)
                .payloads(Collections.nCopies(1001, parcel)).build());
        int deleted = 0;
        try (Answers<Entity> listed = client.entities().list(PARCEL)) {
            for (Entity entity : listed) {
                client.entities().delete(entity.id());
                deleted++;
            }
        }
        assertEquals(1001, deleted);
        try (Answers<Entity> listed = client.entities().list(PARCEL)) {
            assertEquals(0, listed.stream().count());
        }
    }

    @Test
    void leavingAStreamEarlyCancelsIt() {
        try (InterlockClient narrow = server.tenant().client().inFlight(1).build()) {
            Parcels.prepare(narrow);
            for (int i = 0; i < 20; i++) {
                narrow.entities().create(PARCEL, Map.of("sku", "S-" + i));
            }
            for (int i = 0; i < 5; i++) {
                try (Answers<Entity> found = narrow.entities().search(PARCEL, EVERYTHING)) {
                    assertEquals(PARCEL, found.iterator().next().model());
                }
            }
            // An answer that was left has no place on the stream, which has one.
            narrow.operations().accountGet(new AccountGetRequest());
        }
    }

    @Test
    void aSubscriberGetsWhatItAsksFor() throws InterruptedException {
        Parcels.prepare(client);
        for (int i = 0; i < 10; i++) {
            client.entities().create(PARCEL, Map.of("sku", "S-" + i));
        }
        List<Entity> came = new ArrayList<>();
        CountDownLatch over = new CountDownLatch(1);
        client.entities().search(PARCEL, EVERYTHING).publisher().subscribe(new Flow.Subscriber<>() {
            private Flow.Subscription subscription;

            @Override
            public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                subscription.request(1);
            }

            @Override
            public void onNext(Entity entity) {
                came.add(entity);
                subscription.request(1);
            }

            @Override
            public void onError(Throwable failure) {
                throw new AssertionError(failure);
            }

            @Override
            public void onComplete() {
                over.countDown();
            }
        });
        assertTrue(over.await(20, TimeUnit.SECONDS));
        assertEquals(10, came.size());
    }

    @Test
    void aRepeatUnderAKeyGetsTheFirstAnswer() {
        Parcels.prepare(client);
        RequestOption key = RequestOption.idempotencyKey("order-1");
        Written first = client.entities().create(PARCEL, Map.of("sku", "A"), key);
        assertEquals(first, client.entities().create(PARCEL, Map.of("sku", "A"), key));
        InterlockException conflict =
                assertThrows(InterlockException.class, () -> client.entities().create(PARCEL, Map.of("sku", "B"), key));
        assertEquals(ErrorCodes.IDEMPOTENCY_CONFLICT, conflict.code());
        assertNotEquals(first, client.entities().create(PARCEL, Map.of("sku", "A")));
    }

    @Test
    void aRequestThatIsGivenUpIsCancelledOnTheServer() throws Exception {
        Parcels.prepare(client, Parcels.processor("price"));
        TestServer.Tenant tenant = server.tenant();
        CountDownLatch gate = new CountDownLatch(1);
        try (InterlockMember member = tenant.member().tags("java").build();
                InterlockClient narrow = tenant.client().inFlight(1).build()) {
            member.processor("price", (entity, context) -> {
                gate.await();
                return null;
            });
            member.start();
            Parcels.prepare(narrow, Parcels.processor("price"));
            CancelledException late = assertThrows(CancelledException.class, () -> narrow.entities()
                    .create(PARCEL, Map.of("sku", "A"), RequestOption.timeout(Duration.ofMillis(100))));
            assertTrue(late.getMessage().contains("no answer within 100 ms"), late.getMessage());
            // The only place is free as soon as the server has answered that it is cancelled.
            narrow.operations().accountGet(new AccountGetRequest());
            CompletableFuture<Written> asked = narrow.entities().createAsync(PARCEL, Map.of("sku", "B"));
            assertTrue(asked.cancel(true));
            narrow.operations().accountGet(new AccountGetRequest());
            Thread waiting = new Thread(() -> assertThrows(CancelledException.class,
                    () -> narrow.entities().create(PARCEL, Map.of("sku", "C"))));
            waiting.start();
            waiting.interrupt();
            waiting.join(20_000);
            assertTrue(!waiting.isAlive());
            narrow.operations().accountGet(new AccountGetRequest());
            try (Answers<Entity> listed = narrow.entities().list(PARCEL)) {
                assertEquals(0, listed.stream().count());
            }
            gate.countDown();
        }
    }

    @Test
    void aServerThatDoesNotRunIsALostConnection() {
        try (InterlockClient alone = InterlockClient.builder("127.0.0.1:1").connectTimeout(Duration.ofMillis(200)).build()) {
            ConnectionLostException lost = assertThrows(ConnectionLostException.class, () -> alone.entities().get(unknown()));
            assertTrue(lost.isRetryable());
            assertTrue(lost.reason().startsWith("no answer from 127.0.0.1:1 within 200 ms"));
            assertThrows(ConnectionLostException.class, alone::connect);
        }
    }

    @Test
    void aClientWorksAgainAfterARestart() throws IOException {
        try (TestServer own = new TestServer(); InterlockClient other = own.tenant().client().build()) {
            other.operations().accountGet(new AccountGetRequest());
            own.kill();
            own.start();
            for (int attempt = 0; ; attempt++) { // the loss may be noticed only by the next request
                try {
                    other.operations().accountGet(new AccountGetRequest());
                    break;
                } catch (ConnectionLostException e) {
                    assertTrue(attempt < 2, e.getMessage());
                }
            }
        }
    }

    @Test
    void aMessageThatIsTooLargeIsNotSent() {
        Parcels.prepare(client);
        InterlockException large = assertThrows(InvalidRequestException.class,
                () -> client.entities().create(PARCEL, Map.of("note", "x".repeat(17 << 20))));
        assertEquals(ClientCodes.MESSAGE_TOO_LARGE, large.code());
        // The longest key is a part of the message, which is as large as its data otherwise may be.
        Map<String, String> almost = Map.of("note", "x".repeat((16 << 20) - 1095));
        RequestOption key = RequestOption.idempotencyKey("\ud83d\udd11".repeat(255));
        large = assertThrows(InvalidRequestException.class, () -> client.call("EntityCreateRequest", almost, key));
        assertEquals(ClientCodes.MESSAGE_TOO_LARGE, large.code());
        large = assertThrows(InvalidRequestException.class, () -> client.call("EntityCreateRequest", almost));
        assertNotEquals(ClientCodes.MESSAGE_TOO_LARGE, large.code());
        large = assertThrows(InvalidRequestException.class,
                () -> client.stream("EntityGetAllRequest", Map.of("model", PARCEL, "note", "x".repeat(17 << 20))));
        assertEquals(ClientCodes.MESSAGE_TOO_LARGE, large.code());
        client.operations().accountGet(new AccountGetRequest());
    }

    @Test
    void aClientThatWasClosedSaysSo() {
        client.close();
        assertThrows(ClientClosedException.class, () -> client.entities().get(unknown()));
        assertThrows(ClientClosedException.class, client::connect);
        client.close();
    }

    @Test
    void clientCredentialsObtainATokenAndReplaceARefusedOne() throws IOException {
        try (TestServer own = guarded()) {
            URI url = URI.create(own.http() + "/api/oauth/token");
            ClientCredentials credentials = new ClientCredentials(url, "first", "change-me");
            try (InterlockClient authenticated = InterlockClient.builder(own.target()).tokens(credentials).build()) {
                authenticated.operations().accountGet(new AccountGetRequest());
            }
            ClientCredentials wrong = new ClientCredentials(url, "first", "wrong");
            try (InterlockClient refused = InterlockClient.builder(own.target()).tokens(wrong).build()) {
                AccessException failure =
                        assertThrows(AccessException.class, () -> refused.operations().accountGet(new AccountGetRequest()));
                assertEquals(ErrorCodes.UNAUTHORIZED, failure.code());
            }
            StaleToken stale = new StaleToken(credentials);
            try (InterlockClient again = InterlockClient.builder(own.target()).tokens(stale).build()) {
                again.operations().accountGet(new AccountGetRequest());
                assertTrue(stale.isForgotten);
            }
            StaleToken another = new StaleToken(credentials);
            try (InterlockClient listening = InterlockClient.builder(own.target()).tokens(another).build();
                    Answers<?> changes = listening.feeds().changes(Changes.all().after(-1))) {
                assertThrows(InvalidRequestException.class, () -> changes.iterator().hasNext());
                assertTrue(another.isForgotten);
            }
        }
    }

    /** A server that asks for tokens, and has a client of the name {@code first}. */
    private static TestServer guarded() throws IOException {
        Path key = TestServer.repository().resolve("tests/keys/signing.pem");
        return new TestServer("CYODA_IAM_MODE", "jwt", "INTERLOCK_IAM_MOCK_CALLER", "false",
                "CYODA_JWT_SIGNING_KEY_FILE", key.toString(), "CYODA_BOOTSTRAP_CLIENT_ID", "first",
                "CYODA_BOOTSTRAP_CLIENT_SECRET", "change-me",
                "CYODA_BOOTSTRAP_TENANT_ID", "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c");
    }

    @Test
    void whenTokensAreRevokedFeedsGoOnAndWhatWaitsIsALostConnection() throws Exception {
        try (TestServer own = guarded()) {
            URI url = URI.create(own.http() + "/api/oauth/token");
            try (InterlockClient admin = InterlockClient.builder(own.target())
                    .tokens(new ClientCredentials(url, "first", "change-me")).build()) {
                List<ClientCreateResponse> made = new ArrayList<>();
                Deque<TokenSource> sources = new ConcurrentLinkedDeque<>();
                for (int number = 0; number < 4; number++) {
                    ClientCreateResponse one = admin.operations().clientCreate(ClientCreateRequest.builder().build());
                    made.add(one);
                    sources.add(new ClientCredentials(url, one.clientId(), one.clientSecret()));
                }
                Parcels.prepare(admin);
                admin.entities().create(PARCEL, Map.of("weight", 1.5));
                try (InterlockClient client = InterlockClient.builder(own.target()).tokens(new Successors(sources)).build()) {
                    List<Long> seen = new ArrayList<>();
                    try (Answers<EntityChangeEvent> feed = client.feeds().changes(Changes.all().after(0))) {
                        Iterator<EntityChangeEvent> changes = feed.iterator();
                        for (int number = 0; number < 2; number++) {
                            seen.add(changes.next().sequence());
                            admin.operations().clientDelete(ClientDeleteRequest.builder().clientId(made.get(number).clientId()).build());
                            admin.entities().create(PARCEL, Map.of("weight", 1.5));
                        }
                        seen.add(changes.next().sequence());
                    }
                    assertEquals(List.copyOf(new TreeSet<>(seen)), seen);
                    client.operations().workerRegister(WorkerRegisterRequest.builder().workerId("w").actions(List.of("a")).build());
                    CompletableFuture<?> waiting = CompletableFuture.supplyAsync(
                            () -> client.operations().taskAwait(TaskAwaitRequest.builder().workerId("w").actions(List.of("a")).build()));
                    Thread.sleep(300); // by then it was sent
                    admin.operations().clientDelete(ClientDeleteRequest.builder().clientId(made.get(2).clientId()).build());
                    ExecutionException failed =
                            assertThrows(ExecutionException.class, () -> waiting.get(20, TimeUnit.SECONDS));
                    ConnectionLostException lost = assertInstanceOf(ConnectionLostException.class, failed.getCause());
                    assertFalse(lost.isRetryable());
                    client.operations().accountGet(new AccountGetRequest());
                }
            }
        }
    }

    @Test
    void whoWaitsInVainIsToldWhy() {
        try (InterlockClient nobody =
                InterlockClient.builder("127.0.0.1:1").connectTimeout(Duration.ofSeconds(3)).build()) {
            InterlockException late = assertThrows(ConnectionLostException.class, nobody::connect);
            assertTrue(late.isRetryable() && late.reason().contains("within 3000 ms: UNAVAILABLE"), late.reason());
            assertTrue(late.reason().contains("refused"), late.reason());
        }
        try (InterlockClient tokenless = InterlockClient.builder(server.target()).tokens(() -> {
            throw Failure.connectionLost("no tokens today");
        }).connectTimeout(Duration.ofMillis(300)).build()) {
            InterlockException late = assertThrows(ConnectionLostException.class,
                    () -> tokenless.operations().accountGet(new AccountGetRequest()));
            assertTrue(late.isRetryable() && late.reason().contains("no tokens today"), late.reason());
            late = assertThrows(ConnectionLostException.class,
                    () -> tokenless.stream("EntityGetAllRequest", Map.of("model", PARCEL)));
            assertTrue(late.isRetryable() && late.reason().contains("no tokens today"), late.reason());
        }
    }

    /** Has the tokens of the first of some sources; of the next one when that is refused, and so on. */
    private record Successors(Deque<TokenSource> sources) implements TokenSource {

        @Override
        public String token() throws InterruptedException {
            return sources.element().token();
        }

        @Override
        public void forget(String token) {
            try {
                if (token().equals(token)) {
                    sources.remove();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Has a token at first that the server refuses. */
    private static final class StaleToken implements TokenSource {

        private final TokenSource source;
        private volatile boolean isForgotten;

        StaleToken(TokenSource source) {
            this.source = source;
        }

        @Override
        public String token() throws InterruptedException {
            return isForgotten ? source.token() : "stale";
        }

        @Override
        public void forget(String token) {
            isForgotten = true;
        }
    }
}
