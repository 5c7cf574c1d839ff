//! Copies between databases of different kinds: every row of every table, in pages, in the order of
//! its key; at the end both sides are read again and compared.
//!
//! How far it has got is a row of the target, written with each page. So a copy that was
//! interrupted is resumed, and no service starts over half a database. It is there before the target
//! is migrated, and is removed at the end.

mod encoding;
mod end;
mod tables;

use futures_util::{StreamExt as _, TryStreamExt as _, future::try_join, stream::BoxStream};
use sha2::{Digest as _, Sha256};

use super::port::{
    CopyError, CopyMark, CopyProgress, CopyStep, DatabaseLocation, Moved, Row, Table, Value,
};
use end::End;
use tables::TABLES;

/// How many rows a page has at most.
const PAGE_ROWS: usize = 5_000;

/// After how many bytes a page ends. One with a large document has more.
const PAGE_BYTES: usize = 4 << 20;

/// After how many rows progress is reported.
const REPORTED: u64 = 5_000;

/// Copies a database into an empty one of another kind, or resumes that. Neither may be open.
pub(super) async fn copy(
    from: &DatabaseLocation,
    to: &DatabaseLocation,
    progress: CopyProgress<'_>,
) -> Result<Moved, CopyError> {
    match (from, to) {
        (DatabaseLocation::File(_), DatabaseLocation::File(_)) => return Err(CopyError::BothFiles),
        (DatabaseLocation::Server(_), DatabaseLocation::Server(_)) => {
            return Err(CopyError::BothServers);
        }
        _ => {}
    }
    let mut source = End::source(from).await?;
    let mut target = End::target(to).await?;
    let newest = source.newest().await?;
    let mut mark = match target.mark().await? {
        Some(mark) if mark.source == newest => {
            target.prepare().await?;
            mark
        }
        Some(_) => return Err(CopyError::OfAnother),
        None => begin(&mut target, newest).await?,
    };
    let resumed = u64::try_from(mark.written).unwrap_or_default();
    let mut total = 0;
    for table in TABLES {
        total += source.count(table).await?;
    }
    let begun = TABLES.iter().position(|table| table.name == mark.part);
    for table in TABLES.iter().skip(begun.unwrap_or_default()) {
        copy_table(table, &mut source, &mut target, &mut mark, |written| {
            progress(&CopyStep {
                is_check: false,
                table: table.name,
                done: u64::try_from(written).unwrap_or_default(),
                total,
            });
        })
        .await?;
    }
    let mut checked = 0;
    for table in TABLES {
        checked += compare(table, &mut source, &mut target, |rows| {
            progress(&CopyStep {
                is_check: true,
                table: table.name,
                done: checked + rows,
                total,
            });
        })
        .await?;
    }
    target.finish().await?;
    Ok(Moved {
        rows: checked,
        resumed,
    })
}

/// Begins a copy into a database that has nothing in it. It is marked before anything else in it
/// is changed, and only if it is empty: no service starts over one with the mark.
async fn begin(target: &mut End, source: String) -> Result<CopyMark, CopyError> {
    for table in TABLES {
        if target.count(table).await? > 0 {
            return Err(CopyError::NotEmpty { table: table.name });
        }
    }
    let mark = CopyMark {
        source,
        part: TABLES.first().map_or("", |table| table.name).to_owned(),
        place: String::new(),
        written: 0,
    };
    target.begin(&mark).await?;
    if let Err(error) = target.prepare().await {
        // If that fails, the copy is one that was interrupted.
        let _ = target.drop_mark().await;
        return Err(error);
    }
    Ok(mark)
}

/// Copies the rows of a table that are not there yet.
async fn copy_table(
    table: &'static Table,
    source: &mut End,
    target: &mut End,
    mark: &mut CopyMark,
    progress: impl Fn(i64),
) -> Result<(), CopyError> {
    let mut after = if mark.part == table.name && !mark.place.is_empty() {
        let unreadable = || CopyError::Unreadable { table: "copying" };
        Some(encoding::key(&mark.place).ok_or_else(unreadable)?)
    } else {
        None
    };
    let mut rows = source.rows(table, after.as_deref());
    let mut next = page(&mut rows).await?;
    while let Some(last) = next.last() {
        let last = table.key_of(last).to_vec();
        table.name.clone_into(&mut mark.part);
        mark.place = encoding::place(&last);
        mark.written += i64::try_from(next.len()).unwrap_or_default();
        let writing = target.write(table, after.as_deref(), &next, mark);
        // The next page is read meanwhile.
        let (was_ours, following) = try_join(writing, page(&mut rows)).await?;
        if !was_ours {
            return Err(CopyError::Twice);
        }
        progress(mark.written);
        after = Some(last);
        next = following;
    }
    Ok(())
}

type Rows<'a> = BoxStream<'a, Result<Row, CopyError>>;

/// The next rows, none at the end.
async fn page(rows: &mut Rows<'_>) -> Result<Vec<Row>, CopyError> {
    let mut page = Vec::new();
    let mut bytes = 0;
    while page.len() < PAGE_ROWS && bytes < PAGE_BYTES {
        let Some(row) = rows.try_next().await? else {
            break;
        };
        bytes += row.iter().map(size).sum::<usize>();
        page.push(row);
    }
    Ok(page)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Integer(_) => 8,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    }
}

/// Reads a table on both sides, and fails unless both say the same; how many rows it has.
async fn compare(
    table: &'static Table,
    source: &mut End,
    target: &mut End,
    progress: impl Fn(u64),
) -> Result<u64, CopyError> {
    let quietly = |_| {};
    let both = try_join(
        digest(source.rows(table, None), progress),
        digest(target.rows(table, None), quietly),
    );
    let (of_source, of_target) = both.await?;
    if of_source != of_target {
        return Err(CopyError::Differs { table: table.name });
    }
    Ok(of_source.0)
}

/// How many rows there are, and a hash of all of them.
async fn digest(
    mut rows: BoxStream<'_, Result<Row, CopyError>>,
    progress: impl Fn(u64),
) -> Result<(u64, [u8; 32]), CopyError> {
    let mut hash = Sha256::new();
    let mut count = 0;
    let mut bytes = Vec::new();
    while let Some(row) = rows.next().await.transpose()? {
        bytes.clear();
        encoding::encode(&row, &mut bytes);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(&bytes);
        count += 1;
        if count % REPORTED == 0 {
            progress(count);
        }
    }
    progress(count);
    Ok((count, hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_target_that_cannot_be_migrated_keeps_no_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("other.db");
        let other = rusqlite::Connection::open(&path).expect("opens");
        // It has the names of ours, so it is not taken for another program's.
        let tables = r#"create table _sqlx_migrations(x); create table "commit"(x); create table version(x)"#;
        other.execute_batch(tables).expect("made");
        drop(other);
        let mut target = End::target(&DatabaseLocation::File(path)).await;
        let target = target.as_mut().expect("opens");
        let begun = begin(target, "1:".to_owned()).await;
        begun.expect_err("there are tables of those names");
        assert_eq!(target.mark().await.expect("reads"), None);
    }
}
