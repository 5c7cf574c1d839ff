//! Runs whose ends somebody is to take over who looks at them now and then: an item of a manager. They
//! are not removed before that.

use crate::id::RunId;
use crate::storage::{
    Error, UnitOfWork,
    port::{RecordKey, RecordKind},
};

/// The records are found by their runs alone.
const NAMESPACE: &str = "";

impl UnitOfWork {
    /// Keeps a run from being removed until its end was taken over.
    pub fn await_end(&mut self, run: RunId) -> Result<(), Error> {
        self.put_record(key(run), "".into())
    }

    /// Takes note that the end of a run was taken over; whether it was awaited.
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
