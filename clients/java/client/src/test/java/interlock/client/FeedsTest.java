package interlock.client;

import static interlock.client.Parcels.PARCEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import interlock.client.api.ActionRegisterRequest;
import interlock.client.api.Condition;
import interlock.client.api.EntityChangeEvent;
import interlock.client.api.RunDefinitionCreateRequest;
import interlock.client.api.RunHistoryEvent;
import interlock.client.api.RunStartRequest;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class FeedsTest {

    @Test
    void aFeedOverARestartHasEveryChangeOnce(@TempDir Path folder) throws IOException {
        try (TestServer server = new TestServer("CYODA_STORAGE_BACKEND", "sqlite",
                "CYODA_SQLITE_PATH", Files.createDirectories(folder).resolve("interlock.db").toString());
                InterlockClient client = server.tenant().client().build()) {
            Parcels.prepare(client);
            List<String> created = new ArrayList<>();
            List<String> seen = new ArrayList<>();
            try (Answers<EntityChangeEvent> changes = client.feeds().changes(Changes.of(PARCEL).after(0).withData())) {
                Iterator<EntityChangeEvent> next = changes.iterator();
                for (int round = 0; round < 3; round++) {
                    for (int i = 0; i < 5; i++) {
                        created.add(createdPatiently(client, "S-" + round + "-" + i));
                        seen.add(next.next().entityId());
                    }
                    server.kill();
                    server.start();
                }
            }
            assertEquals(created, seen);
        }
    }

    /** Repeats a write under a key, as long as the connection is lost. */
    private static String createdPatiently(InterlockClient client, String sku) {
        while (true) {
            try {
                return client.entities().create(PARCEL, Map.of("sku", sku), RequestOption.idempotencyKey(sku)).entityId();
            } catch (ConnectionLostException e) {
                client.connect();
            }
        }
    }

    @Test
    void aLiveSearchHasTheResultAndThenWhatEntersAndLeaves() throws IOException {
        try (TestServer server = new TestServer(); InterlockClient client = server.tenant().client().build()) {
            Parcels.prepare(client);
            String first = client.entities().create(PARCEL, Map.of("weight", 0.5)).entityId();
            Condition isLight = Condition.builder().type(Condition.Type.SIMPLE).jsonPath("$.weight")
                    .operatorType(Condition.OperatorType.LESS_THAN).value(Json.of(1)).build();
            List<String> seen = new ArrayList<>();
            try (Answers<Match> matches = client.feeds().search(LiveSearch.of(PARCEL, isLight))) {
                for (Match match : matches) {
                    if (match instanceof Match.Found found) {
                        assertEquals(first, found.entity().id());
                        seen.add("matches");
                        continue;
                    }
                    String change = String.valueOf(((Match.Changed) match).event().change());
                    seen.add(change);
                    if (change.equals("complete")) {
                        client.entities().create(PARCEL, Map.of("weight", 0.25));
                    } else if (change.equals("entered")) {
                        client.entities().update(first, Map.of("weight", 7));
                    } else {
                        break;
                    }
                }
            }
            assertEquals(List.of("matches", "complete", "entered", "left"), seen);
        }
    }

    @Test
    void aFeedEndsWhenItIsClosedAndWithARefusal() throws Exception {
        try (TestServer server = new TestServer(); InterlockClient client = server.tenant().client().build()) {
            Answers<EntityChangeEvent> changes = client.feeds().changes(Changes.all());
            CompletableFuture<Long> counted = CompletableFuture.supplyAsync(() -> changes.stream().count());
            changes.close();
            assertEquals(0, counted.get(20, TimeUnit.SECONDS));
            try (Answers<EntityChangeEvent> refused = client.feeds().changes(Changes.all().after(-1))) {
                assertThrows(InvalidRequestException.class, () -> refused.iterator().hasNext());
            }
        }
    }

    @Test
    void aFeedOfAServerThatIsNotThereFails() {
        try (InterlockClient alone = InterlockClient.builder("127.0.0.1:1").connectTimeout(Duration.ofMillis(200)).build()) {
            Condition any = Condition.builder().type(Condition.Type.GROUP).operator(Condition.Operator.AND)
                    .conditions(List.of()).build();
            Feeds feeds = alone.feeds();
            for (Answers<?> feed : List.of(feeds.changes(Changes.all().after(0)), feeds.changes(Changes.all()),
                    feeds.search(LiveSearch.of(PARCEL, any)), feeds.run("run-1", 0), feeds.runs(null, null, 0L),
                    feeds.runs(null, null, null))) {
                ConnectionLostException lost = assertThrows(ConnectionLostException.class, () -> feed.iterator().hasNext());
                assertTrue(lost.reason().startsWith("no answer from 127.0.0.1:1 within 200 ms"), lost.reason());
            }
        }
    }

    @Test
    void aFeedInATransactionIsRefused() throws IOException {
        try (TestServer server = new TestServer(); InterlockMember member = server.tenant().member().tags("java").build()) {
            member.processor("price", (entity, context) -> {
                try (Answers<EntityChangeEvent> changes = context.feeds().changes(Changes.all().after(0))) {
                    changes.iterator().next();
                } catch (InterlockException e) {
                    return Map.of("note", e.code());
                }
                return null;
            });
            member.start();
            Parcels.prepare(member, Parcels.processor("price"));
            assertEquals("{\"note\":\"NOT_SUPPORTED\"}", Parcels.created(member).data().text());
        }
    }

    @Test
    void theHistoryOfARunEndsWithTheRun() throws IOException {
        try (TestServer server = new TestServer(); InterlockMember member = server.tenant().member().tags("java").build()) {
            member.action("charge", (input, task) -> null);
            member.start();
            member.operations().actionRegister(ActionRegisterRequest.builder().name("charge").build());
            member.operations().runDefinitionCreate(RunDefinitionCreateRequest.builder().document(Json.parse("""
                    {"kind": "Workflow", "name": "orders", "version": "1.0.0", "start": {
                      "run": "@actions/charge", "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}
                    """)).build());
            String run = member.operations().runStart(
                    RunStartRequest.builder().definition("orders").input(Json.parse("{}")).build()).runId();
            List<Long> sequences = new ArrayList<>();
            try (Answers<RunHistoryEvent> history = member.feeds().run(run, 0)) {
                history.forEach(event -> sequences.add(event.sequence()));
            }
            assertFalse(sequences.isEmpty());
            for (int i = 0; i < sequences.size(); i++) {
                assertEquals(i + 1L, sequences.get(i));
            }
            try (Answers<RunHistoryEvent> more = member.feeds().run(run, sequences.size())) {
                assertFalse(more.iterator().hasNext());
            }
            try (Answers<RunHistoryEvent> all = member.feeds().runs("default", "orders", 0L)) {
                assertTrue(all.iterator().next().position() > 0);
            }
        }
    }
}
