package interlock.client.testing;

import interlock.client.InterlockClient;
import interlock.client.InterlockMember;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server process on free ports, which are the same over restarts. It forgets everything at its end. */
public final class TestServer implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Pattern READY = Pattern.compile("interlock is ready .*http=\\S+:(\\d+) .*grpc=\\S+:(\\d+)");

    private final Map<String, String> settings = new HashMap<>();
    private final Path folder;
    private Process process;

    /** Starts one with settings of its own: names and values, one after the other. */
    public TestServer(String... namesAndValues) throws IOException {
        settings.put("CYODA_STORAGE_BACKEND", "memory");
        settings.put("INTERLOCK_IAM_MOCK_CALLER", "true");
        settings.put("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"); // a test that needs a member has it ready
        settings.put("CYODA_HTTP_PORT", "0");
        settings.put("CYODA_ADMIN_PORT", "0");
        settings.put("CYODA_GRPC_PORT", "0");
        for (int i = 0; i < namesAndValues.length; i += 2) {
            settings.put(namesAndValues[i], namesAndValues[i + 1]);
        }
        folder = Files.createTempDirectory("interlock");
        start();
    }

    /** The binary: what INTERLOCK_BIN names, else the debug build of the repository. */
    private static Path binary() throws IOException {
        String named = System.getenv("INTERLOCK_BIN");
        Path path = named != null ? Path.of(named) : repository().resolve("target/debug/interlock");
        if (!Files.isExecutable(path)) {
            throw new IOException("there is no server at " + path + "; build one, or name one in INTERLOCK_BIN");
        }
        return path.toAbsolutePath();
    }

    /** The root of the repository. */
    public static Path repository() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(folder.resolve("clients/java"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    /** Starts the process again, where it was. */
    public void start() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(binary().toString()).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(settings);
        Process started = builder.start();
        process = started;
        CompletableFuture<Matcher> ready = new CompletableFuture<>();
        Thread reader = new Thread(() -> read(started, ready), "server-output");
        reader.setDaemon(true);
        reader.start();
        try {
            Matcher ports = ready.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            settings.put("CYODA_HTTP_PORT", ports.group(1));
            settings.put("CYODA_GRPC_PORT", ports.group(2));
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            kill();
            throw new IOException("the server did not start", e);
        }
    }

    private static void read(Process process, CompletableFuture<Matcher> ready) {
        StringBuilder log = new StringBuilder();
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher found = READY.matcher(line);
                if (found.find()) {
                    ready.complete(found);
                } else if (!ready.isDone()) {
                    log.append(line).append('\n');
                }
            }
        } catch (IOException e) {
            log.append(e);
        }
        ready.completeExceptionally(new IOException(log.toString()));
    }

    /** Its gRPC port, as host:port. */
    public String target() {
        return "127.0.0.1:" + settings.get("CYODA_GRPC_PORT");
    }

    /** The beginning of the URLs of its HTTP port. */
    public String http() {
        return "http://127.0.0.1:" + settings.get("CYODA_HTTP_PORT");
    }

    /** Ends it without letting it finish anything. */
    public void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    @Override
    public void close() {
        kill();
    }

    /** A tenant that no other test uses. */
    public Tenant tenant() {
        return new Tenant(target(), UUID.randomUUID().toString());
    }

    /** Makes clients and members of one tenant. */
    public record Tenant(String target, String name) {

        /** Settings of a client of the tenant. */
        public InterlockClient.Builder client() {
            return InterlockClient.builder(target).metadata("x-mock-tenant", name).connectTimeout(PATIENCE);
        }

        /** Settings of a member of the tenant. */
        public InterlockMember.Builder member() {
            return InterlockMember.builder(target).metadata("x-mock-tenant", name).connectTimeout(PATIENCE);
        }
    }
}
