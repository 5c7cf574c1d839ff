//! What is known of plans beyond any one run: breakers, rates, health and cached outputs
//! (`orchestration.md` 1.7). It is memory, and gone after a restart.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::{Runtime, advance::Advancing, send::task_id};
use crate::clock::Timestamp;
use crate::id::Tenant;
use crate::program::{Chosen, Effect, ExecutorView, Permit, PlanState, Problem, Program};
use crate::text;

/// How much of a reason is in the log.
const REASON_BYTES_MAX: usize = 300;

/// How many plans are remembered; beyond, all are forgotten.
const PLANS_MAX: usize = 10_000;

/// The plans of all tenants.
///
/// A mutex, not a task: each attempt of an executor asks once, and it is held for a look-up.
#[derive(Debug, Default)]
pub struct Plans(Mutex<HashMap<PlanKey, Known>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PlanKey {
    tenant: Tenant,
    namespace: Arc<str>,
    workflow: Arc<str>,
    plan: Box<str>,
}

#[derive(Debug)]
struct Known {
    state: PlanState,
    /// The form that was used last.
    program: Arc<Program>,
}

/// A permit that is given back if its advance is not committed.
#[derive(Debug, Clone)]
pub(super) struct PermitTaken {
    namespace: Arc<str>,
    workflow: Arc<str>,
    plan: Box<str>,
    executor: Box<str>,
}

impl Plans {
    fn lock(&self) -> MutexGuard<'_, HashMap<PlanKey, Known>> {
        self.0.lock()
    }

    fn with<T>(
        &self,
        key: PlanKey,
        program: &Arc<Program>,
        act: impl FnOnce(&mut PlanState) -> T,
    ) -> T {
        let mut plans = self.lock();
        if plans.len() >= PLANS_MAX && !plans.contains_key(&key) {
            plans.clear();
        }
        let known = plans.entry(key).or_insert_with(|| Known {
            state: PlanState::default(),
            program: Arc::clone(program),
        });
        known.program = Arc::clone(program);
        act(&mut known.state)
    }

    pub(super) fn give_back(&self, tenant: &Tenant, permit: &PermitTaken, now: Timestamp) {
        let key = PlanKey {
            tenant: tenant.clone(),
            namespace: Arc::clone(&permit.namespace),
            workflow: Arc::clone(&permit.workflow),
            plan: permit.plan.clone(),
        };
        if let Some(known) = self.lock().get_mut(&key) {
            known.state.give_back(&permit.executor, now);
        }
    }

    /// Drops the cached outputs of the plans of a namespace that name this type of event.
    pub fn invalidate(&self, tenant: &Tenant, namespace: &str, event_type: &str) {
        for (key, known) in self.lock().iter_mut() {
            if key.tenant == *tenant
                && *key.namespace == *namespace
                && let Some(plan) = known.program.plans.get(&key.plan)
            {
                known.state.invalidate(plan, event_type);
            }
        }
    }
}

impl Advancing<'_> {
    fn plan_key(&self, plan: &str) -> PlanKey {
        PlanKey {
            tenant: self.by.tenant.clone(),
            namespace: Arc::clone(&self.name.namespace),
            workflow: Arc::clone(&self.name.name),
            plan: plan.into(),
        }
    }
}

impl Runtime {
    pub(super) fn order(
        &self,
        advancing: &Advancing<'_>,
        plan: &str,
        cache_key: Option<&str>,
    ) -> Chosen {
        let Some(form) = advancing.program.plans.get(plan) else {
            return Chosen::Executors(Vec::new());
        };
        let (key, program) = (advancing.plan_key(plan), &advancing.program);
        let chance = advancing.now.micros().unsigned_abs().rotate_left(17)
            ^ advancing.run.number().unsigned_abs();
        self.0.plans.with(key, program, |state| {
            state.choose(form, cache_key, advancing.now, chance)
        })
    }

    pub(super) fn permit(
        &self,
        advancing: &mut Advancing<'_>,
        plan: &str,
        executor: &str,
    ) -> Permit {
        let program = Arc::clone(&advancing.program);
        let Some(form) = program.plans.get(plan) else {
            return Permit::Open;
        };
        let (key, now) = (advancing.plan_key(plan), advancing.now);
        let permit = self
            .0
            .plans
            .with(key, &program, |state| state.permit(form, executor, now));
        if permit == Permit::Granted {
            advancing.permits.push(PermitTaken {
                namespace: Arc::clone(&advancing.name.namespace),
                workflow: Arc::clone(&advancing.name.name),
                plan: plan.into(),
                executor: executor.into(),
            });
        }
        permit
    }

    /// Does what follows the commit of an advance.
    pub(super) fn take_effect(&self, tenant: &Tenant, id: &str, followed: Followed) {
        let now = self.0.clock.now();
        match followed.effect {
            Effect::GiveUp { ordinal, reason } => {
                self.let_go(tenant, &task_id(id, ordinal), &reason);
            }
            Effect::Record {
                ref plan,
                ref executor,
                sample,
            } => {
                let form = followed.program.plans.get(plan);
                if let Some(form) = form {
                    let key = followed.plan_key(tenant, plan);
                    self.0.plans.with(key, &followed.program, |state| {
                        state.record(form, executor, sample, now);
                    });
                }
            }
            Effect::Keep {
                ref plan,
                ref key,
                ref output,
            } => {
                if let Some(form) = followed.program.plans.get(plan) {
                    let of_plan = followed.plan_key(tenant, plan);
                    self.0.plans.with(of_plan, &followed.program, |state| {
                        state.keep(form, key, Arc::clone(output), now);
                    });
                }
            }
            Effect::Log(ref problem) => log(id, &followed.workflow, problem),
            // Looking at the run sends it.
            Effect::Send(ref task) => self.call_issued(tenant, task_id(id, task.ordinal)),
            // They are cancelled in its commit.
            Effect::CancelChild { .. } => {}
        }
    }

    /// A plan as operators see it, and how many outputs are cached.
    pub fn plan_view(
        &self,
        tenant: &Tenant,
        namespace: &str,
        workflow: &str,
        plan: &str,
        program: &Arc<Program>,
    ) -> Option<(Vec<ExecutorView>, usize)> {
        let form = program.plans.get(plan)?;
        let key = PlanKey {
            tenant: tenant.clone(),
            namespace: namespace.into(),
            workflow: workflow.into(),
            plan: plan.into(),
        };
        let now = self.0.clock.now();
        Some(self.0.plans.with(key, program, |state| {
            (state.view(form, now), state.cache_entries(now))
        }))
    }
}

pub(super) fn log(id: &str, workflow: &str, problem: &Problem) {
    match problem {
        Problem::RunFailed { reason } => {
            info!(
                run.id = id,
                workflow,
                reason = text::start(reason, REASON_BYTES_MAX),
                "the run failed"
            );
        }
        Problem::CompensationFailed { step, reason } => warn!(
            run.id = id,
            workflow,
            step = &**step,
            reason = text::start(reason, REASON_BYTES_MAX),
            "a step of the saga is not undone, and nothing repeats that; see topic sagas"
        ),
    }
}

/// An effect, and what it belongs to.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) namespace: Arc<str>,
    pub(super) workflow: Arc<str>,
    pub(super) program: Arc<Program>,
    pub(super) effect: Effect,
}

impl Followed {
    fn plan_key(&self, tenant: &Tenant, plan: &str) -> PlanKey {
        PlanKey {
            tenant: tenant.clone(),
            namespace: Arc::clone(&self.namespace),
            workflow: Arc::clone(&self.workflow),
            plan: plan.into(),
        }
    }
}
