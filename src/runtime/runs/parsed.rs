//! The states of runs that were written lately, so that one is not parsed again for each arrival.

use std::{fmt, sync::Arc};

use super::State;
use crate::error::Failure;
use crate::id::RunId;
use crate::storage::StoredRun;

/// How many bytes of texts are kept parsed. What is parsed takes about twice as much.
const TEXT_BYTES: u64 = 4 << 20;

/// How many runs of ordinary size they are; more do no harm.
const ENTRIES: usize = 4 << 10;

/// States that are parsed, each with the text that it was stored as.
pub(in crate::runtime) struct Parsed(quick_cache::sync::Cache<RunId, Entry, Bytes>);

#[derive(Clone)]
struct Entry {
    text: Arc<str>,
    state: Arc<State>,
}

#[derive(Clone)]
struct Bytes;

impl quick_cache::Weighter<RunId, Entry> for Bytes {
    fn weight(&self, _: &RunId, entry: &Entry) -> u64 {
        entry.text.len() as u64
    }
}

impl Parsed {
    /// The state of a run. An entry is of that state if it has the same text in memory, whatever
    /// became of the commit that it was made for.
    pub(super) fn read(&self, stored: &StoredRun) -> Result<Arc<State>, Failure> {
        if let Some(entry) = self.0.get(&stored.id)
            && Arc::ptr_eq(&entry.text, &stored.state)
        {
            return Ok(entry.state);
        }
        State::read(stored).map(Arc::new)
    }

    /// A state that is about to be changed.
    pub(super) fn take(&self, run: RunId, state: Arc<State>) -> State {
        self.0.remove(&run);
        Arc::unwrap_or_clone(state)
    }

    /// Keeps a state with the text that is about to be stored.
    pub(super) fn keep(&self, run: RunId, text: &Arc<str>, state: Arc<State>) {
        let text = Arc::clone(text);
        self.0.insert(run, Entry { text, state });
    }
}

impl Default for Parsed {
    fn default() -> Self {
        Self(quick_cache::sync::Cache::with_weighter(
            ENTRIES, TEXT_BYTES, Bytes,
        ))
    }
}

impl fmt::Debug for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parsed")
    }
}
