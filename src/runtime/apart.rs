//! Steps that judge much run on threads of their own, where they are counted and can be stopped.

use std::sync::Arc;

use super::Runtime;
use crate::engine::{self, Input, Run, Step};
use crate::pool::Pool;
use crate::storage::Definitions;

pub(super) use crate::engine::Meter;

/// Up to how much work (see [`crate::workflow::Workflow::weight`]) is done at once.
const AT_ONCE_MAX: u64 = 1 << 20;

/// What a leaf costs however little it looks at, in bytes.
const LEAF: u64 = 256;

impl Runtime {
    /// Advances a run by one input.
    pub(super) async fn step(
        &self,
        definitions: &Arc<Definitions>,
        run: Box<Run>,
        input: Input,
    ) -> Result<Step, engine::Error> {
        let mut size = run.size();
        if let Input::Answered(answered) = &input
            && let Some(document) = answered.document()
        {
            size = size.max(document.json().as_str().len());
        }
        if !is_large(definitions, size) {
            return engine::step(run, input, self.world(definitions, None));
        }
        self.apart(definitions, move |runtime, definitions, meter| {
            engine::step(run, input, runtime.world(definitions, meter))
        })
        .await
    }

    /// Does something that judges a document of so many bytes.
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

    async fn apart<T: Send + 'static>(
        &self,
        definitions: &Arc<Definitions>,
        work: impl FnOnce(&Self, &Definitions, Option<&Meter<'_>>) -> T + Send + 'static,
    ) -> T {
        let (runtime, definitions) = (self.clone(), Arc::clone(definitions));
        let party = definitions.party();
        Pool::for_judging()
            .run(party, move |stop| {
                work(&runtime, &definitions, Some(&Meter::new(stop)))
            })
            .await
    }
}

/// Whether judging a document of so many bytes would hold up others.
fn is_large(definitions: &Definitions, size: usize) -> bool {
    let size = LEAF.saturating_add(size as u64);
    definitions.workflows.weight().saturating_mul(size) > AT_ONCE_MAX
}
