package interlock.client;

import interlock.client.api.ErrorCodes;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Reads an answer again and again, each time from where it was, until it fails for good.
 *
 * @param <S> the items of the answer
 * @param <T> what is made of them
 */
abstract class ResumingAnswers<S, T> extends Answers<T> {

    private final Asker asker;
    private Duration delay = Connection.DELAY_FIRST;
    /** Whether a server that cannot be reached is an interruption. */
    private boolean isReached;
    private boolean isOver;
    /** The thread that opens the answer, or waits until it may do so again; guarded by this. */
    private @Nullable Thread opening;
    private volatile boolean isClosed;
    private volatile @Nullable Answers<S> current;

    /** With {@code hasToReach}, it fails if the server cannot be reached at first: its address may be wrong. */
    ResumingAnswers(Asker asker, boolean hasToReach) {
        this.asker = asker;
        this.isReached = !hasToReach;
    }

    /** Sends the request, for what comes after the position. */
    abstract Answers<S> open();

    /** Takes note of the position of an item, and makes what is wanted of it; null to skip it. */
    abstract @Nullable T accept(S item);

    /** Whether nothing more will come after the answer has ended without a failure. */
    abstract boolean isOver();

    /** Whether nothing can be resumed after this failure. */
    boolean isFinal(InterlockException failure) {
        return false;
    }

    @Override
    final @Nullable T next() throws InterruptedException {
        while (!isOver && !isClosed) {
            try {
                Answers<S> reading = current;
                if (reading == null) {
                    reading = reopened();
                    if (reading == null) {
                        break;
                    }
                }
                S item = reading.next();
                if (item != null) {
                    delay = Connection.DELAY_FIRST;
                    T wanted = accept(item);
                    if (wanted != null) {
                        return wanted;
                    }
                    continue;
                }
                if (isClosed || isOver()) {
                    break;
                }
            } catch (InterlockException e) {
                if (isClosed) {
                    break;
                }
                if (!isReached || isFinal(e) || !isPassing(e)) {
                    isOver = true;
                    throw e;
                }
            }
            leave();
            pause();
        }
        isOver = true;
        return null;
    }

    private static boolean isPassing(InterlockException failure) {
        return failure.code().equals(ClientCodes.CONNECTION_LOST) || failure.code().equals(ErrorCodes.STORAGE_UNAVAILABLE);
    }

    private void leave() {
        Answers<S> ended = current;
        current = null;
        if (ended != null) {
            ended.close();
        }
    }

    /** Opens the answer; null if it was closed meanwhile. */
    private @Nullable Answers<S> reopened() throws InterruptedException {
        if (!begin()) {
            return null;
        }
        Answers<S> made;
        try {
            if (!isReached) {
                asker.connect();
                isReached = true;
            }
            made = open();
        } catch (InterruptedException e) {
            if (isClosed) {
                return null;
            }
            throw e;
        } finally {
            end();
        }
        current = made;
        if (isClosed) {
            made.close();
        }
        return made;
    }

    private void pause() throws InterruptedException {
        if (!begin()) {
            return;
        }
        try {
            asker.pause(delay);
        } catch (InterruptedException e) {
            if (!isClosed) {
                throw e;
            }
        } catch (InterlockException e) {
            isOver = true;
            throw e;
        } finally {
            end();
        }
        delay = Connection.doubled(delay);
    }

    /** Lets closing interrupt this thread; false if it was closed. */
    private synchronized boolean begin() {
        opening = isClosed ? null : Thread.currentThread();
        return !isClosed;
    }

    private synchronized void end() {
        opening = null;
        if (isClosed) {
            Thread.interrupted(); // that was closing
        }
    }

    @Override
    public final void close() {
        synchronized (this) {
            isClosed = true;
            if (opening != null && opening != Thread.currentThread()) {
                opening.interrupt();
            }
        }
        Answers<S> reading = current;
        if (reading != null) {
            reading.close();
        }
    }
}
