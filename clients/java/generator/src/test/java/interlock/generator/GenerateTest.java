package interlock.generator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class GenerateTest {

    private static final Path ROOT = Path.of("../../..");
    private static final String STALE = " is stale; execute `mvn -Pgenerate -pl generator compile` in clients/java";

    @Test
    void whatIsCommittedIsWhatIsGenerated() throws IOException {
        Map<String, String> wanted = Generate.api(ROOT);
        try (Stream<Path> files = Files.list(Generate.committed(ROOT))) {
            assertEquals(new TreeSet<>(wanted.keySet()), files.map(file -> file.getFileName().toString())
                    .collect(Collectors.toCollection(TreeSet::new)), "the list of files" + STALE);
        }
        for (Map.Entry<String, String> file : wanted.entrySet()) {
            String committed = Files.readString(Generate.committed(ROOT).resolve(file.getKey()));
            assertTrue(committed.equals(file.getValue()), file.getKey() + STALE);
        }
    }

    @Test
    void theMessagesAreThoseOfTheProtoFile() throws IOException {
        assertFalse(Messages.committed(ROOT).isEmpty());
        for (Path file : Messages.committed(ROOT)) {
            assertTrue(Files.readString(file).startsWith("// " + Messages.stamp(ROOT) + "\n"), file + STALE);
        }
    }

    @Test
    void anAddedMemberBecomesAComponent() throws IOException {
        Protocol protocol = Protocol.read(ROOT.resolve("clients/schema"));
        ObjectNode properties = (ObjectNode) protocol.files().get("EntityGetRequest").node().get("properties");
        properties.putObject("withHistory").put("type", "boolean").put("description", "Whether to include its history.");
        String source = new Types(protocol).files().get("EntityGetRequest.java");
        assertTrue(source.contains("@Nullable Boolean withHistory"), source);
        assertTrue(source.contains("public Builder withHistory(boolean withHistory)"), source);
    }

    @Test
    void namesFollowTheCustomsOfJava() {
        assertEquals("entityId", Text.camel("entityId"));
        assertEquals("jwksUrl", Text.camel("jwksUrl"));
        assertEquals("defaultValue", Text.camel("default"));
        assertEquals("CREATION_DATE", Text.constant("creationDate"));
        assertEquals("AND", Text.constant("AND"));
        assertEquals("RunStatus", Text.pascal("run_status"));
    }
}
