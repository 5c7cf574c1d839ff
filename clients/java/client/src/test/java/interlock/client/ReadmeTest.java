package interlock.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import interlock.client.api.ModelSpec;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class ReadmeTest {

    private static final Path ROOT = TestServer.repository();
    private static final Pattern PROGRAM = Pattern.compile("```java\n(import [^`]*?public class (\\w+) \\{.*?)```", Pattern.DOTALL);

    @TempDir
    private Path folder;

    /** Compiles the program of the README that is called so, for a server, and makes it ready to start. */
    private ProcessBuilder program(String name, String target) throws IOException {
        Matcher found = PROGRAM.matcher(Files.readString(ROOT.resolve("clients/java/README.md")));
        while (found.find()) {
            if (found.group(2).equals(name)) {
                Path source = folder.resolve(name + ".java");
                Files.writeString(source, found.group(1).replace("localhost:9090", target));
                String libraries = System.getProperty("java.class.path");
                assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null,
                        "-cp", libraries, "-d", folder.toString(), source.toString()));
                String all = folder + System.getProperty("path.separator") + libraries;
                return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", all, name)
                        .redirectError(ProcessBuilder.Redirect.INHERIT);
            }
        }
        throw new IOException("the README has no program " + name);
    }

    @Test
    void theClientOfTheReadmeWorksAsOftenAsItIsStarted() throws Exception {
        try (TestServer server = new TestServer()) {
            ProcessBuilder program = program("Parcels", server.target());
            for (int i = 0; i < 2; i++) {
                Process process = program.start();
                String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertTrue(process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0);
                assertTrue(printed.contains("\"weight\":0.25"), printed);
            }
        }
    }

    @Test
    void theMemberOfTheReadmeServesTheOrders() throws Exception {
        try (TestServer server = new TestServer("CYODA_DISPATCH_WAIT_TIMEOUT", "30s");
                InterlockClient client = InterlockClient.create(server.target())) {
            ModelSpec order = new ModelSpec("order", 1);
            client.models().importSample(order, Map.of("total", 12.5, "tax", 2.5));
            client.models().lock(order);
            client.models().importWorkflows(order, firstSession());
            String id = client.entities().create(order, Map.of("total", 19.9)).entityId();
            Process member = program("Billing", server.target()).start();
            try {
                client.entities().transition(id, "invoice");
                Entity entity = client.entities().get(id);
                assertEquals("INVOICED", entity.state());
                assertEquals(50, entity.document().path("tax").asInt());
                member.destroy(); // SIGTERM
                assertTrue(member.waitFor(60, TimeUnit.SECONDS));
                assertEquals(143, member.exitValue());
            } finally {
                member.destroyForcibly();
            }
        }
    }

    /** The workflow of orders in the README of the repository. */
    private static Json firstSession() throws IOException {
        Matcher found = Pattern.compile("\"workflows\": \\[(\\{.*?\\})\\]\\}'", Pattern.DOTALL)
                .matcher(Files.readString(ROOT.resolve("README.md")));
        assertTrue(found.find(), "the README has no workflow of orders");
        return Json.parse(found.group(1));
    }

    @Test
    void theVersionIsInStepWithTheServer() throws IOException {
        assertTrue(Files.readString(ROOT.resolve("Cargo.toml")).contains("\nversion = \"" + InterlockClient.VERSION + "\"\n"));
        String version = "<version>" + InterlockClient.VERSION + "</version>";
        for (String file : List.of("README.md", "pom.xml", "client/pom.xml", "generator/pom.xml", "conformance/pom.xml",
                "examples/earthquakes/pom.xml")) {
            assertTrue(Files.readString(ROOT.resolve("clients/java").resolve(file)).contains(version), file);
        }
    }
}
