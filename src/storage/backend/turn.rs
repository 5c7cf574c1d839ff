//! Turns of processes that write to one database (`help/design/storage.md` §13).

use std::time::Duration;

use super::{Writer, WriterKind};
use crate::storage::port::Failure;

impl Writer {
    /// Has other processes that write wait until the turn is ended.
    pub(in crate::storage) async fn take_turn(&mut self) -> Result<(), Failure> {
        if let WriterKind::Postgres(writer) = &mut self.kind {
            let silence = writer.silence();
            silence.unless(writer.take_turn()).await?;
        }
        Ok(())
    }

    /// For how long this process has had its turn, if it has one.
    pub(in crate::storage) fn turn_age(&self) -> Option<Duration> {
        let WriterKind::Postgres(writer) = &self.kind else {
            return None;
        };
        writer.turn_age()
    }

    /// Ends the turn, if there is one.
    pub(in crate::storage) async fn end_turn(&mut self) -> Result<(), Failure> {
        if let WriterKind::Postgres(writer) = &mut self.kind {
            let silence = writer.silence();
            silence.unless(writer.end_turn()).await?;
        }
        Ok(())
    }
}
