package interlock.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import interlock.client.api.AccountGetRequest;
import interlock.client.api.CalculationMemberJoinEvent;
import interlock.client.api.EntityChangeEvent;
import interlock.client.api.EntityChangesSubscribeRequest;
import interlock.client.cloudevents.CloudEvent;
import interlock.client.testing.TestServer;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.ProtoUtils;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class WireTest {

    private static final char[] PASSWORD = "secret".toCharArray();

    @RegisterExtension
    static final OpenTelemetryExtension TRACES = OpenTelemetryExtension.create();

    /** A server that keeps the first event of a stream, and sends what a test says for each. */
    private static final class Recorder implements AutoCloseable {

        final CompletableFuture<CloudEvent> received = new CompletableFuture<>();
        private final Function<CloudEvent, List<CloudEvent>> script;
        final AtomicInteger streams = new AtomicInteger();
        private final String version;
        private final Server server;
        /** How calls of their own end; null if they do not. */
        private volatile @Nullable Status end = Status.OK;
        final CountDownLatch cancelled = new CountDownLatch(1);

        Recorder(Function<CloudEvent, List<CloudEvent>> script) throws IOException {
            this(script, InterlockClient.VERSION);
        }

        Recorder(Function<CloudEvent, List<CloudEvent>> script, String version) throws IOException {
            this.script = script;
            this.version = version;
            MethodDescriptor<CloudEvent, CloudEvent> method = MethodDescriptor.<CloudEvent, CloudEvent>newBuilder()
                    .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                    .setFullMethodName("org.cyoda.cloud.api.grpc.CloudEventsService/startStreaming")
                    .setRequestMarshaller(ProtoUtils.marshaller(CloudEvent.getDefaultInstance()))
                    .setResponseMarshaller(ProtoUtils.marshaller(CloudEvent.getDefaultInstance()))
                    .build();
            MethodDescriptor<CloudEvent, CloudEvent> listen = method.toBuilder()
                    .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
                    .setFullMethodName("org.cyoda.cloud.api.grpc.CloudEventsService/entitySearchCollection").build();
            server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                    .addService(ServerServiceDefinition.builder("org.cyoda.cloud.api.grpc.CloudEventsService")
                            .addMethod(ServerMethodDefinition.create(method, this::serve))
                            .addMethod(ServerMethodDefinition.create(listen, this::serve)).build())
                    .build().start();
        }

        private ServerCall.Listener<CloudEvent> serve(ServerCall<CloudEvent, CloudEvent> call, Metadata headers) {
            streams.incrementAndGet();
            Metadata sent = new Metadata();
            sent.put(Metadata.Key.of("interlock-version", Metadata.ASCII_STRING_MARSHALLER), version);
            call.sendHeaders(sent);
            call.request(1);
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(CloudEvent event) {
                    received.complete(event);
                    script.apply(event).forEach(call::sendMessage);
                    call.request(1);
                }

                @Override
                public void onHalfClose() {
                    Status status = end;
                    if (status != null) {
                        call.close(status, new Metadata());
                    }
                }

                @Override
                public void onCancel() {
                    cancelled.countDown();
                }
            };
        }

        String target() {
            return "127.0.0.1:" + server.getPort();
        }

        @Override
        public void close() {
            server.shutdownNow();
        }
    }

    private static CloudEvent event(String type, String data, String attribute, String value) {
        CloudEvent.Builder made = CloudEvent.newBuilder().setId("1").setType(type).setTextData(data);
        Envelope.set(made, attribute, value);
        return made.build();
    }

    private static List<CloudEvent> success(CloudEvent request) {
        return List.of(event("AccountGetResponse", "{\"success\":true}", Envelope.REQUEST_ID, request.getId()));
    }

    /** The span of a trace, which may end a little after the answer of what it spans. */
    private static SpanData ended(String name, String trace) throws InterruptedException {
        for (int tries = 0; tries < 2_000; tries++) {
            for (SpanData span : TRACES.getSpans()) {
                if (span.getName().equals(name) && span.getTraceId().equals(trace)) {
                    return span;
                }
            }
            Thread.sleep(10);
        }
        throw new AssertionError("no span " + name);
    }

    @Test
    void aRequestCarriesTheTraceOfItsContext() throws Exception {
        try (Recorder recorder = new Recorder(WireTest::success); InterlockClient client = InterlockClient.create(recorder.target())) {
            var span = TRACES.getOpenTelemetry().getTracer("test").spanBuilder("caller").startSpan();
            try (Scope scope = span.makeCurrent()) {
                client.operations().accountGet(new AccountGetRequest());
            }
            span.end();
            String parent = Envelope.attribute(recorder.received.get(20, TimeUnit.SECONDS), "traceparent");
            assertEquals("00-" + span.getSpanContext().getTraceId() + "-" + span.getSpanContext().getSpanId() + "-01", parent);
        }
    }

    @Test
    void aHandlerContinuesTheTraceOfItsCaller() throws Exception {
        String trace = "01020304050607080910111213141516";
        CompletableFuture<CloudEvent> answered = new CompletableFuture<>();
        Function<CloudEvent, List<CloudEvent>> script = event -> switch (event.getType()) {
            case Envelope.JOIN -> List.of(
                    event(Envelope.GREETING, "{\"success\":true,\"memberId\":\"m\"}", "x", "y"),
                    event("EntityProcessorCalculationRequest", "{\"requestId\":\"r\",\"entityId\":\"e\",\"processorName\":\"price\"}",
                            "traceparent", "00-" + trace + "-0102030405060708-01"));
            default -> {
                answered.complete(event);
                yield List.of();
            }
        };
        try (Recorder recorder = new Recorder(script);
                InterlockMember member = InterlockMember.builder(recorder.target()).drainTimeout(Duration.ZERO).build()) {
            member.detachedProcessor("price", context -> {
                context.warn("span " + Span.current().getSpanContext().getTraceId());
                return null;
            });
            member.start();
            String answer = answered.get(20, TimeUnit.SECONDS).getTextData();
            assertTrue(answer.contains("span " + trace), answer);
            SpanData span = ended("processor price", trace);
            assertEquals("price", span.getAttributes().get(AttributeKey.stringKey("interlock.name")));
        }
    }

    @Test
    void aMemberThatStopsSaysSoAndAnswersWhatComesNevertheless() throws Exception {
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch refused = new CountDownLatch(2);
        Queue<String> drains = new ConcurrentLinkedQueue<>();
        Queue<String> answers = new ConcurrentLinkedQueue<>();
        Function<CloudEvent, List<CloudEvent>> script = event -> {
            if (event.getType().equals(Envelope.JOIN)) {
                return List.of(event(Envelope.GREETING, "{\"success\":true,\"memberId\":\"m-1\"}", "x", "y"), call("first"));
            }
            if (event.getType().equals("WorkerDrainRequest")) {
                drains.add(event.getTextData());
                return List.of(call("late"), event(Envelope.TASK, "{\"requestId\":\"task\",\"taskId\":\"t\",\"name\":\"charge\"}",
                        "x", "y")); // and no answer to the request itself
            }
            if (event.getType().endsWith("CalculationResponse")) {
                answers.add(event.getTextData());
                refused.countDown();
            }
            return List.of();
        };
        try (Recorder recorder = new Recorder(script);
                InterlockMember member = InterlockMember.builder(recorder.target()).build()) {
            member.detachedProcessor("price", context -> {
                began.countDown();
                refused.await();
                return Map.of("sku", "done");
            });
            member.start();
            assertTrue(began.await(20, TimeUnit.SECONDS));
            long stopping = System.nanoTime();
            member.close();
            assertTrue(System.nanoTime() - stopping < TimeUnit.SECONDS.toNanos(8));
        }
        assertEquals(1, drains.size());
        assertTrue(drains.element().matches("\\{\"id\":\"[^\"]+\",\"workerId\":\"m-1\"}"), drains.element());
        List<String> all = List.copyOf(answers);
        assertEquals(3, all.size());
        for (String id : List.of("late", "task")) {
            String answer = all.get(id.equals("late") ? 0 : 1);
            assertTrue(answer.contains("\"requestId\":\"" + id + "\"") && answer.contains("\"error\":{\"code\":\"MEMBER_STOPPING\","
                    + "\"message\":\"the member is stopping\",\"retryable\":true}"), answer);
        }
        assertTrue(all.get(2).contains("\"requestId\":\"first\"") && all.get(2).contains("\"success\":true"), all.get(2));
    }

    private static CloudEvent call(String id) {
        return event("EntityProcessorCalculationRequest",
                "{\"requestId\":\"" + id + "\",\"entityId\":\"e\",\"processorName\":\"price\"}", "x", "y");
    }

    /** A script that gives a member these calls when it has joined, and keeps its answers. */
    private static Function<CloudEvent, List<CloudEvent>> calling(List<CloudEvent> calls, BlockingQueue<CloudEvent> answers) {
        return event -> {
            if (event.getType().equals(Envelope.JOIN)) {
                List<CloudEvent> all = new ArrayList<>(calls);
                all.add(0, event(Envelope.GREETING, "{\"success\":true,\"memberId\":\"m-1\"}", "x", "y"));
                return all;
            }
            if (event.getType().endsWith("CalculationResponse")) {
                answers.add(event);
            }
            return List.of();
        };
    }

    @Test
    void aCallThatCannotBeReadIsRejectedAsRetryable() throws Exception {
        BlockingQueue<CloudEvent> answers = new LinkedBlockingQueue<>();
        String odd = "{\"requestId\":\"odd\",\"processorName\":[],\"name\":[]}";
        List<CloudEvent> calls = List.of(event("EntityProcessorCalculationRequest", odd, "x", "y"),
                event(Envelope.TASK, odd, "x", "y"));
        try (Recorder recorder = new Recorder(calling(calls, answers));
                InterlockMember member = InterlockMember.builder(recorder.target()).drainTimeout(Duration.ZERO).build()) {
            member.start();
            for (String kind : List.of("EntityProcessor", "Task")) {
                CloudEvent answer = answers.poll(20, TimeUnit.SECONDS);
                assertEquals(kind + "CalculationResponse", answer.getType());
                JsonNode read = Json.raw(answer.getTextData()).node();
                assertEquals("odd", read.path("requestId").asText());
                assertFalse(read.path("success").asBoolean(true));
                assertTrue(read.path("error").path("retryable").asBoolean());
                String message = read.path("error").path("message").asText();
                assertTrue(message.startsWith("this member cannot read the call: "), message);
            }
        }
    }

    @Test
    void moreCallsThanRunAndWaitAreRejectedAsRetryable() throws Exception {
        BlockingQueue<CloudEvent> answers = new LinkedBlockingQueue<>();
        List<CloudEvent> calls = IntStream.rangeClosed(1, 1024 + 2 * 2 + 1).mapToObj(i -> call("c" + i)).toList();
        CountDownLatch gate = new CountDownLatch(1);
        try (Recorder recorder = new Recorder(calling(calls, answers));
                InterlockMember member = InterlockMember.builder(recorder.target()).concurrency(2)
                        .drainTimeout(Duration.ZERO).build()) {
            member.detachedProcessor("price", context -> {
                gate.await();
                return null;
            });
            member.start();
            JsonNode read = Json.raw(answers.poll(20, TimeUnit.SECONDS).getTextData()).node();
            assertEquals("c1029", read.path("requestId").asText());
            assertEquals("this member already has 1028 calls in flight", read.path("error").path("message").asText());
            assertTrue(read.path("error").path("retryable").asBoolean());
        }
    }

    @Test
    void joiningAnnouncesActionsAndTheTagsOfWorkflows() throws Exception {
        try (Recorder recorder = new Recorder(WireTest::success);
                InterlockMember member = InterlockMember.builder(recorder.target()).tags("billing").concurrency(7)
                        .namespace("shop").labels(Map.of("zone", "eu")).build()) {
            member.workflow("org.acme.flows:import-file", (input, task) -> null);
            member.action("charge", (input, task) -> null);
            CompletableFuture<Void> running = CompletableFuture.runAsync(member::run);
            CloudEvent event = recorder.received.get(20, TimeUnit.SECONDS);
            CalculationMemberJoinEvent join = Json.parse(event.getTextData()).decode(CalculationMemberJoinEvent.class);
            assertEquals(List.of("billing", "workflow:org.acme.flows:import-file"), join.tags());
            assertEquals(List.of("charge", "org.acme.flows:import-file"), join.actions());
            assertEquals(7L, join.maxConcurrency());
            assertEquals("shop", join.namespace());
            assertEquals(Map.of("zone", "eu"), join.labels());
            member.close();
            running.get(20, TimeUnit.SECONDS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"2.0.0", "0.2.0", "1.0.0-rc.1", "tomorrow's"})
    void aServerOfAnotherVersionIsRefusedAtOnceAndByName(String version) throws IOException {
        try (Recorder recorder = new Recorder(WireTest::success, version);
                InterlockClient client = InterlockClient.create(recorder.target());
                InterlockMember member = InterlockMember.builder(recorder.target()).build()) {
            List<Executable> attempts = List.of(() -> client.operations().accountGet(new AccountGetRequest()), member::run,
                    () -> {
                        EntityChangesSubscribeRequest all = EntityChangesSubscribeRequest.builder().fromSequence(0L).build();
                        try (Answers<EntityChangeEvent> feed = client.operations().entityChangesSubscribe(all)) {
                            feed.forEach(change -> {});
                        }
                    });
            for (Executable attempt : attempts) {
                InterlockException refused = assertThrows(InterlockException.class, attempt);
                assertEquals("SERVER_NOT_UNDERSTOOD: the server is of version " + version + "; this client understands 0.1",
                        refused.getMessage());
            }
            assertEquals(3, recorder.streams.get());
        }
    }

    @Test
    void aServerMayRequireACertificateOfTheClient(@TempDir Path folder) throws Exception {
        certify(folder, "server");
        certify(folder, "client");
        Path serverCertificate = folder.resolve("server.crt");
        Path clientCertificate = folder.resolve("client.crt");
        try (TestServer server = new TestServer("INTERLOCK_TLS_CERT_FILE", serverCertificate.toString(),
                "INTERLOCK_TLS_KEY_FILE", folder.resolve("server.key").toString(),
                "INTERLOCK_TLS_CLIENT_CA_FILE", clientCertificate.toString())) {
            ChannelCredentials certified = TlsChannelCredentials.newBuilder().trustManager(serverCertificate.toFile())
                    .keyManager(clientCertificate.toFile(), folder.resolve("client.key").toFile()).build();
            try (InterlockClient client = server.tenant().client().credentials(certified).build()) {
                client.operations().accountGet(new AccountGetRequest());
            }
            URI url = URI.create(server.http().replace("http:", "https:") + "/api/oauth/token");
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(store(folder, "client"), PASSWORD);
            assertFalse(new ClientCredentials(url, "anybody", "secret", http(folder, keys.getKeyManagers())).token().isEmpty());
            ClientCredentials uncertified = new ClientCredentials(url, "anybody", "secret", http(folder, null));
            assertThrows(ConnectionLostException.class, uncertified::token);
        }
    }

    /** An HTTP client that trusts the server, and shows a certificate if it has one. */
    private static HttpClient http(Path folder, KeyManager @Nullable [] keys) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        trusted.setCertificateEntry("server", store(folder, "server").getCertificate("server"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(keys, trust.getTrustManagers(), null);
        return HttpClient.newBuilder().sslContext(tls).build();
    }

    private static KeyStore store(Path folder, String name) throws Exception {
        return KeyStore.getInstance(folder.resolve(name + ".p12").toFile(), PASSWORD);
    }

    @Test
    void aStreamedAnswerFailsAsTheServerSays() throws IOException {
        try (Recorder recorder = new Recorder(event -> List.of()); InterlockClient client = InterlockClient.create(recorder.target())) {
            recorder.end = Status.UNAVAILABLE.withDescription("STORAGE_UNAVAILABLE: the disk is full: 0 left");
            InterlockException failure = assertThrows(InterlockException.class, () -> all(client).forEach(event -> {}));
            assertEquals("STORAGE_UNAVAILABLE", failure.code());
            assertEquals("the disk is full: 0 left", failure.reason());
            assertTrue(failure.isRetryable());
            recorder.end = Status.UNAVAILABLE.withDescription("connection reset: by peer");
            ConnectionLostException lost = assertThrows(ConnectionLostException.class, () -> all(client).forEach(event -> {}));
            assertEquals("UNAVAILABLE: connection reset: by peer", lost.reason());
        }
    }

    @Test
    void aStreamedAnswerComesInOrderAndIsCancelledByClosingIt() throws Exception {
        List<String> ids = IntStream.range(0, 300).mapToObj(String::valueOf).toList();
        Function<CloudEvent, List<CloudEvent>> script = request -> ids.stream().map(id ->
                event("EntityResponse", "{\"success\":true,\"id\":\"" + id + "\"}", "x", "y")).toList();
        try (Recorder recorder = new Recorder(script); InterlockClient client = InterlockClient.create(recorder.target())) {
            recorder.end = null;
            try (Answers<Event> answers = all(client)) {
                List<String> came = answers.stream().limit(ids.size()).map(event -> event.data().node().path("id").asText()).toList();
                assertEquals(ids, came);
            }
            assertTrue(recorder.cancelled.await(20, TimeUnit.SECONDS));
        }
    }

    private static Answers<Event> all(InterlockClient client) {
        return client.stream("EntityGetAllRequest", Map.of("model", Parcels.PARCEL));
    }

    /** Makes a certificate that signs itself, and its key. */
    private static void certify(Path folder, String name) throws Exception {
        Path store = folder.resolve(name + ".p12");
        String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Process made = new ProcessBuilder(keytool, "-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048",
                "-dname", "CN=" + name, "-ext", "san=ip:127.0.0.1,dns:localhost", "-validity", "2",
                "-storetype", "PKCS12", "-storepass", "secret", "-keystore", store.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        assertTrue(made.waitFor(60, TimeUnit.SECONDS) && made.exitValue() == 0);
        KeyStore keys = store(folder, name);
        write(folder.resolve(name + ".crt"), "CERTIFICATE", keys.getCertificate(name).getEncoded());
        write(folder.resolve(name + ".key"), "PRIVATE KEY", keys.getKey(name, PASSWORD).getEncoded());
    }

    private static void write(Path path, String kind, byte[] content) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        Files.writeString(path, "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
    }
}
