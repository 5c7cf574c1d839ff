//! What is finished although nobody waits for it any more.
//!
//! The future that answers a request is dropped when its caller leaves. What has to follow a commit
//! is done all the same: while a guard of [`Critical::enter`] is held, a future that is dropped
//! continues in a task of its own, up to the first wait after the guard is released.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tokio::runtime::Handle;

/// Counts the guards of one request.
#[derive(Debug, Clone, Default)]
pub struct Critical(Arc<AtomicUsize>);

/// For as long as it is held, the work of the request is continued.
#[derive(Debug)]
#[must_use = "the work is continued only while this is held"]
pub struct CriticalGuard(Arc<AtomicUsize>);

impl Critical {
    pub fn enter(&self) -> CriticalGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        CriticalGuard(Arc::clone(&self.0))
    }

    fn is_entered(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Work that enters guards of this.
    pub fn guarded<F: Future + Send + 'static>(&self, work: F) -> Guarded<F> {
        Guarded {
            work: Some(Box::pin(work)),
            critical: self.clone(),
        }
    }
}

impl Drop for CriticalGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The work of a request, which is continued if it is dropped while a guard is held.
#[derive(Debug)]
pub struct Guarded<F: Future + Send + 'static> {
    /// None once it has ended.
    work: Option<Pin<Box<F>>>,
    critical: Critical,
}

impl<F: Future + Send + 'static> Future for Guarded<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(cx);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<F: Future + Send + 'static> Drop for Guarded<F> {
    fn drop(&mut self) {
        let Some(work) = self.work.take().filter(|_| self.critical.is_entered()) else {
            return;
        };
        let critical = self.critical.clone();
        // Without a runtime the process ends, and what it leaves is found at the next start.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(Rest { work, critical });
        }
    }
}

/// Work whose caller has left.
struct Rest<F> {
    work: Pin<Box<F>>,
    critical: Critical,
}

impl<F: Future> Future for Rest<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.work.as_mut().poll(cx).is_pending() && self.critical.is_entered() {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// Work that waits for two messages, the first of them within a guard, and reports both.
    struct Waits {
        answers: [oneshot::Sender<()>; 2],
        done: [oneshot::Receiver<()>; 2],
        critical: Critical,
        work: Pin<Box<dyn Future<Output = ()> + Send>>,
    }

    fn waits() -> Waits {
        let critical = Critical::default();
        let entered = critical.clone();
        let ((first, first_answer), (second, second_answer)) =
            (oneshot::channel(), oneshot::channel());
        let ((first_done, is_first_done), (second_done, is_second_done)) =
            (oneshot::channel(), oneshot::channel());
        let work = async move {
            let guard = entered.enter();
            let _ = first_answer.await;
            let _ = first_done.send(());
            drop(guard);
            let _ = second_answer.await;
            let _ = second_done.send(());
        };
        Waits {
            answers: [first, second],
            done: [is_first_done, is_second_done],
            work: Box::pin(critical.guarded(work)),
            critical,
        }
    }

    #[tokio::test]
    async fn dropped_work_continues_while_a_guard_is_held_and_no_longer() {
        let Waits {
            answers: [first, _second],
            done: [is_first_done, is_second_done],
            critical,
            mut work,
        } = waits();
        assert!(futures_util::poll!(&mut work).is_pending());
        assert!(critical.is_entered());
        drop(work);
        first.send(()).expect("it is waited for");
        is_first_done.await.expect("it is done");
        assert!(is_second_done.await.is_err(), "the rest is dropped");
    }

    #[tokio::test]
    async fn work_is_dropped_where_no_guard_is_held() {
        let Waits {
            answers: [first, second],
            done: [is_first_done, is_second_done],
            critical,
            mut work,
        } = waits();
        first.send(()).expect("it is waited for");
        assert!(futures_util::poll!(&mut work).is_pending());
        is_first_done.await.expect("it is done");
        assert!(!critical.is_entered());
        drop(work);
        assert!(second.is_closed());
        assert!(is_second_done.await.is_err(), "it was dropped");
    }
}
