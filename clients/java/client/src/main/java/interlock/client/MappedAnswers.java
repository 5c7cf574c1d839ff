package interlock.client;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The items of another answer, in another form.
 *
 * @param <S> the items of the other one
 * @param <T> the items
 */
final class MappedAnswers<S, T> extends Answers<T> {

    private final Answers<S> source;
    private final Function<? super S, ? extends T> form;

    MappedAnswers(Answers<S> source, Function<? super S, ? extends T> form) {
        this.source = source;
        this.form = form;
    }

    @Override
    @Nullable T next() throws InterruptedException {
        S next = source.next();
        return next == null ? null : form.apply(next);
    }

    @Override
    public void close() {
        source.close();
    }
}
