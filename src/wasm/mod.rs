//! WebAssembly actions: modules of users, run in this process (`orchestration.md` 1.15).
//!
//! May use: [`crate::clock`], [`crate::dialect`], [`crate::entity`], [`crate::expr`], [`crate::id`],
//! [`crate::pool`], [`crate::program`].
//! Must not: trust a module. Each call has an instance of its own with limited memory. It runs on
//! the threads for expensive work, about two milliseconds at a time; between two slices its
//! deadline is checked, and calls of other tenants get their turns. Its variables are reached while
//! it is paused, so a call that waits for storage holds no thread.
//!
//! `guest` knows the interpreter; nothing else does.

mod answer;
mod guest;

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::dialect::Findings;
use crate::id::Tenant;
use crate::pool::Pool;
use crate::program::Answer;

use guest::{Compiled, End, Fault, Guest, Progress, Reply, Request};

/// The largest module, in bytes of either form.
pub const MODULE_BYTES_MAX: usize = 4 << 20;

/// The largest memory of an instance: 256 pages.
pub const MEMORY_BYTES_MAX: u64 = 16 << 20;

/// The longest name of a variable, in bytes.
pub const VARIABLE_NAME_MAX: usize = 256;

/// The largest value of a variable, in bytes.
pub const VARIABLE_BYTES_MAX: usize = 64 << 10;

/// How long a slice should take.
const SLICE: Duration = Duration::from_millis(2);

/// The fuel of the first slice; later ones follow from how long it took.
const FUEL_FIRST: u64 = 200_000;

/// The bounds of the fuel of a slice.
const FUEL_MIN: u64 = 10_000;
const FUEL_MAX: u64 = 20_000_000;

/// How many instances may exist for each that may run: those that wait for their next slice or for
/// storage keep their memory.
const INSTANCES_PER_PLACE: usize = 16;

/// How many bytes of compiled modules are kept.
const CACHE_BYTES_MAX: u64 = 64 << 20;

/// How many modules are expected to be in the cache.
const CACHE_ENTRIES: usize = 256;

/// What a byte of a module takes when it is compiled, and what a module takes besides; roughly.
const COMPILED_BYTES_PER_BYTE: u64 = 16;
const COMPILED_BYTES: u64 = 64 << 10;

/// A module as it was uploaded: binary, or text in the WebAssembly text format.
#[derive(Clone)]
pub struct Module {
    hash: [u8; 32],
    bytes: Arc<[u8]>,
}

impl Module {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let hash = Sha256::digest(&bytes).into();
        Self { hash, bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = hex::encode(self.hash);
        write!(f, "Module({} bytes, {digest})", self.bytes.len())
    }
}

/// What an action says about its module.
#[derive(Debug, Clone)]
pub struct Action {
    /// As the log names it.
    pub name: Arc<str>,
    pub module: Module,
    /// The exported function that is called; `handle` unless the action says otherwise.
    pub entrypoint: Arc<str>,
    /// At most [`MEMORY_BYTES_MAX`].
    pub memory_bytes_max: u64,
    pub output_bytes_max: usize,
    pub timeout: Duration,
}

/// One call of an action.
pub struct Call {
    pub tenant: Tenant,
    pub action: Arc<Action>,
    /// As the log names it.
    pub task: Arc<str>,
    /// JSON.
    pub input: Arc<str>,
    pub variables: Arc<dyn Variables>,
}

/// The variables of a namespace, as modules read and write them. A variable is written when its
/// future ends.
pub trait Variables: Send + Sync {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, Unavailable>>;

    fn set<'a>(&'a self, name: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), Unavailable>>;

    /// Returns whether there was such a variable.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, Unavailable>>;
}

/// A variable cannot be read or written now; the module receives the code of a state error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

/// Runs modules; cheap to clone.
#[derive(Debug, Clone)]
pub struct Wasm(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    /// Calls end without an answer once the service stops.
    stop: CancellationToken,
    /// Where slices run.
    slices: Pool,
    /// The places of instances.
    instances: Pool,
    compiled: Cache<[u8; 32], Arc<Compiled>, Bytes>,
}

/// What compiled modules take.
#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<[u8; 32], Arc<Compiled>> for Bytes {
    fn weight(&self, _: &[u8; 32], compiled: &Arc<Compiled>) -> u64 {
        compiled.bytes() as u64 * COMPILED_BYTES_PER_BYTE + COMPILED_BYTES
    }
}

impl Wasm {
    /// Runs at most so many instances at the same moment.
    pub fn new(clock: Clock, concurrency: usize, stop: CancellationToken) -> Self {
        let concurrency = concurrency.max(1);
        Self(Arc::new(Shared {
            clock,
            stop,
            slices: Pool::for_modules(concurrency, concurrency),
            instances: Pool::for_modules(concurrency * INSTANCES_PER_PLACE, concurrency),
            compiled: Cache::with_weighter(CACHE_ENTRIES, CACHE_BYTES_MAX, Bytes),
        }))
    }

    /// Everything that is wrong with an action's module; it can be registered if there is nothing.
    pub async fn check(&self, tenant: &Tenant, action: &Action) -> Findings {
        let mut findings = Findings::default();
        match self.compiled(party(tenant), &action.module).await {
            Ok(compiled) => {
                compiled.check_action(&action.entrypoint, action.memory_bytes_max, &mut findings);
            }
            Err(found) => findings = found,
        }
        findings
    }

    async fn compiled(&self, party: u64, module: &Module) -> Result<Arc<Compiled>, Findings> {
        let compile = async {
            let bytes = Arc::clone(&module.bytes);
            let compile = move || guest::compile(&bytes);
            let compiled = self.0.slices.run(party, move |_| {
                catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| {
                    let mut findings = Findings::default();
                    findings.error(guest::UNREADABLE, "wasm.module", "cannot be compiled");
                    Err(findings)
                })
            });
            compiled.await.map(Arc::new)
        };
        let kept = self.0.compiled.get_or_insert_async(&module.hash, compile);
        kept.await
    }

    /// Calls a module and returns how its task ended; none if the service stops. Dropping the
    /// future ends the call.
    pub async fn call(&self, call: Call) -> Option<Answer> {
        let stop = &self.0.stop;
        stop.run_until_cancelled(self.answer(call)).await
    }

    async fn answer(&self, call: Call) -> Answer {
        let party = party(&call.tenant);
        let compiled = match self.compiled(party, &call.action.module).await {
            Ok(compiled) => compiled,
            Err(findings) => return answer::unusable(&findings),
        };
        let _place = self.0.instances.enter(party).await;
        let deadline = Instant::now() + call.action.timeout;
        match self.run(party, &call, compiled, deadline).await {
            Some(end) => answer::of(end, call.action.output_bytes_max),
            None => Answer::Deadline,
        }
    }

    /// Runs an instance to its end, slice by slice; none if the deadline comes first.
    async fn run(
        &self,
        party: u64,
        call: &Call,
        compiled: Arc<Compiled>,
        deadline: Instant,
    ) -> Option<End> {
        let (action, task) = (Arc::clone(&call.action), Arc::clone(&call.task));
        let (input, clock) = (Arc::clone(&call.input), self.0.clock.clone());
        let begin = move || Guest::begin(&compiled, &action, task, input, clock);
        let mut fuel = FUEL_FIRST;
        let mut slice: Box<dyn FnOnce(u64) -> Progress + Send> =
            Box::new(move |fuel| match begin() {
                Ok(guest) => guest.resume(fuel, None),
                Err(fault) => Progress::Done(End::Fault(fault)),
            });
        loop {
            if Instant::now() >= deadline {
                return None;
            }
            let given = fuel;
            let running = self.0.slices.run(party, move |_| timed(|| slice(given)));
            // The slice itself cannot be stopped, but is short; waiting for its turn may not be.
            let (progress, took) = timeout_at(deadline, running).await.ok()?;
            fuel = next_fuel(given, took);
            match progress {
                Progress::Done(end) => return Some(end),
                Progress::OutOfFuel(guest) => {
                    slice = Box::new(move |fuel| guest.resume(fuel, None));
                }
                Progress::Asks(guest, request) => {
                    let variables = &*call.variables;
                    let reply = timeout_at(deadline, reply(variables, request)).await.ok()?;
                    slice = Box::new(move |fuel| guest.resume(fuel, Some(reply)));
                }
            }
        }
    }
}

/// Runs a slice; an interpreter that panics ends the call, not the server.
fn timed(slice: impl FnOnce() -> Progress) -> (Progress, Duration) {
    let began = Instant::now();
    let progress = catch_unwind(AssertUnwindSafe(slice));
    let progress = progress.unwrap_or_else(|_| Progress::Done(End::Fault(Fault::panicked())));
    (progress, began.elapsed())
}

/// The fuel that lasts for a slice, if so much lasted for so long.
fn next_fuel(given: u64, took: Duration) -> u64 {
    let (took, wanted) = (took.as_nanos().max(1), SLICE.as_nanos());
    let fuel = u128::from(given) * wanted / took;
    // One measurement may be far off: the thread may have been preempted.
    let (least, most) = (given / 2, given * 4);
    let fuel = u64::try_from(fuel).unwrap_or(FUEL_MAX);
    fuel.clamp(least, most).clamp(FUEL_MIN, FUEL_MAX)
}

async fn reply(variables: &dyn Variables, request: Request) -> Reply {
    match request {
        Request::Get { name, .. } => Reply::Value(variables.get(&name).await),
        Request::Set { name, value } => {
            let done = variables.set(&name, value).await;
            Reply::Done(done.map(|()| true))
        }
        Request::Delete { name } => Reply::Done(variables.delete(&name).await),
    }
}

/// The tenant as the pool of threads knows it.
fn party(tenant: &Tenant) -> u64 {
    // Drawn at the start, so that nobody can choose names that have the hash of another tenant's.
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(tenant.as_str())
}

#[cfg(test)]
mod tests;
