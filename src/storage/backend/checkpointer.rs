//! What copies the log of a database back beside its writer.

use crate::storage::{port::Failure, sqlite};

/// What copies the log back beside the writer.
#[derive(Debug)]
pub(in crate::storage) struct Checkpointer(sqlite::Checkpointer);

impl Checkpointer {
    pub(super) const fn new(of_sqlite: sqlite::Checkpointer) -> Self {
        Self(of_sqlite)
    }

    /// Copies back what is in the log, but for a rest that the writer has added meanwhile.
    pub(in crate::storage) async fn copy_back(&mut self) -> Result<(), Failure> {
        self.0.copy_back().await
    }

    pub(in crate::storage) async fn close(self) {
        self.0.close().await;
    }
}
