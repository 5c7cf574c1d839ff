package interlock.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import interlock.client.api.ErrorCodes;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class FailureTest {

    private static final Map<Class<?>, String> CLASSES = Map.of(
            NotFoundException.class, "NotFound", ConflictException.class, "Conflict", ModelStateException.class, "ModelState",
            InvalidRequestException.class, "InvalidRequest", WorkflowFailedException.class, "WorkflowFailed",
            ComputeUnavailableException.class, "ComputeUnavailable", AccessException.class, "Access",
            CancelledException.class, "Cancelled", LimitException.class, "Limit",
            ConnectionLostException.class, "ConnectionLost");

    @Test
    void classesAndRemediesAreThoseOfAllClients() throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode shared = mapper.readTree(new File("../../errors.json"));
        Map<String, String> expected = new HashMap<>();
        shared.path("classes").properties()
                .forEach(one -> one.getValue().forEach(code -> expected.put(code.asText(), one.getKey())));
        Map<String, String> remedies = new HashMap<>();
        mapper.readTree(new File("../../schema/index.json")).path("errors")
                .forEach(one -> remedies.put(one.path("code").asText(), ErrorCodes.meaning(one.path("code").asText())));
        ClientCodes.REMEDIES.keySet().forEach(code -> remedies.put(code, shared.path("clientCodes").path(code).asText()));
        remedies.forEach((code, remedy) -> {
            InterlockException failure = new Failure(code, "", false).exception();
            Class<?> kind = failure instanceof ClientClosedException ? ConnectionLostException.class : failure.getClass();
            assertEquals(expected.get(code), CLASSES.get(kind), code);
            assertEquals(remedy, failure.remedy(), code);
        });
        assertInstanceOf(NotFoundException.class, new Failure("SHELF_NOT_FOUND", "", false).exception());
    }

    @Test
    void optionsThatCannotWorkAreRefused() {
        for (String target : List.of("", "localhost", "localhost:", ":9090", "localhost:0", "localhost:99999", "::1:9090")) {
            refused(() -> InterlockClient.create(target));
        }
        for (String target : List.of("[::1]:9090", "dns:///localhost:9090", "unix:/run/interlock")) {
            InterlockMember.builder(target);
        }
        refused(() -> InterlockMember.builder("localhost:9090").inFlight(0));
        refused(() -> InterlockMember.builder("localhost:9090").concurrency(0));
    }

    private static void refused(Executable made) {
        InterlockException failure = assertThrows(InterlockException.class, made);
        assertEquals(ClientCodes.INVALID_OPTIONS, failure.code(), failure.getMessage());
    }
}
