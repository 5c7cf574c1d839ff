package interlock.client;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Sends typed requests; what the generated operations are made of. */
public interface Caller {

    /** Sends a request and waits for its one answer. */
    <A> A call(Request request, Class<A> answer, RequestOption... options);

    /** Sends a request; its one answer completes the future. */
    <A> CompletableFuture<A> callAsync(Request request, Class<A> answer, RequestOption... options);

    /** Sends a request with a streamed answer. */
    <A> Answers<A> stream(Request request, Class<A> item, RequestOption... options);

    /** Sends a request with an answer without an end, on a call of its own. */
    default <A> Answers<A> listen(Request request, Class<A> item, RequestOption... options) {
        return listen(request, List.of(item), options);
    }

    /** The same, where items may have several types. */
    <A> Answers<A> listen(Request request, List<Class<? extends A>> items, RequestOption... options);
}
