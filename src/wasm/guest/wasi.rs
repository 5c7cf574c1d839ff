//! The functions of `wasi_snapshot_preview1` that modules built against it need to load.
//!
//! Time and chance are real, what is written to standard output and error goes to the log, and
//! there are no arguments, no environment and no files.

use sha2::{Digest as _, Sha256};
use wasmi::{Caller, Error, Linker, ValType::I32, ValType::I64};

use super::{
    host::{Host, bytes, charge, offset},
    module::Import,
};
use crate::id;

/// The module whose functions these are.
pub(super) const MODULE: &str = "wasi_snapshot_preview1";

#[rustfmt::skip]
pub(super) const IMPORTS: &[Import] = &[
    (MODULE, "args_get",            &[I32, I32], &[I32]),
    (MODULE, "args_sizes_get",      &[I32, I32], &[I32]),
    (MODULE, "environ_get",         &[I32, I32], &[I32]),
    (MODULE, "environ_sizes_get",   &[I32, I32], &[I32]),
    (MODULE, "clock_time_get",      &[I32, I64, I32], &[I32]),
    (MODULE, "random_get",          &[I32, I32], &[I32]),
    (MODULE, "fd_write",            &[I32, I32, I32, I32], &[I32]),
    (MODULE, "proc_exit",           &[I32], &[]),
    (MODULE, "sched_yield",         &[], &[I32]),
    (MODULE, "fd_close",            &[I32], &[I32]),
    (MODULE, "fd_fdstat_get",       &[I32, I32], &[I32]),
    (MODULE, "fd_prestat_get",      &[I32, I32], &[I32]),
    (MODULE, "fd_prestat_dir_name", &[I32, I32, I32], &[I32]),
    (MODULE, "fd_read",             &[I32, I32, I32, I32], &[I32]),
    (MODULE, "fd_seek",             &[I32, I64, I32, I32], &[I32]),
];

/// The codes of `wasi_snapshot_preview1`.
const SUCCESS: i32 = 0;
const BAD_FILE: i32 = 8;
const FAULT: i32 = 21;
const INVALID: i32 = 28;

const STDOUT: i32 = 1;
const STDERR: i32 = 2;

/// The most random bytes of one call, and the most pieces that are written by one.
const RANDOM_BYTES_MAX: usize = 64 << 10;
const PIECES_MAX: usize = 1_024;

/// How many bytes of one write are logged, at most.
const LOGGED_MAX: usize = 1_024;

/// The levels at which standard output and error are logged.
const INFO: i32 = 1;
const WARN: i32 = 2;

pub(super) fn define(linker: &mut Linker<Host>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "args_get", nothing)?;
    linker.func_wrap(MODULE, "args_sizes_get", no_sizes)?;
    linker.func_wrap(MODULE, "environ_get", nothing)?;
    linker.func_wrap(MODULE, "environ_sizes_get", no_sizes)?;
    linker.func_wrap(MODULE, "clock_time_get", clock_time_get)?;
    linker.func_wrap(MODULE, "random_get", random_get)?;
    linker.func_wrap(MODULE, "fd_write", fd_write)?;
    linker.func_wrap(MODULE, "proc_exit", proc_exit)?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "fd_close", |_: i32| BAD_FILE)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", |_: i32, _: i32| BAD_FILE)?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BAD_FILE)?;
    linker.func_wrap(MODULE, "fd_prestat_dir_name", |_: i32, _: i32, _: i32| {
        BAD_FILE
    })?;
    linker.func_wrap(MODULE, "fd_read", |_: i32, _: i32, _: i32, _: i32| BAD_FILE)?;
    linker.func_wrap(MODULE, "fd_seek", |_: i32, _: i64, _: i32, _: i32| BAD_FILE)?;
    Ok(())
}

/// Writes into the module's memory.
fn write(caller: &mut Caller<'_, Host>, at: i32, value: &[u8]) -> i32 {
    let Some(memory) = caller.data().memory else {
        return FAULT;
    };
    match memory.write(caller, offset(at), value) {
        Ok(()) => SUCCESS,
        Err(_) => FAULT,
    }
}

/// There are no arguments and no variables to be written.
const fn nothing(_: i32, _: i32) -> i32 {
    SUCCESS
}

fn no_sizes(mut caller: Caller<'_, Host>, count_at: i32, bytes_at: i32) -> i32 {
    match write(&mut caller, count_at, &[0; 4]) {
        SUCCESS => write(&mut caller, bytes_at, &[0; 4]),
        failed => failed,
    }
}

fn clock_time_get(mut caller: Caller<'_, Host>, clock: i32, _precision: i64, at: i32) -> i32 {
    let reading = caller.data().clock.read();
    let nanoseconds = match clock {
        0 => reading.wall.micros().saturating_mul(1_000),
        1 => i64::try_from(reading.steady.as_nanos()).unwrap_or(i64::MAX),
        _ => return INVALID,
    };
    write(&mut caller, at, &nanoseconds.to_le_bytes())
}

fn random_get(mut caller: Caller<'_, Host>, at: i32, length: i32) -> i32 {
    let length = offset(length);
    if length > RANDOM_BYTES_MAX {
        return INVALID;
    }
    // A block of the hash costs about as much as a hundred bytes of copying.
    charge(&mut caller, length * 8);
    let secret = id::secret();
    let block = |number: u32| {
        let hash = Sha256::new().chain_update(secret);
        hash.chain_update(number.to_le_bytes()).finalize()
    };
    let mut random: Vec<u8> = (0..).flat_map(block).take(length).collect();
    random.truncate(length);
    write(&mut caller, at, &random)
}

fn fd_write(
    mut caller: Caller<'_, Host>,
    file: i32,
    pieces_at: i32,
    pieces: i32,
    written_at: i32,
) -> i32 {
    let level = match file {
        STDOUT => INFO,
        STDERR => WARN,
        _ => return BAD_FILE,
    };
    if offset(pieces) > PIECES_MAX {
        return INVALID;
    }
    let (mut text, mut written) = (Vec::new(), 0_u32);
    for piece in 0..offset(pieces) {
        let Some((at, length)) = piece_at(&caller, pieces_at, piece) else {
            return FAULT;
        };
        let Some(bytes) = bytes(&caller, at, length) else {
            return FAULT;
        };
        let kept = bytes.len().min(LOGGED_MAX.saturating_sub(text.len()));
        text.extend_from_slice(&bytes[..kept]);
        written = written.saturating_add(length.cast_unsigned());
    }
    charge(&mut caller, text.len());
    if !text.is_empty() {
        caller.data_mut().log(level, &text);
    }
    write(&mut caller, written_at, &written.to_le_bytes())
}

/// The place and the length of a piece that is to be written.
fn piece_at(caller: &Caller<'_, Host>, pieces_at: i32, piece: usize) -> Option<(i32, i32)> {
    let at = offset(pieces_at).checked_add(piece * 8)?;
    let entry = bytes(caller, i32::try_from(at).ok()?, 8)?;
    let (at, length) = entry.split_first_chunk::<4>()?;
    let (length, _) = length.split_first_chunk::<4>()?;
    Some((i32::from_le_bytes(*at), i32::from_le_bytes(*length)))
}

fn proc_exit(status: i32) -> Result<(), Error> {
    Err(Error::i32_exit(status))
}
