//! How much the log of the database has grown.

use tokio::sync::Notify;

use crate::storage::port::Batch;

/// After how many pages the log is copied back, roughly. `SQLite` does it by itself where it gets
/// much longer than that.
const PAGES: usize = 5_000;

/// How many bytes are a page.
const PAGE_BYTES: usize = 4_096;

/// How much the log has grown.
#[derive(Debug, Default)]
pub(super) struct Growth {
    pages: usize,
}

impl Growth {
    /// Counts a batch, and wakes who copies the log back once there is enough of it.
    pub(super) fn add(&mut self, rows: &Batch, bytes: usize, is_long: &Notify) {
        // A row is on pages of a table and of its indexes, which it shares with others.
        self.pages += rows.len() / 2 + bytes / PAGE_BYTES;
        if self.pages >= PAGES {
            self.pages = 0;
            is_long.notify_one();
        }
    }
}
