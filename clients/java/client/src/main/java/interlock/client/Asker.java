package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Sends requests somewhere: on the stream of a connection, or in a transaction. */
interface Asker {

    /** The stream, if nothing has to be waited for. */
    @Nullable EventStream open();

    /** Completed with the stream. */
    CompletableFuture<EventStream> streamSoon();

    /** The lane of requests on that stream. */
    Lane lane(EventStream stream);

    /** Sends a request with an endless answer. */
    EventSource listen(CloudEvent request) throws InterruptedException;

    /** Waits until the server can be reached, for the connect timeout at most. */
    void connect() throws InterruptedException;

    /** Waits before something is tried again. */
    void pause(Duration delay) throws InterruptedException;

    /** Where futures are completed. */
    Executor executor();

    /** Outside of transactions. */
    record OfConnection(Connection connection) implements Asker {

        @Override
        public @Nullable EventStream open() {
            return connection.open();
        }

        @Override
        public CompletableFuture<EventStream> streamSoon() {
            return connection.streamSoon();
        }

        @Override
        public Lane lane(EventStream stream) {
            return stream.lane();
        }

        @Override
        public EventSource listen(CloudEvent request) throws InterruptedException {
            return connection.listen(request);
        }

        @Override
        public void connect() throws InterruptedException {
            connection.connect();
        }

        @Override
        public void pause(Duration delay) throws InterruptedException {
            connection.pause(delay);
        }

        @Override
        public Executor executor() {
            return connection.settings.executor;
        }
    }

    /** In the transaction of a call: on its stream, with its token. */
    record OfTransaction(EventStream stream, Lane lane, Executor executor) implements Asker {

        /**
         * How many requests of one call are sent before they are answered. The server works on those of
         * one transaction one after the other anyway.
         */
        private static final int IN_FLIGHT = 16;

        static OfTransaction of(EventStream stream, @Nullable String token, Executor executor) {
            return new OfTransaction(stream, token == null ? stream.lane() : new Lane(IN_FLIGHT, token), executor);
        }

        @Override
        public EventStream open() {
            return stream;
        }

        @Override
        public CompletableFuture<EventStream> streamSoon() {
            return CompletableFuture.completedFuture(stream);
        }

        @Override
        public Lane lane(EventStream same) {
            return lane;
        }

        @Override
        public EventSource listen(CloudEvent request) {
            throw new Failure(ClientCodes.NOT_SUPPORTED,
                    "an endless answer cannot be part of a transaction; use a client", false).exception();
        }

        /** The stream is open, or has ended for good. */
        @Override
        public void connect() {}

        @Override
        public void pause(Duration delay) {
            InterlockException failure = stream.failure();
            throw failure != null ? failure : Failure.connectionLost("the transaction has ended");
        }
    }
}
