package interlock.client;

import static interlock.client.Parcels.EVERYTHING;
import static interlock.client.Parcels.PARCEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
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

    private static final int DOCUMENTS = 20;
    private static final long UNREAD_MAX = 4 << 20;

    @Test
    void anAnswerThatIsNotReadDoesNotHoldUpOthersForLong() throws IOException {
        String note = "x".repeat(1 << 20);
        try (TestServer server = new TestServer()) {
            InterlockClient.Builder settings = server.tenant().client();
            settings.settings.unreadBytesMax = UNREAD_MAX;
            settings.settings.stallTimeout = Duration.ofSeconds(1);
            try (InterlockClient client = settings.build()) {
                check(client, note);
            }
        }
    }

    private static void check(InterlockClient client, String note) {
        Parcels.prepare(client);
        for (int i = 0; i < DOCUMENTS; i++) {
            client.entities().create(PARCEL, Map.of("note", note));
        }
        try (Answers<Entity> read = client.entities().search(PARCEL, EVERYTHING)) {
            assertEquals(DOCUMENTS, read.stream().count());
        }
        try (Answers<Entity> unread = client.entities().search(PARCEL, EVERYTHING)) {
            Iterator<Entity> entities = unread.iterator();
            entities.next();
            await(() -> !isReadOn(client));
            CompletableFuture<?> other = client.async().accountGet(new AccountGetRequest());
            await(() -> isReadOn(client)); // the rest is dropped
            other.join();
            InterlockException dropped = assertThrows(InterlockException.class, () -> entities.forEachRemaining(entity -> {}));
            assertEquals(ClientCodes.ANSWER_NOT_READ, dropped.code());
            assertTrue(!dropped.isRetryable());
        }
        client.operations().accountGet(new AccountGetRequest());
    }

    private static boolean isReadOn(InterlockClient client) {
        return client.connection.open().unreadBytes() <= UNREAD_MAX;
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it takes too long");
            LockSupport.parkNanos(1_000_000);
        }
    }
}
