package interlock.client;

import static interlock.client.Parcels.EVERYTHING;
import static interlock.client.Parcels.PARCEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import interlock.client.api.AccountGetRequest;
import interlock.client.testing.TestServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class BackPressureTest {

    private static final int DOCUMENTS = 12;
    private static final long UNREAD_MAX = 4 << 20;

    /** Few bytes may be unread, and not for long. */
    private static void limit(Settings settings) {
        settings.unreadBytesMax = UNREAD_MAX;
        settings.stallTimeout = Duration.ofSeconds(1);
    }

    private static void createLarge(Session session) {
        String note = "x".repeat(1 << 20);
        for (int i = 0; i < DOCUMENTS; i++) {
            session.entities().create(PARCEL, Map.of("note", note));
        }
    }

    @Test
    void theLoopOverALargeSearchMaySendRequests() throws IOException {
        try (TestServer server = new TestServer()) {
            InterlockClient.Builder settings = server.tenant().client();
            limit(settings.settings);
            try (InterlockClient client = settings.build()) {
                Parcels.prepare(client);
                createLarge(client);
                int read = 0;
                try (Answers<Entity> found = client.entities().search(PARCEL, EVERYTHING)) {
                    for (Entity entity : found) {
                        assertEquals(entity.data(), client.entities().get(entity.id()).data());
                        read++;
                    }
                }
                assertEquals(DOCUMENTS, read);
            }
        }
    }

    @Test
    void closingWaitsForAnswersThatAreReadAndGivesOthersUp() throws Exception {
        try (TestServer server = new TestServer()) {
            TestServer.Tenant tenant = server.tenant();
            try (InterlockClient client = tenant.client().build()) {
                Parcels.prepare(client);
                createLarge(client);
                Iterator<Entity> entities = client.entities().search(PARCEL, EVERYTHING).iterator();
                entities.next();
                CompletableFuture<Void> closed = CompletableFuture.runAsync(client::close);
                await(client.connection::isClosed);
                assertThrows(ClientClosedException.class, () -> client.entities().search(PARCEL, EVERYTHING).iterator().next());
                for (int i = 1; i < DOCUMENTS; i++) {
                    entities.next();
                }
                assertFalse(entities.hasNext());
                closed.join();
            }
            InterlockClient client = tenant.client().build();
            Iterator<Entity> entities = client.entities().search(PARCEL, EVERYTHING).iterator();
            entities.next();
            client.connection.close(Duration.ofMillis(100));
            assertThrows(ClientClosedException.class, () -> entities.forEachRemaining(entity -> {}));
        }
    }

    @Test
    void anAnswerInATransactionThatIsNotReadDoesNotHoldUpOthersForLong() throws IOException {
        try (TestServer server = new TestServer()) {
            InterlockMember.Builder settings = server.tenant().member().tags("java");
            limit(settings.settings);
            try (InterlockMember member = settings.build()) {
                member.processor("price", (entity, context) -> {
                    check(member, context);
                    return null;
                });
                member.start();
                Parcels.prepare(member, Parcels.flow("\"manual\": true, \"processors\": [{\"name\": \"price\","
                        + " \"type\": \"externalized\", \"executionMode\": \"SYNC\","
                        + " \"config\": {\"calculationNodesTags\": \"java\"}}]"));
                createLarge(member);
                Entity entity = Parcels.created(member);
                member.entities().transition(entity.id(), "process");
                assertEquals("DONE", member.entities().get(entity.id()).state());
            }
        }
    }

    private static void check(InterlockMember member, CallContext context) {
        try (Answers<Entity> read = context.entities().search(PARCEL, EVERYTHING)) {
            assertEquals(DOCUMENTS + 1, read.stream().count());
        }
        try (Answers<Entity> unread = context.entities().search(PARCEL, EVERYTHING)) {
            Iterator<Entity> entities = unread.iterator();
            entities.next();
            await(() -> !isReadOn(member));
            CompletableFuture<?> other = context.async().accountGet(new AccountGetRequest());
            await(() -> isReadOn(member)); // the rest is dropped
            other.join();
            InterlockException dropped = assertThrows(InterlockException.class, () -> entities.forEachRemaining(entity -> {}));
            assertEquals(ClientCodes.ANSWER_NOT_READ, dropped.code());
            assertTrue(!dropped.isRetryable());
        }
        context.operations().accountGet(new AccountGetRequest());
    }

    private static boolean isReadOn(InterlockMember member) {
        return member.connection.open().unreadBytes() <= UNREAD_MAX;
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it takes too long");
            LockSupport.parkNanos(1_000_000);
        }
    }
}
