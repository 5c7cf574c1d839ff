//! What is handed to the committer.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::oneshot;

use super::{
    Error,
    draft::{Committed, Draft},
};

/// A finished unit, and who waits for it.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) draft: Box<Draft>,
    pub(super) bytes: usize,
    pub(super) claim: Claim,
    pub(super) reply: oneshot::Sender<Result<Committed, Error>>,
}

/// Whether a unit can still be taken back.
#[derive(Debug, Clone, Default)]
pub(super) struct Claim(Arc<AtomicU8>);

impl Claim {
    const WAITING: u8 = 0;
    const WITHDRAWN: u8 = 1;
    const TAKEN: u8 = 2;

    /// Takes the unit back; false if it is being committed already.
    pub(super) fn withdraw(&self) -> bool {
        self.0
            .compare_exchange(
                Self::WAITING,
                Self::WITHDRAWN,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Takes it to be committed; false if it was taken back.
    pub(super) fn take(&self) -> bool {
        self.0
            .compare_exchange(
                Self::WAITING,
                Self::TAKEN,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }
}
