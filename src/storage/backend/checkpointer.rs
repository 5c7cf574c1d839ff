//! Copying the log back beside the writer, where the database has a log.

use super::{Backend, Kind};
use crate::storage::{port::Failure, sqlite};

/// What copies the log back beside the writer.
#[derive(Debug)]
pub(in crate::storage) struct Checkpointer(sqlite::Checkpointer);

impl Checkpointer {
    /// Copies back what is in the log, but for a rest that the writer has added meanwhile.
    pub(in crate::storage) async fn copy_back(&mut self) -> Result<(), Failure> {
        self.0.copy_back().await
    }

    pub(in crate::storage) async fn close(self) {
        self.0.close().await;
    }
}

impl Backend {
    /// What copies the log back beside the writer, if there is a log.
    pub(in crate::storage) fn checkpointer(&self) -> Option<Checkpointer> {
        let Kind::Sqlite(database) = &self.kind else {
            return None;
        };
        database.checkpointer().map(Checkpointer)
    }
}
