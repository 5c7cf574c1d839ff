//! What the log holds that will not be recovered, found before `SQLite` opens it.
//!
//! `SQLite` takes the log up to the last commit whose checksums are right, and says nothing of the
//! rest. Its format is documented at <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// What is dropped of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tail {
    /// Frames up to the last commit: these are recovered.
    pub(super) kept: u64,
    /// Frames of this log after them, and how many of these end a commit.
    pub(super) frames: u64,
    pub(super) commits: u64,
    pub(super) bytes: u64,
}

/// The running checksum over 32-bit words, in pairs.
#[derive(Clone, Copy)]
struct Sum {
    one: u32,
    two: u32,
    big_endian: bool,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            let (first, second) = pair.split_at(4);
            self.one = self
                .one
                .wrapping_add(self.word(first))
                .wrapping_add(self.two);
            self.two = self
                .two
                .wrapping_add(self.word(second))
                .wrapping_add(self.one);
        }
    }

    fn word(self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    fn is(self, header: &[u8], at: usize) -> bool {
        (self.one, self.two) == (number(header, at), number(header, at + 4))
    }
}

/// Reads a log; none if there is nothing in it.
pub(super) fn read(path: &Path) -> io::Result<Option<Tail>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    if size < HEADER as u64 {
        return Ok(None);
    }
    tail(&mut BufReader::with_capacity(1 << 20, file), size).map(Some)
}

fn tail(log: &mut impl Read, size: u64) -> io::Result<Tail> {
    let mut header = [0; HEADER];
    log.read_exact(&mut header)?;
    let magic = number(&header, 0);
    let mut sum = Sum {
        one: 0,
        two: 0,
        big_endian: magic & 1 == 1,
    };
    sum.add(&header[..24]);
    let page = number(&header, 8) as usize;
    let is_sound = magic & !1 == MAGIC
        && page.is_power_of_two()
        && (512..=65_536).contains(&page)
        && sum.is(&header, 24);
    if !is_sound {
        // Nothing of it is recovered, and nothing in it can be counted on.
        let frame = (4_096 + FRAME_HEADER) as u64;
        return Ok(Tail {
            frames: (size - HEADER as u64) / frame,
            bytes: size,
            ..Tail::default()
        });
    }
    let salts = &header[16..24];
    let mut frame = vec![0; FRAME_HEADER + page];
    let (mut tail, mut is_whole) = (Tail::default(), true);
    loop {
        let length = read_up_to(log, &mut frame)?;
        // Frames of an earlier round of the log have other salts: they are not part of it.
        if length < FRAME_HEADER || &frame[8..16] != salts {
            return Ok(tail);
        }
        if is_whole && length == frame.len() {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME_HEADER..]);
        }
        is_whole &= length == frame.len() && sum.is(&frame, 16);
        let is_commit = number(&frame, 4) != 0;
        tail.frames += 1;
        tail.commits += u64::from(is_commit && !is_whole);
        tail.bytes += length as u64;
        if is_whole && is_commit {
            tail = Tail {
                kept: tail.kept + tail.frames,
                ..Tail::default()
            };
        }
    }
}

/// Fills the buffer as far as there is something.
fn read_up_to(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match log.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log as `SQLite` writes it, of three commits.
    fn log() -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("test.db");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection
            .execute_batch("pragma journal_mode = wal; create table t(a)")
            .expect("makes");
        for _ in 0..2 {
            connection
                .execute_batch("insert into t values(randomblob(10000))")
                .expect("inserts");
        }
        std::fs::read(folder.path().join("test.db-wal")).expect("readable")
    }

    fn tail_of(log: &[u8]) -> Tail {
        tail(&mut &*log, log.len() as u64).expect("readable")
    }

    #[test]
    fn of_a_whole_log_nothing_is_dropped() {
        let whole = tail_of(&log());
        assert!(whole.kept > 6, "{whole:?}");
        assert_eq!((whole.frames, whole.bytes), (0, 0));
    }

    #[test]
    fn a_log_that_is_cut_or_damaged_is_kept_up_to_the_commit_before() {
        let log = log();
        let kept = tail_of(&log).kept;
        let cut = tail_of(&log[..log.len() - 100]);
        assert!(
            cut.kept < kept && cut.frames > 0 && cut.kept + cut.frames == kept,
            "{cut:?}"
        );
        let mut damaged = log.clone();
        damaged[HEADER + FRAME_HEADER + 7] ^= 1;
        let tail = tail_of(&damaged);
        assert_eq!((tail.kept, tail.frames), (0, kept));
        assert!(tail.commits >= 3, "{tail:?}");
        let mut headless = log;
        headless[17] ^= 1;
        let tail = tail_of(&headless);
        assert_eq!((tail.kept, tail.frames), (0, kept));
    }

    #[test]
    fn frames_of_an_earlier_round_are_not_dropped_frames() {
        let mut log = log();
        let before = tail_of(&log);
        let old = vec![7; FRAME_HEADER + 4_096];
        log.extend_from_slice(&old);
        assert_eq!(tail_of(&log), before);
    }
}
