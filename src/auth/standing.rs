//! Revocation: whether something that was once verified is still valid.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Shared by a key and by everything that is remembered because that key verified it. Revoking the
/// key revokes all of that at once: nothing has to be searched for, and what is remembered a moment
/// too late is remembered as revoked.
#[derive(Debug, Clone, Default)]
pub struct Standing(Arc<AtomicBool>);

impl Standing {
    pub fn holds(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }

    /// Cannot be undone.
    pub fn withdraw(&self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withdrawn_is_so_for_all_who_hold_it() {
        let key = Standing::default();
        let (remembered, other) = (key.clone(), Standing::default());
        assert!(remembered.holds());
        key.withdraw();
        assert!(!remembered.holds() && !key.clone().holds() && other.holds());
    }
}
