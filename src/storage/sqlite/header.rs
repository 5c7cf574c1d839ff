//! Checks a file before `SQLite` opens it.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use super::lock::unusable;
use crate::storage::port::OpenError;

/// How every file of this kind of database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
const MAGIC_BYTES: u64 = MAGIC.len() as u64;

/// How many bytes say what kind of database it is.
const HEADER_BYTES: usize = 100;

/// Fails if there is a file that is not a database of `SQLite`.
pub(super) fn check(path: &Path) -> Result<(), OpenError> {
    check_kind(path).map_err(unusable(path))?;
    let mut header = Vec::with_capacity(MAGIC.len());
    match File::open(path).and_then(|file| file.take(MAGIC_BYTES).read_to_end(&mut header)) {
        Ok(_) if header.is_empty() || header == MAGIC => Ok(()),
        Ok(_) => Err(unusable(path)(io::Error::other(
            "it is not an SQLite database, or its first page is damaged",
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable(path)(error)),
    }
}

/// Fails if there is something that cannot be a database. Opening a pipe would wait for a
/// writer.
pub(super) fn check_kind(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(file) if file.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(file) if !file.is_file() => Err(io::Error::other("it is not a regular file")),
        // What else is wrong with it shows when it is opened.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A file that is shorter than its header says, as after an interrupted transfer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutOff {
    bytes: u64,
    of: u64,
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it is cut off: it has {} of {} bytes",
            self.bytes, self.of
        )
    }
}

/// Whether a database without a log is cut off. `SQLite` would fill its last page with zeros.
/// `SQLite` itself refuses what is shorter than the header.
pub(super) fn cut_off(path: &Path) -> io::Result<Option<CutOff>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    let of = bytes_of(&header);
    Ok(of.filter(|of| bytes < *of).map(|of| CutOff { bytes, of }))
}

/// The length that a header gives. A program that does not write it leaves a number of changes that
/// differs from that of the file.
fn bytes_of(header: &[u8]) -> Option<u64> {
    let number = |at: usize| {
        let bytes = header.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let page = match u16::from_be_bytes(*header.get(16..)?.first_chunk()?) {
        // 65,536 does not fit into the field.
        1 => 1 << 16,
        bytes => u64::from(bytes),
    };
    let is_current = number(24)? == number(92)?;
    let pages = number(28).filter(|_| is_current)?;
    Some(page * u64::from(pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lacks_one_byte_is_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        for page in [512_u64, 4_096, 65_536] {
            let path = folder.path().join(format!("{page}.db"));
            let connection = rusqlite::Connection::open(&path).expect("opens");
            let sql = format!("pragma page_size = {page}; create table t(a); create table u(a)");
            connection.execute_batch(&sql).expect("makes");
            connection.close().expect("closes");
            assert_eq!(cut_off(&path).expect("readable"), None);
            let file = File::options().write(true).open(&path).expect("opens");
            for (bytes, of) in [
                (3 * page + 1, None),
                (3 * page, None),
                (3 * page - 1, Some(3 * page)),
                (100, Some(3 * page)),
                (99, Some(3 * page)),
                (90, None),
                (0, None),
            ] {
                file.set_len(bytes).expect("cuts");
                let expected = of.map(|of| CutOff { bytes, of });
                assert_eq!(cut_off(&path).expect("readable"), expected, "{bytes}");
            }
        }
    }
}
