//! Whether what was once found good still is.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Held by a key, and by whatever is remembered because the key said so. With the key goes, at
/// once, all of that: nothing has to be searched for, and what is remembered a moment too late is
/// remembered as gone.
#[derive(Debug, Clone, Default)]
pub struct Standing(Arc<AtomicBool>);

impl Standing {
    pub fn holds(&self) -> bool {
        !self.0.load(Ordering::Acquire)
    }

    /// Cannot be taken back.
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
