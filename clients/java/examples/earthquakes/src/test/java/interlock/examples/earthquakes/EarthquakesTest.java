package interlock.examples.earthquakes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import interlock.client.Answers;
import interlock.client.ComputeUnavailableException;
import interlock.client.ConnectionLostException;
import interlock.client.Entity;
import interlock.client.InterlockClient;
import interlock.client.testing.TestServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class EarthquakesTest {

    private static final Path FILES = TestServer.repository().resolve("clients/python/examples/earthquakes");

    /** What the example in Python ends with. */
    private static final String TABLE = """

            earthquake           entities
              ROUTINE                1362
              NOTABLE                 177
              AWAITING_REVIEW          96
              ALERTED                  44
              SET_ASIDE                28
              together               1707

            earthquake-alert     entities
              OPEN                     44
              together                 44
            """;

    private static String printed(String... arguments) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Main.run(arguments, new PrintStream(out, true, StandardCharsets.UTF_8));
        return out.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
    }

    private static void assertContains(String printed, String... wanted) {
        for (String one : wanted) {
            assertTrue(printed.contains(one), () -> one + " is missing in\n" + printed);
        }
    }

    @Test
    void allReportsAreLoadedOnce() throws IOException {
        try (TestServer server = new TestServer()) {
            String[] arguments = {"--with-member", "--server", server.target(), "--files", FILES.toString()};
            assertContains(printed(arguments), "\n1707 reports added\n",
                    "13 automatic reports from magnitude 3 on confirmed\n", TABLE);
            assertContains(printed(arguments), "1707 of them are there already\n", "\n0 reports added\n", TABLE);
            try (InterlockClient client = InterlockClient.create(server.target())) {
                check(client);
            }
        }
    }

    /** Compares reports with alerts, and one report with the file. */
    private static void check(InterlockClient client) {
        Map<String, String> alerted = new HashMap<>(); // ids of alerts by ids of reports
        try (Answers<Entity> alerts = client.entities().list(Processors.ALERTS)) {
            alerts.forEach(alert -> alerted.put(alert.document().path("reportId").asText(), alert.id()));
        }
        int reviewed = 0;
        try (Answers<Entity> reports = client.entities().list(Processors.REPORTS)) {
            for (Entity report : reports) {
                JsonNode document = report.document();
                String id = document.path("id").asText();
                assertEquals(alerted.get(id), document.path("alertId").asText(null));
                assertEquals(report.state().equals("ALERTED"), alerted.containsKey(id));
                reviewed += document.has("review") ? 1 : 0;
                if (id.equals("ci37868143")) {
                    assertEquals("-118.6671667", document.at("/geometry/coordinates/0").asText());
                    assertEquals("63095734", document.at("/assessment/energyJoules").asText());
                }
            }
        }
        assertEquals(13, reviewed);
    }

    @Test
    void memberAndLoaderCanBeTwoPrograms() throws Exception {
        try (TestServer server = new TestServer("CYODA_DISPATCH_WAIT_TIMEOUT", "30s")) {
            Process member = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                    System.getProperty("java.class.path"), Main.class.getName(), "--member", "--server", server.target())
                    .inheritIO().start();
            try {
                assertContains(printed("--server", server.target(), "--files", FILES.toString()), TABLE);
                member.destroy(); // SIGTERM
                assertTrue(member.waitFor(60, TimeUnit.SECONDS));
                assertEquals(143, member.exitValue());
            } finally {
                member.destroyForcibly();
            }
        }
    }

    @Test
    void whatIsMissingIsAnExceptionOfItsClass() throws IOException {
        try (TestServer server = new TestServer()) {
            assertThrows(ComputeUnavailableException.class,
                    () -> printed("--server", server.target(), "--files", FILES.toString()));
        }
        for (List<String> more : List.of(List.<String>of(), List.of("--with-member"))) {
            List<String> arguments = new ArrayList<>(List.of("--server", "127.0.0.1:1", "--timeout", "0.2"));
            arguments.addAll(more);
            ConnectionLostException lost =
                    assertThrows(ConnectionLostException.class, () -> printed(arguments.toArray(String[]::new)));
            assertTrue(lost.reason().startsWith("no answer from 127.0.0.1:1"), lost.reason());
        }
    }

    @Test
    void theEnergyIsThatOfThePythonExample() {
        // round(10 ** (Decimal("1.5") * magnitude + Decimal("4.8")))
        Map.of("-0.6", "7943", "0", "63096", "2", "63095734", "4.45", "298538261892", "5.2", "3981071705535",
                "6.1", "89125093813375", "6.4", "251188643150958", "7.9", "44668359215096312")
                .forEach((magnitude, joules) -> assertEquals(joules, Energy.joules(new BigDecimal(magnitude)).toString()));
    }
}
