//! Damaged pages of a database in a file.

use std::time::Duration;

use super::{Backend, Kind};
use crate::storage::Error;

impl Backend {
    /// Whether the check at the start has found a damaged page.
    pub(in crate::storage) const fn is_damaged(&self) -> bool {
        let Kind::Sqlite(database) = &self.kind else {
            return false;
        };
        database.is_damaged()
    }

    /// Looks for damaged pages, for so long at most, and says in the log which they are.
    pub(in crate::storage) async fn name_damage(&self, within: Duration) -> Result<(), Error> {
        if let Kind::Sqlite(database) = &self.kind {
            database.name_damage(within).await?;
        }
        Ok(())
    }
}
