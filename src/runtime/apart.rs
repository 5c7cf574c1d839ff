//! Does expensive steps on separate threads, where the work is counted and can be stopped.

use std::sync::{Arc, atomic::AtomicBool};

use super::{Initiator, Runtime};
use crate::engine::{self, Input, Run, Step};
use crate::error::Failure;
use crate::expr;
use crate::id::Tenant;
use crate::pool::{AT_ONCE_BYTES_MAX, Pool, in_place};
use crate::storage::Definitions;

pub(super) use crate::engine::Meter;

/// The most work (see [`crate::workflow::Workflow::weight`]) that is done on the calling thread.
const AT_ONCE_MAX: u64 = 1 << 20;

/// The most bytes of documents that are validated or patched on the calling thread: about a
/// millisecond.
const BYTES_AT_ONCE_MAX: usize = 256 << 10;

/// The minimum cost of a leaf, in bytes.
const LEAF: u64 = 256;

impl Runtime {
    /// Advances a run by one input.
    pub(super) async fn step(
        &self,
        definitions: &Arc<Definitions>,
        run: Box<Run>,
        input: Input,
        warnings: &mut Vec<String>,
    ) -> Result<Step, engine::Error> {
        let mut size = run.size();
        if let Input::Answered(answered) = &input
            && let Some(document) = answered.document()
        {
            size = size.max(document.json().as_str().len());
        }
        if !is_large(definitions, size) {
            return engine::step(run, input, self.world(definitions, None), warnings);
        }
        let mut before = std::mem::take(warnings);
        let (step, collected) = self
            .apart(definitions, move |runtime, definitions, meter| {
                let world = runtime.world(definitions, meter);
                let step = engine::step(run, input, world, &mut before);
                (step, before)
            })
            .await;
        *warnings = collected;
        step
    }

    /// Evaluates a document of that many bytes.
    pub(super) async fn apart_if_large<T: Send + 'static>(
        &self,
        definitions: &Arc<Definitions>,
        size: usize,
        work: impl FnOnce(&Self, &Definitions, Option<&Meter<'_>>) -> T + Send + 'static,
    ) -> T {
        if is_large(definitions, size) {
            self.apart(definitions, work).await
        } else {
            work(self, definitions, None)
        }
    }

    /// Does work whose time grows with a number of bytes, and not with the workflows.
    pub(super) async fn apart_if_long<T: Send + 'static>(
        &self,
        definitions: &Arc<Definitions>,
        bytes: usize,
        work: impl FnOnce(&Self, &Definitions, &AtomicBool) -> T + Send + 'static,
    ) -> T {
        if bytes <= BYTES_AT_ONCE_MAX {
            return work(self, definitions, &AtomicBool::new(false));
        }
        let (runtime, definitions) = (self.clone(), Arc::clone(definitions));
        let party = definitions.party();
        let work = Box::new(move |stop: &AtomicBool| work(&runtime, &definitions, stop));
        Box::pin(Pool::for_evaluating().run(party, work)).await
    }

    /// Does work whose time grows with the bytes of a document in a file.
    pub(super) async fn apart_if_large_file<T: Send + 'static>(
        &self,
        by: &Initiator,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if bytes <= AT_ONCE_BYTES_MAX {
            return Ok(work());
        }
        let party = self.storage().party(&by.tenant).await?;
        let working = Box::pin(Pool::for_evaluating().run(party, move |_| work()));
        let done = by.cancel.run_until_cancelled(working).await;
        done.ok_or_else(Failure::cancelled)
    }

    /// Evaluates expressions and paths: on the calling thread as far as they cost little, else apart
    /// from the beginning.
    pub async fn evaluate<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl Fn() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if let Some(done) = expr::at_once(&work) {
            return Ok(done);
        }
        let party = self.storage().party(tenant).await?;
        Ok(Box::pin(Pool::for_evaluating().run(party, move |_| work())).await)
    }

    async fn apart<T: Send + 'static>(
        &self,
        definitions: &Arc<Definitions>,
        work: impl FnOnce(&Self, &Definitions, Option<&Meter<'_>>) -> T + Send + 'static,
    ) -> T {
        let (runtime, definitions) = (self.clone(), Arc::clone(definitions));
        let party = definitions.party();
        Pool::for_evaluating()
            .run(party, move |stop| {
                work(&runtime, &definitions, Some(&Meter::new(stop)))
            })
            .await
    }
}

/// Evaluates an expression over the columns of a row, which a connector holds meanwhile.
pub(super) fn compute(text: &str, values: &str, row: &str) -> Result<String, String> {
    let compute = || expr::compute(text, values, row).map_err(|error| error.to_string());
    expr::at_once(compute).unwrap_or_else(|| in_place(compute))
}

/// Whether evaluating a document of that many bytes would delay other requests.
fn is_large(definitions: &Definitions, size: usize) -> bool {
    let size = LEAF.saturating_add(size as u64);
    definitions.workflows.weight().saturating_mul(size) > AT_ONCE_MAX
}
