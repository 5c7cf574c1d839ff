package interlock.client;

import interlock.client.api.AsyncOperations;
import interlock.client.api.Operations;
import java.util.concurrent.CompletableFuture;

/**
 * How requests are sent: those of a client, of a member outside its calls, or of a call in its
 * transaction. It may be used by any number of threads; their requests run side by side.
 */
public abstract class Session {

    private final Requester requester;
    private final Operations operations;
    private final AsyncOperations async;
    private final Entities entities;
    private final Models models;
    private final Feeds feeds;

    Session(Asker asker) {
        this.requester = new Requester(asker);
        this.operations = new Operations(requester);
        this.async = new AsyncOperations(requester);
        this.entities = new Entities(requester, operations);
        this.models = new Models(requester, operations);
        this.feeds = new Feeds(requester, operations);
    }

    /** All operations of the server; their methods wait for the answer. */
    public Operations operations() {
        return operations;
    }

    /** All operations of the server with one answer; their methods return futures. */
    public AsyncOperations async() {
        return async;
    }

    /** Reads and writes entities. */
    public Entities entities() {
        return entities;
    }

    /** Prepares models and their workflows. */
    public Models models() {
        return models;
    }

    /** Follows what changes. */
    public Feeds feeds() {
        return feeds;
    }

    /**
     * Sends a request of any type and waits for its answer.
     *
     * @param payload what Jackson writes as an object, or {@link Json}; it has no id
     */
    public Json call(String eventType, Object payload, RequestOption... options) {
        return requester.ask(eventType, payload, options);
    }

    /** Sends a request of any type; its answer completes the future. */
    public CompletableFuture<Json> callAsync(String eventType, Object payload, RequestOption... options) {
        return requester.askAsync(eventType, payload, data -> data, options);
    }

    /**
     * Sends a request of any type with a streamed answer.
     *
     * <p>Outside of transactions each streamed answer is read on a call of its own: requests in the loop over it do not
     * wait for it. In the transaction of a call it is on the stream, with the answers of other requests: once 64 MiB
     * of answers are unread there, it has to be read within 10 s.
     */
    public Answers<Event> stream(String eventType, Object payload, RequestOption... options) {
        return requester.stream(eventType, payload, options);
    }
}
