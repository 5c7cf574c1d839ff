package interlock.client;

import interlock.client.api.Operations;
import interlock.client.cloudevents.CloudEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes events of requests, and values of their answers. */
final class Requester implements Caller {

    private final Asker asker;

    Requester(Asker asker) {
        this.asker = asker;
    }

    Asker asker() {
        return asker;
    }

    @Override
    public <A> A call(Request request, Class<A> answer, RequestOption... options) {
        return decoded(ask(request.eventType(), request, options), answer);
    }

    @Override
    public <A> CompletableFuture<A> callAsync(Request request, Class<A> answer, RequestOption... options) {
        return askAsync(request.eventType(), request, data -> decoded(data, answer), options);
    }

    @Override
    public <A> Answers<A> stream(Request request, Class<A> item, RequestOption... options) {
        return new MappedAnswers<>(stream(request.eventType(), request, options), event -> decoded(event.data(), item));
    }

    @Override
    public <A> Answers<A> listen(Request request, List<Class<? extends A>> items, RequestOption... options) {
        return new MappedAnswers<>(listen(request.eventType(), request, options), event -> {
            for (Class<? extends A> item : items) {
                if (item.getSimpleName().equals(event.type())) {
                    return decoded(event.data(), item);
                }
            }
            throw new Failure(ClientCodes.INVALID_ANSWER, event.type() + " is not an answer to this request", false).exception();
        });
    }

    private static <A> A decoded(Json data, Class<A> type) {
        try {
            return data.decode(type);
        } catch (IllegalArgumentException e) {
            InterlockException invalid = new Failure(ClientCodes.INVALID_ANSWER, String.valueOf(e.getMessage()), false).exception();
            invalid.initCause(e);
            throw invalid;
        }
    }

    private CloudEvent event(String type, Object payload, Lane lane, RequestOption... options) {
        CloudEvent.Builder event = Envelope.of(type, payload);
        String key = RequestOption.idempotencyKeyOf(options);
        if (key != null) {
            Envelope.set(event, Envelope.KEY, key);
        }
        if (lane.token != null) {
            Envelope.set(event, Envelope.TOKEN, lane.token);
        }
        return event.build();
    }

    /** Sends a request and waits for the first event of its answer. */
    Json ask(String type, Object payload, RequestOption... options) {
        Duration timeout = RequestOption.timeoutOf(options);
        long deadline = timeout == null ? 0 : System.nanoTime() + timeout.toNanos();
        try {
            EventStream stream = awaitStream(timeout, deadline);
            Lane lane = asker.lane(stream);
            SingleExchange exchange = new SingleExchange(event(type, payload, lane, options), lane);
            stream.checkSize(exchange.request);
            stream.submit(exchange);
            try {
                return answered(await(exchange.answer, timeout, deadline));
            } finally {
                if (!isComplete(exchange, stream)) {
                    stream.giveUp(exchange);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    /** An answer in several events is complete only after the last one. */
    private static boolean isComplete(Exchange exchange, EventStream stream) {
        stream.lock.lock();
        try {
            return exchange.isComplete;
        } finally {
            stream.lock.unlock();
        }
    }

    private EventStream awaitStream(@Nullable Duration timeout, long deadline) throws InterruptedException {
        EventStream open = asker.open();
        return open != null ? open : await(asker.streamSoon(), timeout, deadline);
    }

    private static <T> T await(CompletableFuture<T> future, @Nullable Duration timeout, long deadline)
            throws InterruptedException {
        try {
            return timeout == null ? future.get() : future.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw Connection.unwrapped(e);
        } catch (TimeoutException e) {
            throw late(timeout);
        }
    }

    private static InterlockException late(@Nullable Duration timeout) {
        return Failure.cancelled("no answer within " + (timeout == null ? 0 : timeout.toMillis()) + " ms");
    }

    private static Json answered(CloudEvent event) {
        String data = Envelope.data(event);
        Failure.check(data);
        return Json.raw(data);
    }

    /** Sends a request; the first event of its answer completes the future. */
    <A> CompletableFuture<A> askAsync(String type, Object payload, Function<Json, A> form, RequestOption... options) {
        CompletableFuture<A> result = new CompletableFuture<>();
        EventStream open = asker.open();
        if (open != null) {
            askOn(open, type, payload, form, result, options);
        } else {
            asker.streamSoon().whenCompleteAsync((stream, e) -> {
                if (e != null) {
                    result.completeExceptionally(Connection.unwrapped(e));
                } else if (!result.isDone()) {
                    askOn(stream, type, payload, form, result, options);
                }
            }, asker.executor());
        }
        Duration timeout = RequestOption.timeoutOf(options);
        if (timeout != null && !result.isDone()) {
            CompletableFuture.delayedExecutor(timeout.toNanos(), TimeUnit.NANOSECONDS, asker.executor())
                    .execute(() -> result.completeExceptionally(late(timeout)));
        }
        return result;
    }

    private <A> void askOn(EventStream stream, String type, Object payload, Function<Json, A> form,
            CompletableFuture<A> result, RequestOption... options) {
        Lane lane = asker.lane(stream);
        SingleExchange exchange;
        try {
            exchange = new SingleExchange(event(type, payload, lane, options), lane);
            stream.checkSize(exchange.request);
        } catch (RuntimeException e) {
            result.completeExceptionally(e);
            return;
        }
        result.whenComplete((answer, e) -> {
            if (!isComplete(exchange, stream)) {
                stream.giveUp(exchange);
            }
        });
        exchange.answer.whenCompleteAsync((event, e) -> {
            if (e != null) {
                result.completeExceptionally(Connection.unwrapped(e));
                return;
            }
            try {
                result.complete(form.apply(answered(event)));
            } catch (RuntimeException failed) {
                result.completeExceptionally(failed);
            }
        }, asker.executor());
        stream.submit(exchange);
    }

    /** Sends a request with a streamed answer. */
    Answers<Event> stream(String type, Object payload, RequestOption... options) {
        Duration timeout = RequestOption.timeoutOf(options);
        long deadline = timeout == null ? 0 : System.nanoTime() + timeout.toNanos();
        try {
            // Types that have one event as the answer are not accepted on a call of their own.
            if (asker instanceof Asker.OfConnection outside && Operations.isStreamed(type)) {
                CloudEvent request = event(type, payload, new Lane(1, null), options);
                return opened(() -> outside.connection().stream(request), timeout, deadline);
            }
            EventStream stream = awaitStream(timeout, deadline);
            Lane lane = asker.lane(stream);
            QueueExchange exchange = new QueueExchange(event(type, payload, lane, options), lane, stream);
            stream.checkSize(exchange.request);
            stream.register(exchange);
            stream.submit(exchange);
            return new EventAnswers(limited(exchange, timeout, deadline));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    private static EventSource limited(EventSource source, @Nullable Duration timeout, long deadline) {
        return timeout == null ? source : new LimitedSource(source, deadline - System.nanoTime(), late(timeout));
    }

    /** Sends a request with an endless answer. */
    Answers<Event> listen(String type, Object payload, RequestOption... options) {
        Duration timeout = RequestOption.timeoutOf(options);
        long deadline = timeout == null ? 0 : System.nanoTime() + timeout.toNanos();
        try {
            CloudEvent request = event(type, payload, new Lane(1, null), options);
            return opened(() -> asker.listen(request), timeout, deadline);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    /** Begins a call of its own. */
    private interface Opening {
        EventSource open() throws InterruptedException;
    }

    /** The answer of a call of its own; its time includes opening it. */
    private static Answers<Event> opened(Opening opening, @Nullable Duration timeout, long deadline)
            throws InterruptedException {
        if (timeout == null) {
            return new EventAnswers(opening.open());
        }
        CompletableFuture<EventSource> opened = new CompletableFuture<>();
        // The program's own executor may have no thread left.
        Settings.Threads.SHARED.execute(() -> {
            try {
                opened.complete(opening.open());
            } catch (RuntimeException | InterruptedException e) {
                opened.completeExceptionally(e);
            }
        });
        try {
            return new EventAnswers(limited(await(opened, timeout, deadline), timeout, deadline));
        } catch (InterlockException | InterruptedException e) {
            opened.thenAccept(EventSource::close);
            throw e;
        }
    }
}
