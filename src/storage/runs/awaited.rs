//! Runs that were started for an item of a manager, until a tick of the manager has read how they
//! ended. They are not removed before that.

use crate::id::RunId;
use crate::storage::{
    Error, UnitOfWork,
    port::{RecordKey, RecordKind},
};

/// The records are found by their runs alone.
const NAMESPACE: &str = "";

impl UnitOfWork {
    /// Keeps a run from being removed until a tick has read how it ended.
    pub fn await_end(&mut self, run: RunId) -> Result<(), Error> {
        self.put_record(key(run), "".into())
    }

    /// Notes that a tick has read how a run ended. Returns whether the run was kept for that.
    pub async fn end_taken_over(&mut self, run: RunId) -> Result<bool, Error> {
        let key = key(run);
        let is_awaited = self.read_record(&key).await?.is_some();
        if is_awaited {
            self.drop_record(key)?;
        }
        Ok(is_awaited)
    }
}

fn key(run: RunId) -> RecordKey {
    RecordKey::new(RecordKind::Awaited, NAMESPACE, run.number().to_string())
}
