//! Cached outputs (1.7.6).

use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::clock::Timestamp;

/// The most outputs of a plan, and what they may take together.
const ENTRIES_MAX: usize = 1_000;
const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Outputs {
    by_key: HashMap<Box<str>, (Timestamp, Arc<str>)>,
    bytes: usize,
}

impl Outputs {
    /// An output that is cached for so long; more is left of one only if the clock was ahead.
    pub(super) fn get(&self, key: &str, now: Timestamp, ttl: Duration) -> Option<Arc<str>> {
        let (until, output) = self.by_key.get(key)?;
        (*until > now && *until <= now.after(ttl)).then(|| Arc::clone(output))
    }

    /// Puts an output; where there is no room, those that end first go.
    pub(super) fn put(&mut self, key: &str, output: Arc<str>, until: Timestamp, now: Timestamp) {
        let size = key.len() + output.len();
        self.remove(key);
        if size > BYTES_MAX {
            return;
        }
        self.forget(now);
        while self.by_key.len() >= ENTRIES_MAX || self.bytes + size > BYTES_MAX {
            let first = self.by_key.iter().min_by_key(|(_, (until, _))| *until);
            let Some(first) = first.map(|(key, _)| key.clone()) else {
                break;
            };
            self.remove(&first);
        }
        self.bytes += size;
        self.by_key.insert(key.into(), (until, output));
    }

    pub(super) fn len(&mut self, now: Timestamp) -> usize {
        self.forget(now);
        self.by_key.len()
    }

    fn forget(&mut self, now: Timestamp) {
        let bytes = &mut self.bytes;
        self.by_key.retain(|key, (until, output)| {
            let stays = *until > now;
            if !stays {
                *bytes -= key.len() + output.len();
            }
            stays
        });
    }

    fn remove(&mut self, key: &str) {
        if let Some((key, (_, output))) = self.by_key.remove_entry(key) {
            self.bytes -= key.len() + output.len();
        }
    }
}
