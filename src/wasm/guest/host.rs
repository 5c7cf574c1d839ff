//! What a module finds outside of itself: the functions of `flo`, and its limits.

use std::sync::Arc;

use tracing::{Level, event};
use wasmi::{
    Caller, Error, Linker, Memory, ResourceLimiter, StoreLimits, StoreLimitsBuilder, ValType::I32,
    errors::HostError,
};

use super::{
    super::{VARIABLE_BYTES_MAX, VARIABLE_NAME_MAX},
    Request,
    module::Import,
};
use crate::clock::Clock;

/// The module whose functions these are.
pub(super) const MODULE: &str = "flo";

#[rustfmt::skip]
pub(super) const IMPORTS: &[Import] = &[
    (MODULE, "log",       &[I32, I32, I32], &[]),
    (MODULE, "kv_get",    &[I32, I32, I32, I32], &[I32]),
    (MODULE, "kv_set",    &[I32, I32, I32, I32], &[I32]),
    (MODULE, "kv_delete", &[I32, I32], &[I32]),
];

/// The codes that functions about variables return.
pub(super) const OK: i32 = 0;
pub(super) const NOT_FOUND: i32 = -1;
pub(super) const TOO_SMALL: i32 = -3;
pub(super) const STATE_ERROR: i32 = -5;
pub(super) const BAD_ARGUMENTS: i32 = -6;

/// How many elements a table may have, and how many tables there may be.
const TABLE_ELEMENTS_MAX: usize = 10_000;
const TABLES_MAX: usize = 8;

/// How often memory and tables may grow. A module whose memory is full is answered so; one that
/// does not stop asking ends by it.
const GROWTHS_MAX: u32 = 1_000;

/// How many lines a call may log, and how long a line may be, in bytes.
const LINES_MAX: u32 = 100;
const LINE_BYTES_MAX: usize = 1_024;

/// The most fuel that a byte read or written outside of the interpreter costs.
pub(super) const BYTES_PER_FUEL: u64 = 8;

/// What belongs to one instance.
pub(in crate::wasm) struct Host {
    pub(super) clock: Clock,
    /// Once the instance exists.
    pub(super) memory: Option<Memory>,
    action: Arc<str>,
    task: Arc<str>,
    lines: u32,
    growths: u32,
    /// Refuses growth by an answer.
    limits: StoreLimits,
    /// Refuses growth by ending the call.
    strict: StoreLimits,
}

impl HostError for Request {}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("waits for a variable")
    }
}

impl Host {
    pub(super) fn new(
        clock: Clock,
        action: Arc<str>,
        task: Arc<str>,
        memory_bytes_max: u64,
    ) -> Self {
        let bytes = usize::try_from(memory_bytes_max).unwrap_or(usize::MAX);
        let limits = |is_strict| {
            StoreLimitsBuilder::new()
                .memory_size(bytes)
                .table_elements(TABLE_ELEMENTS_MAX)
                .instances(1)
                .memories(1)
                .tables(TABLES_MAX)
                .trap_on_grow_failure(is_strict)
                .build()
        };
        Self {
            clock,
            memory: None,
            action,
            task,
            lines: 0,
            growths: 0,
            limits: limits(false),
            strict: limits(true),
        }
    }

    /// For an instance that is not called.
    pub(super) fn for_trial(memory_bytes_max: u64) -> Self {
        Self::new(Clock::System, "".into(), "".into(), memory_bytes_max)
    }

    /// What decides about the next growth.
    pub(super) fn limiter(&mut self) -> &mut dyn ResourceLimiter {
        self.growths = self.growths.saturating_add(1);
        if self.growths > GROWTHS_MAX {
            &mut self.strict
        } else {
            &mut self.limits
        }
    }

    /// Logs what a module wrote. A module cannot forge a line: control characters are escaped.
    pub(super) fn log(&mut self, level: i32, text: &[u8]) {
        if self.lines >= LINES_MAX {
            return;
        }
        self.lines += 1;
        let kept = &text[..text.len().min(LINE_BYTES_MAX)];
        let text = String::from_utf8_lossy(kept);
        let text: String = text
            .trim_end()
            .chars()
            .flat_map(|one| {
                let escaped = one.is_control().then(|| one.escape_default());
                let itself = escaped.is_none().then_some(one);
                escaped.into_iter().flatten().chain(itself)
            })
            .collect();
        let (action, task) = (&*self.action, &*self.task);
        macro_rules! log {
            ($level:expr) => {
                event!($level, action.name = action, task.id = task, "{text}")
            };
        }
        match level {
            0 => log!(Level::DEBUG),
            1 => log!(Level::INFO),
            2 => log!(Level::WARN),
            _ => log!(Level::ERROR),
        }
        if self.lines == LINES_MAX {
            event!(
                Level::WARN,
                action.name = action,
                task.id = task,
                "the module has logged {LINES_MAX} lines; the others of this call are left out"
            );
        }
    }
}

/// An offset into a memory, as modules pass it.
pub(super) const fn offset(at: i32) -> usize {
    at.cast_unsigned() as usize
}

/// Bytes of the module's memory; none if they are not all in it.
pub(super) fn bytes<'a>(caller: &'a Caller<'_, Host>, at: i32, length: i32) -> Option<&'a [u8]> {
    let memory = caller.data().memory?;
    let end = offset(at).checked_add(offset(length))?;
    memory.data(caller).get(offset(at)..end)
}

/// Takes fuel for work on so many bytes.
pub(super) fn charge(caller: &mut Caller<'_, Host>, bytes: usize) {
    let cost = bytes as u64 / BYTES_PER_FUEL;
    if let Ok(left) = caller.get_fuel() {
        // With nothing left, the module pauses at its next instruction.
        let _ = caller.set_fuel(left.saturating_sub(cost));
    }
}

pub(super) fn define(linker: &mut Linker<Host>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "log", log)?;
    linker.func_wrap(
        MODULE,
        "kv_get",
        |caller: Caller<'_, Host>, name, of, at, room| kv_get(&caller, (name, of), (at, room)),
    )?;
    linker.func_wrap(
        MODULE,
        "kv_set",
        |caller: Caller<'_, Host>, name, of, at, length| kv_set(&caller, (name, of), (at, length)),
    )?;
    linker.func_wrap(MODULE, "kv_delete", |caller: Caller<'_, Host>, name, of| {
        kv_delete(&caller, (name, of))
    })?;
    Ok(())
}

fn log(mut caller: Caller<'_, Host>, level: i32, at: i32, length: i32) -> Result<(), Error> {
    let Some(text) = bytes(&caller, at, length) else {
        return Err(Error::new(
            "flo.log: the text is outside of the module's memory",
        ));
    };
    let kept = text[..text.len().min(LINE_BYTES_MAX)].to_vec();
    charge(&mut caller, kept.len());
    caller.data_mut().log(level, &kept);
    Ok(())
}

/// The name of a variable; none if it is not valid.
fn name(caller: &Caller<'_, Host>, (at, length): MemoryRange) -> Option<Box<str>> {
    let name = bytes(caller, at, length)?;
    let has_length = (1..=VARIABLE_NAME_MAX).contains(&name.len());
    let name = std::str::from_utf8(name).ok()?;
    has_length.then(|| name.into())
}

/// Where something is in the module's memory, and its length.
type MemoryRange = (i32, i32);

/// The variable is read while the module is paused.
fn kv_get(
    caller: &Caller<'_, Host>,
    name_at: MemoryRange,
    (at, room): MemoryRange,
) -> Result<i32, Error> {
    let Some(name) = name(caller, name_at) else {
        return Ok(BAD_ARGUMENTS);
    };
    if bytes(caller, at, room).is_none() {
        return Ok(BAD_ARGUMENTS);
    }
    let (at, room) = (at.cast_unsigned(), room.cast_unsigned());
    Err(Error::host(Request::Get { name, at, room }))
}

fn kv_set(
    caller: &Caller<'_, Host>,
    name_at: MemoryRange,
    (at, length): MemoryRange,
) -> Result<i32, Error> {
    let value = bytes(caller, at, length).filter(|value| value.len() <= VARIABLE_BYTES_MAX);
    let (Some(name), Some(value)) = (name(caller, name_at), value) else {
        return Ok(BAD_ARGUMENTS);
    };
    let value = value.to_vec();
    Err(Error::host(Request::Set { name, value }))
}

fn kv_delete(caller: &Caller<'_, Host>, name_at: MemoryRange) -> Result<i32, Error> {
    match name(caller, name_at) {
        Some(name) => Err(Error::host(Request::Delete { name })),
        None => Ok(BAD_ARGUMENTS),
    }
}
