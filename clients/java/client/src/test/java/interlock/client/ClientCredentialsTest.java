package interlock.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import interlock.client.api.ErrorCodes;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClientCredentialsTest {

    private static final String GRANTED = "{\"access_token\":\"secret\",\"expires_in\":60}";

    /** A token endpoint that answers with these bytes once the gate is open, and counts the requests. */
    private static final class Endpoint implements AutoCloseable {

        final AtomicInteger asked = new AtomicInteger();
        final CountDownLatch gate;
        private final String answer;
        private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        Endpoint(String answer, CountDownLatch gate) throws IOException {
            this.answer = answer;
            this.gate = gate;
            Thread thread = new Thread(this::serve, "endpoint");
            thread.setDaemon(true);
            thread.start();
        }

        private void serve() {
            while (true) {
                try (Socket connection = socket.accept()) {
                    connection.getInputStream().read(new byte[4096]);
                    asked.incrementAndGet();
                    gate.await();
                    connection.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
                } catch (IOException | InterruptedException e) {
                    if (socket.isClosed()) {
                        return;
                    }
                }
            }
        }

        ClientCredentials credentials() {
            return new ClientCredentials(URI.create("http://127.0.0.1:" + socket.getLocalPort() + "/token"), "client", "secret");
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static String http(String status, String body) {
        return "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    @Test
    void onlyTheRefusalOfATokenEndpointIsFinal() throws IOException {
        String lost = ClientCodes.CONNECTION_LOST;
        Map<String, String> codes = Map.ofEntries(
                Map.entry(http("200 OK", "<html>starting</html>"), lost),
                Map.entry(http("200 OK", "{\"hello\":1}"), lost),
                Map.entry(http("200 OK", "null"), lost),
                Map.entry(http("200 OK", GRANTED).substring(0, 90), lost),
                Map.entry("what is this?\r\n\r\n", lost),
                Map.entry("", lost),
                Map.entry(http("502 Bad Gateway", "<html></html>"), lost),
                Map.entry(http("503 Unavailable", "{\"error\":\"temporarily_unavailable\"}"), lost),
                Map.entry(http("429 Too Many Requests", "{\"error\":\"slow_down\"}"), lost),
                Map.entry(http("403 Forbidden", "<html>proxy</html>"), lost),
                Map.entry(http("403 Forbidden", "{\"error\":\"access_denied\"}"), ErrorCodes.UNAUTHORIZED),
                Map.entry(http("400 Bad Request", "{\"error\":\"unsupported_grant_type\"}"), ErrorCodes.UNAUTHORIZED),
                Map.entry(http("401 Unauthorized", "<html>proxy</html>"), lost),
                Map.entry(http("401 Unauthorized", "{\"error\":\"invalid_client\"}"), ErrorCodes.UNAUTHORIZED),
                Map.entry(http("401 Unauthorized", "{\"status\":401,\"properties\":{\"errorCode\":\"UNAUTHORIZED\"}}"),
                        ClientCodes.INVALID_OPTIONS),
                Map.entry(http("404 Not Found", "<html></html>"), ClientCodes.INVALID_OPTIONS));
        for (Map.Entry<String, String> one : codes.entrySet()) {
            try (Endpoint endpoint = new Endpoint(one.getKey(), new CountDownLatch(0))) {
                InterlockException failure = assertThrows(InterlockException.class, endpoint.credentials()::token);
                assertEquals(one.getValue(), failure.code(), one.getKey() + " " + failure.getMessage());
            }
        }
    }

    /** A row of {@code clients/token-lifetimes.json}, with which all clients compare. */
    private record Lifetime(@Nullable String expiresIn, long seconds) {}

    @Test
    void aTokenIsUsedWhateverTheEndpointSaysAboutItsLife() throws Exception {
        String table = Files.readString(TestServer.repository().resolve("clients/token-lifetimes.json"));
        List<Lifetime> lifetimes = new ArrayList<>(List.of(Json.parse(Json.parse(table).node().path("lifetimes").toString())
                .decode(Lifetime[].class)));
        assertTrue(lifetimes.size() > 5);
        lifetimes.add(new Lifetime("1e300", 86_400));
        for (Lifetime one : lifetimes) {
            assertEquals(one.seconds, ClientCredentials.life(one.expiresIn == null ? null : Json.parse(one.expiresIn)).toSeconds());
            String said = one.expiresIn == null ? "" : ",\"expires_in\":" + one.expiresIn;
            try (Endpoint endpoint = new Endpoint(http("200 OK", "{\"access_token\":\"secret\"" + said + "}"), new CountDownLatch(0))) {
                ClientCredentials credentials = endpoint.credentials();
                assertEquals("secret", credentials.token(), said);
                assertEquals("secret", credentials.token(), said);
                assertEquals(one.seconds == 0 ? 2 : 1, endpoint.asked.get(), said);
            }
        }
    }

    @Test
    void anInterruptedCallerWaitsForNoToken() throws Exception {
        try (Endpoint endpoint = new Endpoint(http("200 OK", GRANTED), new CountDownLatch(1))) {
            ClientCredentials credentials = endpoint.credentials();
            CompletableFuture<String> first = CompletableFuture.supplyAsync(() -> token(credentials));
            while (endpoint.asked.get() == 0) {
                Thread.onSpinWait();
            }
            CountDownLatch interrupted = new CountDownLatch(1);
            Thread waiting = new Thread(() -> {
                assertThrows(InterruptedException.class, credentials::token);
                interrupted.countDown();
            });
            waiting.start();
            waiting.interrupt();
            assertTrue(interrupted.await(5, TimeUnit.SECONDS));
            credentials.forget("another"); // does not wait either
            endpoint.gate.countDown();
            assertEquals("secret", first.get(20, TimeUnit.SECONDS));
            assertEquals("secret", credentials.token());
            assertEquals(1, endpoint.asked.get());
            credentials.forget("secret");
            assertEquals("secret", credentials.token());
            assertEquals(2, endpoint.asked.get());
        }
    }

    private static String token(ClientCredentials credentials) {
        try {
            return credentials.token();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
