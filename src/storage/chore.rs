//! What the committer does between two batches.

use tokio::sync::oneshot;

use super::{Error, port::Upkeep};

/// Where an answer is waited for.
pub(super) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Something to be done between two batches, and who waits for it.
#[derive(Debug)]
pub(super) enum Chore {
    Write {
        upkeep: Upkeep,
        reply: Reply<u64>,
    },
    /// Copies the rest of the log back, so that it begins again.
    CopyBack {
        done: oneshot::Sender<()>,
    },
}

impl Chore {
    /// Answers that it is not done.
    pub(super) fn refuse(self) {
        match self {
            Self::Write { reply, .. } => {
                let _ = reply.send(Err(Error::Unavailable));
            }
            Self::CopyBack { done } => {
                let _ = done.send(());
            }
        }
    }
}
