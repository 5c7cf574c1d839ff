//! Revocation: whether something that was once verified is still valid.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Shared by a key and by everything that is remembered because that key verified it. Revoking the
/// key revokes all of that at once: nothing has to be searched for, and what is remembered a moment
/// too late is remembered as revoked.
#[derive(Debug, Clone, Default)]
pub struct Revocation(Arc<AtomicBool>);

impl Revocation {
    pub fn is_revoked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Cannot be undone.
    pub fn revoke(&self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_applies_to_all_copies() {
        let key = Revocation::default();
        let (remembered, other) = (key.clone(), Revocation::default());
        assert!(!remembered.is_revoked());
        key.revoke();
        assert!(remembered.is_revoked() && key.clone().is_revoked() && !other.is_revoked());
    }
}
