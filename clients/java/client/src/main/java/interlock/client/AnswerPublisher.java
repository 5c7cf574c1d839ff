package interlock.client;

import java.util.concurrent.Flow;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Reads an answer for a subscriber, on a thread of its own.
 *
 * @param <T> the items
 */
final class AnswerPublisher<T> implements Flow.Publisher<T> {

    private final Answers<T> answers;

    AnswerPublisher(Answers<T> answers) {
        this.answers = answers;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super T> subscriber) {
        answers.iterator(); // it is read once
        Subscription subscription = new Subscription(subscriber);
        Thread thread = new Thread(subscription::read, "interlock-publisher");
        thread.setDaemon(true);
        thread.start();
    }

    private final class Subscription implements Flow.Subscription {

        private final Flow.Subscriber<? super T> subscriber;
        private final Semaphore requested = new Semaphore(0);
        private volatile boolean isCancelled;
        private volatile @Nullable Throwable invalid;

        Subscription(Flow.Subscriber<? super T> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void request(long count) {
            if (count <= 0) {
                invalid = new IllegalArgumentException("a subscriber asks for at least one item, not " + count);
                requested.release();
                return;
            }
            int wanted = (int) Math.min(count, Integer.MAX_VALUE);
            // More than that is as good as all.
            requested.release(Math.min(wanted, Integer.MAX_VALUE - 1 - Math.min(requested.availablePermits(), Integer.MAX_VALUE - 1)));
        }

        @Override
        public void cancel() {
            isCancelled = true;
            answers.close();
            requested.release();
        }

        private void read() {
            subscriber.onSubscribe(this);
            try {
                while (!isCancelled) {
                    requested.acquire();
                    Throwable mistake = invalid;
                    if (mistake != null) {
                        throw mistake;
                    }
                    T item = isCancelled ? null : answers.next();
                    if (item == null) {
                        break;
                    }
                    subscriber.onNext(item);
                }
                if (!isCancelled) {
                    subscriber.onComplete();
                }
            } catch (Throwable failure) {
                answers.close();
                if (!isCancelled) {
                    subscriber.onError(failure);
                }
            }
        }
    }
}
