//! A batch as one statement.
//!
//! Its first part is the commits, of which there are none unless the batch follows the newest
//! commit; every other part reads them, so that a batch that was overtaken writes nothing. Each
//! part is in a file. Rows go in as arrays, one for each column, so there are as many texts as
//! there are combinations of parts. Arrays are unnested in the select list: in `from`, the server
//! would make a store of rows for each of them first, which takes a tenth of a small batch (measured).
//!
//! Within a statement no part sees what another one writes: what replaces a row is written by a
//! part that waits for the one that deletes it, and of several rows of one name only the last is
//! given.

use crate::storage::port::Batch;

mod columns;
mod script;

pub(super) use script::{Scripted, Texts};

use script::Script;

/// The whole batch as one statement. It may be written although others have turns if that `is_due`.
pub(super) fn script(
    batch: &Batch,
    is_due: bool,
    texts: &mut Texts,
) -> Result<Scripted, sqlx::Error> {
    let mut script = Script::default();
    columns::add(&mut script, batch, is_due);
    script.finish(texts)
}
