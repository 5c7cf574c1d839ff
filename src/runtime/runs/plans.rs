//! What is known of plans beyond any one run: breakers, rates, health and cached outputs
//! (`orchestration.md` 1.7). It is memory, and gone after a restart.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::{Runtime, advance::Advancing, send::task_id};
use crate::clock::{Clock, Timestamp};
use crate::id::Tenant;
use crate::program::{Chosen, Effect, ExecutorView, Permit, PlanState, Problem, Program};
use crate::storage::PublishedTypes;
use crate::text;

/// How much of a reason is in the log.
const REASON_BYTES_MAX: usize = 300;

/// How many plans are remembered; beyond, those of the tenant that has most are forgotten.
const PLANS_MAX: usize = 10_000;

/// The plans of all tenants.
///
/// A mutex, not a task: each attempt of an executor asks once, and it is held for a look-up.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Plans(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    of: HashMap<Tenant, HashMap<PlanName, Known>>,
    /// How many there are.
    count: usize,
}

#[derive(Debug, Clone)]
struct PlanKey {
    tenant: Tenant,
    name: PlanName,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PlanName {
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

/// A permit for an attempt. It is given back if it is dropped before it is spent: its advance was not
/// committed then.
#[derive(Debug)]
pub(super) struct PermitTaken {
    plans: Arc<Plans>,
    clock: Clock,
    key: PlanKey,
    executor: Box<str>,
    is_spent: bool,
}

impl PermitTaken {
    /// Its attempt is made.
    pub(super) fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for PermitTaken {
    fn drop(&mut self) {
        if !self.is_spent {
            let now = self.clock.now();
            self.plans.give_back(&self.key, &self.executor, now);
        }
    }
}

impl Remembered {
    fn known(&mut self, key: PlanKey, program: &Arc<Program>) -> &mut Known {
        let PlanKey { tenant, name } = key;
        let of_tenant = self.of.get(&tenant);
        if of_tenant.is_none_or(|plans| !plans.contains_key(&name)) {
            if self.count >= PLANS_MAX {
                self.forget_most();
            }
            self.count += 1;
        }
        let plans = self.of.entry(tenant).or_default();
        let known = plans.entry(name).or_insert_with(|| Known {
            state: PlanState::default(),
            program: Arc::clone(program),
        });
        known.program = Arc::clone(program);
        known
    }

    /// Forgets the plans of the tenant that has most.
    fn forget_most(&mut self) {
        let most = self.of.iter().max_by_key(|(_, plans)| plans.len());
        if let Some(tenant) = most.map(|(tenant, _)| tenant.clone()) {
            let forgotten = self.of.remove(&tenant);
            self.count -= forgotten.map_or(0, |plans| plans.len());
        }
    }

    /// Drops the cached outputs of those plans of a tenant that name one of the types of events.
    fn invalidate(&mut self, tenant: &Tenant, published: &PublishedTypes) {
        let plans = self.of.get_mut(tenant);
        for (name, known) in plans.into_iter().flatten() {
            if let Some(types) = published.get(&name.namespace)
                && let Some(plan) = known.program.plans.get(&name.plan)
            {
                known.state.invalidate(plan, types);
            }
        }
    }
}

impl Plans {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock()
    }

    fn with<T>(
        &self,
        key: PlanKey,
        program: &Arc<Program>,
        act: impl FnOnce(&mut PlanState) -> T,
    ) -> T {
        act(&mut self.lock().known(key, program).state)
    }

    fn give_back(&self, key: &PlanKey, executor: &str, now: Timestamp) {
        let mut plans = self.lock();
        let plans = plans.of.get_mut(&key.tenant);
        if let Some(known) = plans.and_then(|plans| plans.get_mut(&key.name)) {
            known.state.give_back(executor, now);
        }
    }
}

impl Advancing<'_> {
    fn plan_key(&self, plan: &str) -> PlanKey {
        PlanKey {
            tenant: self.by.tenant.clone(),
            name: PlanName {
                namespace: Arc::clone(&self.name.namespace),
                workflow: Arc::clone(&self.name.name),
                plan: plan.into(),
            },
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
        self.forget_outdated();
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
        let plans = &self.0.plans;
        let effects = advancing.effects.iter();
        let uncommitted = effects.filter_map(|effect| effect.sample_of(plan, executor));
        let uncommitted: Vec<_> = uncommitted.collect();
        let asked = |state: &mut PlanState| state.permit(form, executor, &uncommitted, now);
        let permit = plans.with(key.clone(), &program, asked);
        if permit == Permit::Granted {
            advancing.permits.push(PermitTaken {
                plans: Arc::clone(plans),
                clock: self.0.clock.clone(),
                key,
                executor: executor.into(),
                is_spent: false,
            });
        }
        permit
    }

    /// Drops the cached outputs that events have outdated which were committed since the last time.
    /// It is done before the caches are asked, so that an event that was acknowledged holds for what
    /// follows.
    pub(in crate::runtime) fn forget_outdated(&self) {
        // Under the lock: nobody is to find that there are none while they are being dropped.
        let mut plans = self.0.plans.lock();
        for (tenant, types) in self.storage().published_types() {
            plans.invalidate(&tenant, &types);
        }
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
        self.forget_outdated();
        let key = PlanKey {
            tenant: tenant.clone(),
            name: PlanName {
                namespace: namespace.into(),
                workflow: workflow.into(),
                plan: plan.into(),
            },
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
            name: PlanName {
                namespace: Arc::clone(&self.namespace),
                workflow: Arc::clone(&self.workflow),
                plan: plan.into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::dialect::flo::Document;
    use crate::runtime::{Initiator, RunSettings, Session, testing::runtime_with};
    use crate::storage::{NewTopicEvent, TopicKey};

    const NAMESPACE: &str = "default";

    /// A program of one plan, `p`, with one executor, `a`.
    fn program() -> Arc<Program> {
        let text = "kind: Workflow\nname: w\nversion: \"1\"\nstart: {run: \"@plan/p\"}\n\
             plans: {p: {executors: [{name: a, action: \"@actions/a\", rate_limit: {max_per_hour: 1}}], \
             cache: {key: k, invalidate_on: [refund]}}}";
        let (document, findings) = Document::read_in(None, text.as_bytes());
        Arc::new(document.unwrap_or_else(|| panic!("{findings}")).compile())
    }

    fn key(tenant: &str, workflow: &str) -> PlanKey {
        PlanKey {
            tenant: tenant.into(),
            name: PlanName {
                namespace: NAMESPACE.into(),
                workflow: workflow.into(),
                plan: "p".into(),
            },
        }
    }

    #[test]
    fn a_permit_is_given_back_unless_it_is_spent() {
        let (plans, program) = (Arc::<Plans>::default(), program());
        let now = Timestamp::from_micros(1);
        let ask = || {
            let form = &program.plans["p"];
            let permit = |state: &mut PlanState| state.permit(form, "a", &[], now);
            let permit = plans.with(key("t", "w"), &program, permit);
            (permit == Permit::Granted).then(|| PermitTaken {
                plans: Arc::clone(&plans),
                clock: Clock::Manual(ManualClock::default()),
                key: key("t", "w"),
                executor: "a".into(),
                is_spent: false,
            })
        };
        let permit = ask().expect("a permit");
        assert!(ask().is_none());
        drop(permit);
        ask().expect("it was given back").spend();
        assert!(ask().is_none());
    }

    #[test]
    fn the_plans_of_the_tenant_that_has_most_are_forgotten_first() {
        let (plans, program) = (Plans::default(), program());
        let passes = |key| plans.with(key, &program, |_| {});
        passes(key("small", "w"));
        for number in 1..PLANS_MAX {
            passes(key("large", &number.to_string()));
        }
        passes(key("other", "w"));
        let remembered = plans.lock();
        assert_eq!(remembered.count, 2);
        assert!(remembered.of.contains_key("small"));
    }

    #[tokio::test]
    async fn an_event_outdates_what_is_cached_although_its_publisher_has_left() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let (by, program) = (Initiator::system(&"t".into()), program());
        let entries = || {
            let shown = runtime.plan_view(&by.tenant, NAMESPACE, "w", "p", &program);
            shown.expect("a plan").1
        };
        #[expect(
            clippy::async_yields_async,
            reason = "a commit is dropped after its first poll"
        )]
        let publishing = async |kind: &str| {
            let mut session: Session = runtime.session(&by, None).await.expect("a session");
            let event = NewTopicEvent {
                payload: "{}".into(),
                kind: Some(kind.into()),
                key: None,
                id: None,
            };
            let unit = session.unit().expect("a unit");
            let topic = TopicKey::new(NAMESPACE, "refunds");
            unit.publish(topic, vec![event]).expect("publishes");
            let cancel = by.cancel.clone();
            Box::pin(async move { session.finish(&cancel).await })
        };
        assert_eq!(entries(), 0);
        let keep = |state: &mut PlanState| {
            let now = Timestamp::from_micros(0);
            state.keep(&program.plans["p"], "k", "{}".into(), now);
        };
        runtime.0.plans.with(key("t", "w"), &program, keep);
        assert_eq!(entries(), 1);
        publishing("other").await.await.expect("commits");
        assert_eq!(entries(), 1);
        let mut leaves = publishing("refund").await;
        assert!(futures_util::poll!(&mut leaves).is_pending());
        drop(leaves);
        // Its commit comes before the next one.
        publishing("other").await.await.expect("commits");
        let topic = TopicKey::new(NAMESPACE, "refunds");
        let read = runtime.storage().topic(&by.tenant, &topic, 0, 10).await;
        let (_, events) = read.expect("reads").expect("a topic");
        assert_eq!(events.len(), 3);
        assert_eq!(entries(), 0);
    }
}
