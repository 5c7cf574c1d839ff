//! Turns of processes that write to one database (STORAGE.md §13).

use super::{Writer, WriterKind};
use crate::storage::port::Failure;

impl Writer {
    /// Has other processes that were overtaken wait until the next batch is written.
    pub(in crate::storage) async fn take_turn(&mut self) -> Result<(), Failure> {
        if let WriterKind::Postgres(writer) = &mut self.kind {
            let silence = writer.silence();
            silence.unless(writer.take_turn()).await?;
        }
        Ok(())
    }

    /// Ends a turn in which nothing was written.
    pub(in crate::storage) async fn end_turn(&mut self) -> Result<(), Failure> {
        if let WriterKind::Postgres(writer) = &mut self.kind {
            let silence = writer.silence();
            silence.unless(writer.end_turn()).await?;
        }
        Ok(())
    }
}
