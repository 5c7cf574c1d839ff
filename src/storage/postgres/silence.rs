//! How what writes learns that the server does not answer.
//!
//! A statement that writes may take long: it waits for other processes, or for a standby. Whether
//! the server is there at all shows in what asks for the newest commit once a second. If that fails
//! twice in a row, nothing is waited for any longer.

use std::sync::Arc;

use tokio::sync::watch;

use crate::storage::port::{Cause, Failure};

/// After how many failures in a row the server counts as gone.
const FAILURES: u32 = 2;

/// How often in a row the server has not answered.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct Silence(Arc<watch::Sender<u32>>);

impl Silence {
    pub(super) fn answered(&self) {
        self.0
            .send_if_modified(|failures| std::mem::take(failures) > 0);
    }

    pub(super) fn failed(&self) {
        self.0
            .send_modify(|failures| *failures = failures.saturating_add(1));
    }

    /// Waits for what the server does, unless it stops answering meanwhile. What becomes of that is
    /// not known then, and the connection cannot be used again.
    pub(in crate::storage) async fn unless<T, E: From<Failure>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.begins() => {
                Err(Failure::new(Cause::Away, "the server does not answer").into())
            }
        }
    }

    /// Returns once the server has failed to answer so often in a row from here on.
    async fn begins(&self) {
        let mut failures = self.0.subscribe();
        let mut before = *failures.borrow_and_update();
        let mut since = 0;
        while since < FAILURES && failures.changed().await.is_ok() {
            let now = *failures.borrow_and_update();
            since = if now > before { since + 1 } else { 0 };
            before = now;
        }
        if since < FAILURES {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn nothing_is_waited_for_after_two_failures_in_a_row() {
        let silence = Silence::default();
        let work = std::future::pending::<Result<(), Failure>>();
        let mut waiting = std::pin::pin!(silence.unless(work));
        let mut is_over = || waiting.as_mut().now_or_never().is_some();
        assert!(!is_over());
        silence.failed();
        assert!(!is_over());
        silence.answered();
        assert!(!is_over());
        silence.failed();
        assert!(!is_over());
        silence.failed();
        assert!(is_over());
    }

    #[tokio::test]
    async fn what_has_failed_before_does_not_count() {
        let silence = Silence::default();
        silence.failed();
        silence.failed();
        let work = std::future::pending::<Result<(), Failure>>();
        assert!(silence.unless(work).now_or_never().is_none());
        let done = silence.unless(async { Ok::<_, Failure>(1) });
        assert_eq!(done.now_or_never().map(Result::ok), Some(Some(1)));
    }
}
