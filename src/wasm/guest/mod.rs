//! One call of a module: its instance, paused between slices.
//!
//! The functions of a module are called in the order of [`STAGES`]. Each call can be paused: when
//! its fuel is used up, or when it asks for a variable. The module's start function is called like
//! the others, because `start` exports it under a name of its own.

mod host;
mod module;
mod size;
mod start;
mod wasi;

use std::sync::Arc;

use wasmi::{
    Error, Func, Instance, Memory, ResumableCall, ResumableCallHostTrap, ResumableCallOutOfFuel,
    Store, TrapCode, Val,
};

use super::{Action, Unavailable};
use crate::clock::Clock;
use host::Host;

pub(super) use module::{Compiled, UNREADABLE, compile};

/// What is called, in order. All but the last two may be absent.
const STAGES: [Stage; 5] = [
    Stage::Start,
    Stage::Initialize,
    Stage::Init,
    Stage::Alloc,
    Stage::Handle,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The start function of the module.
    Start,
    /// `_initialize`, which modules without a `main` export.
    Initialize,
    /// `init`, whose result aborts the call unless it is zero.
    Init,
    /// `alloc`, for the input.
    Alloc,
    /// The entry point.
    Handle,
}

/// What a call of a variable asks for.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Get {
        name: Box<str>,
        /// Where the value goes, and how long it may be.
        at: u32,
        room: u32,
    },
    Set {
        name: Box<str>,
        value: Vec<u8>,
    },
    Delete {
        name: Box<str>,
    },
}

/// The answers to the variants of [`Request`].
pub(super) enum Reply {
    Value(Result<Option<Vec<u8>>, Unavailable>),
    /// Whether there was such a variable.
    Done(Result<bool, Unavailable>),
}

/// How far a slice has come.
pub(super) enum Progress {
    OutOfFuel(Guest),
    Asks(Guest, Request),
    Done(End),
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum End {
    /// The output, and no more of it than one byte above the limit.
    Output(Vec<u8>),
    /// The negative code that the entry point returned.
    Code(i64),
    Fault(Fault),
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Fault {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// The interpreter itself failed.
    pub(super) fn panicked() -> Self {
        Self::new("WASM_TRAP", "the interpreter failed")
    }

    fn of(error: &Error) -> Self {
        if let Some(status) = error.i32_exit_status() {
            let message = format!("the module ended itself with status {status}");
            return Self::new("WASM_EXITED", message);
        }
        match error.as_trap_code() {
            Some(TrapCode::GrowthOperationLimited) => {
                Self::new("WASM_MEMORY_LIMIT", "the module asks for too much memory")
            }
            Some(TrapCode::StackOverflow) => {
                Self::new("WASM_TRAP", "the calls of the module are nested too deeply")
            }
            _ => Self::new("WASM_TRAP", error.to_string()),
        }
    }
}

/// An instance, between two slices.
pub(super) struct Guest {
    store: Store<Host>,
    instance: Instance,
    memory: Memory,
    entrypoint: Arc<str>,
    input: Arc<str>,
    /// Where the input is in the instance's memory, once that is known.
    input_at: i32,
    output_bytes_max: usize,
    /// The place in [`STAGES`].
    stage: usize,
    /// The call that was interrupted.
    paused: Option<Paused>,
    result: [Val; 1],
}

enum Paused {
    OutOfFuel(ResumableCallOutOfFuel),
    Asking(ResumableCallHostTrap, Request),
}

impl Guest {
    /// Makes an instance. Nothing of the module has run yet.
    pub(super) fn begin(
        compiled: &Compiled,
        action: &Action,
        task: Arc<str>,
        input: Arc<str>,
        clock: Clock,
    ) -> Result<Self, Fault> {
        let host = Host::new(
            clock,
            Arc::clone(&action.name),
            task,
            action.memory_bytes_max,
        );
        let (mut store, instance) = compiled.instantiate(host).map_err(|e| Fault::of(&e))?;
        let memory = instance.get_memory(&store, module::MEMORY);
        let memory = memory.ok_or_else(|| Fault::new("WASM_TRAP", "there is no memory"))?;
        store.data_mut().memory = Some(memory);
        Ok(Self {
            store,
            instance,
            memory,
            entrypoint: Arc::clone(&action.entrypoint),
            input,
            input_at: 0,
            output_bytes_max: action.output_bytes_max,
            stage: 0,
            paused: None,
            result: [Val::I32(0)],
        })
    }

    /// Runs until the fuel is used up, a variable is asked for, or the call has ended.
    pub(super) fn resume(mut self, fuel: u64, reply: Option<Reply>) -> Progress {
        let needed = match &self.paused {
            Some(Paused::OutOfFuel(call)) => call.required_fuel(),
            _ => 0,
        };
        if let Err(error) = self.store.set_fuel(fuel.max(needed)) {
            return Progress::Done(End::Fault(Fault::of(&error)));
        }
        let mut reply = reply;
        loop {
            let call = match self.paused.take() {
                Some(paused) => self.continued(paused, reply.take()),
                None => match self.called() {
                    Ok(call) => call,
                    Err(fault) => return Progress::Done(End::Fault(fault)),
                },
            };
            match call {
                Ok(ResumableCall::Finished) => {
                    if let Some(end) = self.finished() {
                        return Progress::Done(end);
                    }
                }
                Ok(ResumableCall::OutOfFuel(call)) => {
                    self.paused = Some(Paused::OutOfFuel(call));
                    return Progress::OutOfFuel(self);
                }
                Ok(ResumableCall::HostTrap(call)) => {
                    let error = call.host_error();
                    let Some(request) = error.downcast_ref::<Request>().cloned() else {
                        return Progress::Done(End::Fault(Fault::of(error)));
                    };
                    self.paused = Some(Paused::Asking(call, request.clone()));
                    return Progress::Asks(self, request);
                }
                Err(error) => return Progress::Done(End::Fault(Fault::of(&error))),
            }
        }
    }

    fn stage(&self) -> Stage {
        STAGES[self.stage.min(STAGES.len() - 1)]
    }

    /// Calls the next function that there is.
    fn called(&mut self) -> Result<Result<ResumableCall, Error>, Fault> {
        let function = loop {
            match self.function() {
                Some(function) => break function,
                None if matches!(self.stage(), Stage::Alloc | Stage::Handle) => {
                    return Err(Fault::new(
                        "WASM_MODULE_INVALID",
                        "the module does not export the functions that are called",
                    ));
                }
                None => self.stage += 1,
            }
        };
        let length = i32::try_from(self.input.len()).unwrap_or(i32::MAX);
        let (one, two) = (Val::I32(self.input_at), Val::I32(length));
        let arguments: &[Val] = match self.stage() {
            Stage::Start | Stage::Initialize | Stage::Init => &[],
            Stage::Alloc => &[two],
            Stage::Handle => &[one, two],
        };
        let results = self.stage().results();
        let outputs = &mut self.result[..results];
        Ok(function.call_resumable(&mut self.store, arguments, outputs))
    }

    fn function(&self) -> Option<Func> {
        let name = match self.stage() {
            Stage::Start => start::NAME,
            Stage::Initialize => "_initialize",
            Stage::Init => "init",
            Stage::Alloc => "alloc",
            Stage::Handle => &self.entrypoint,
        };
        self.instance.get_func(&self.store, name)
    }

    fn continued(&mut self, paused: Paused, reply: Option<Reply>) -> Result<ResumableCall, Error> {
        let results = self.stage().results();
        match paused {
            Paused::OutOfFuel(call) => call.resume(&mut self.store, &mut self.result[..results]),
            Paused::Asking(call, request) => {
                let code = self.answered(&request, reply);
                let outputs = &mut self.result[..results];
                call.resume(&mut self.store, &[Val::I32(code)], outputs)
            }
        }
    }

    /// Gives a value to the module, and returns the code of the call.
    fn answered(&mut self, request: &Request, reply: Option<Reply>) -> i32 {
        match (request, reply) {
            (Request::Get { at, room, .. }, Some(Reply::Value(Ok(Some(value))))) => {
                if value.len() > *room as usize {
                    return host::TOO_SMALL;
                }
                let written = self.memory.write(&mut self.store, *at as usize, &value);
                match (written, i32::try_from(value.len())) {
                    (Ok(()), Ok(length)) => length,
                    _ => host::BAD_ARGUMENTS,
                }
            }
            (_, Some(Reply::Value(Ok(None)) | Reply::Done(Ok(false)))) => host::NOT_FOUND,
            (_, Some(Reply::Done(Ok(true)))) => host::OK,
            _ => host::STATE_ERROR,
        }
    }

    /// A function has returned: the end of the call, or none if another function follows.
    fn finished(&mut self) -> Option<End> {
        match (self.stage(), &self.result[0]) {
            (Stage::Start | Stage::Initialize, _) | (Stage::Init, Val::I32(0)) => {}
            (Stage::Init, Val::I32(code)) => {
                let message = format!("init returned {code}");
                return Some(End::Fault(Fault::new("WASM_INIT_FAILED", message)));
            }
            (Stage::Alloc, Val::I32(at)) => {
                if let Err(fault) = self.put_input(*at) {
                    return Some(End::Fault(fault));
                }
            }
            (Stage::Handle, Val::I64(returned)) => return Some(self.output(*returned)),
            // The types of exports are checked before.
            (Stage::Init | Stage::Alloc | Stage::Handle, _) => {
                return Some(End::Fault(Fault::panicked()));
            }
        }
        self.stage += 1;
        None
    }

    fn put_input(&mut self, at: i32) -> Result<(), Fault> {
        if at == 0 {
            let message = "the module could not allocate memory for its input";
            return Err(Fault::new("WASM_ALLOCATION_FAILED", message));
        }
        self.input_at = at;
        let input = self.input.as_bytes();
        let written = self.memory.write(&mut self.store, host::offset(at), input);
        written.map_err(|_| {
            let message = "alloc returned a place outside of the module's memory";
            Fault::new("WASM_ALLOCATION_FAILED", message)
        })
    }

    /// What the entry point returned: the place and the length of the output, or a code.
    fn output(&self, returned: i64) -> End {
        if returned < 0 {
            return End::Code(returned);
        }
        let (at, length) = (returned.cast_unsigned() >> 32, returned & 0xffff_ffff);
        let place = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        let data = self.memory.data(&self.store);
        let output = place.and_then(|(at, length)| data.get(at..at.checked_add(length)?));
        match output {
            _ if length == 0 => End::Output(Vec::new()),
            Some(output) => {
                let kept = output.len().min(self.output_bytes_max.saturating_add(1));
                End::Output(output[..kept].to_vec())
            }
            None => {
                let message = "the output is outside of the module's memory";
                End::Fault(Fault::new("WASM_OUTPUT_INVALID", message))
            }
        }
    }
}

impl Stage {
    const fn results(self) -> usize {
        match self {
            Self::Start | Self::Initialize => 0,
            Self::Init | Self::Alloc | Self::Handle => 1,
        }
    }
}
