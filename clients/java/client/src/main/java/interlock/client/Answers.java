package interlock.client;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.Flow;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * A streamed answer, read once and as it arrives:
 *
 * <pre>{@code
 * try (Answers<Entity> found = client.entities().search(model, condition)) {
 *     for (Entity entity : found) { … }
 * }
 * }</pre>
 *
 * <p>Closing it early cancels the request; that may be done by another thread, for which the loop
 * ends. A failure is thrown by the loop.
 *
 * @param <T> the items
 */
public abstract class Answers<T> implements Iterable<T>, AutoCloseable {

    private boolean isUsed;

    Answers() {}

    /** Waits for the next item; null after the last one, and after it was closed. */
    abstract @Nullable T next() throws InterruptedException;

    /** Reads no more, and cancels the request if it is not answered. */
    @Override
    public abstract void close();

    /** The items, once. */
    @Override
    public Iterator<T> iterator() {
        if (isUsed) {
            throw new IllegalStateException("an answer is read once");
        }
        isUsed = true;
        return new Reader();
    }

    /** The items as a sequential stream; closing it closes this. */
    public Stream<T> stream() {
        int traits = Spliterator.ORDERED | Spliterator.NONNULL;
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(iterator(), traits), false).onClose(this::close);
    }

    /** The items in another form. */
    public <R> Answers<R> map(Function<? super T, ? extends R> form) {
        return new MappedAnswers<>(this, form);
    }

    /**
     * The items for one subscriber, who gets what it has asked for; its methods are called on a
     * thread of this library. Cancelling the subscription closes this.
     */
    public Flow.Publisher<T> publisher() {
        return new AnswerPublisher<>(this);
    }

    /** Waits for the next item; a {@link CancelledException} if the thread is interrupted. */
    final @Nullable T await() {
        try {
            return next();
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw Failure.cancelled("the thread was interrupted");
        }
    }

    private final class Reader implements Iterator<T> {

        private @Nullable T ahead;
        private boolean isOver;

        @Override
        public boolean hasNext() {
            if (ahead == null && !isOver) {
                ahead = await();
                isOver = ahead == null;
            }
            return ahead != null;
        }

        @Override
        public T next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            T item = ahead;
            ahead = null;
            return item;
        }
    }
}
