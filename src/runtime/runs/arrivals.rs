//! The limits of what a tenant may have under way: runs that have not ended, and arrivals for runs
//! that wait to be stored.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::runtime::Runtime;

/// How many arrivals of each tenant wait.
///
/// A mutex, not a task: counted up and down once for each arrival.
#[derive(Debug, Default, Clone)]
pub(in crate::runtime) struct Arrivals(Arc<Mutex<HashMap<Tenant, usize>>>);

/// An arrival for a run, until it is stored or refused.
#[derive(Debug)]
pub struct Arriving {
    arrivals: Arrivals,
    tenant: Tenant,
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, usize>> {
        self.0.lock()
    }

    fn enter(&self, tenant: &Tenant, max: usize) -> Result<Arriving, Failure> {
        let mut waiting = self.lock();
        let of_tenant = waiting.entry(tenant.clone()).or_default();
        if *of_tenant >= max {
            return Err(Failure::new(
                Code::TooManyRequests,
                format!(
                    "{max} signals, cancels and answers of the tenant wait to be stored; repeat the request later"
                ),
            ));
        }
        *of_tenant += 1;
        Ok(Arriving {
            arrivals: self.clone(),
            tenant: tenant.clone(),
        })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let mut waiting = self.arrivals.lock();
        if let Some(of_tenant) = waiting.get_mut(&self.tenant) {
            *of_tenant -= 1;
            if *of_tenant == 0 {
                waiting.remove(&self.tenant);
            }
        }
    }
}

impl Runtime {
    /// Admits a signal, a cancel or an answer, unless too many of the tenant wait already.
    pub fn arriving(&self, tenant: &Tenant) -> Result<Arriving, Failure> {
        self.0
            .arrivals
            .enter(tenant, self.0.settings.runs.arrivals_max)
    }

    /// Refuses a start if the tenant has too many runs that have not ended.
    pub(super) fn check_live(&self, tenant: &Tenant) -> Result<(), Failure> {
        let max = self.0.settings.runs.live_max;
        if self.storage().live_runs(tenant) < max {
            return Ok(());
        }
        Err(Failure::new(
            Code::TooManyRequests,
            format!(
                "the tenant has {max} runs that have not ended; wait until some end, or cancel some"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::program::StartedBy;
    use crate::runtime::{
        Initiator, RunSettings,
        runs::{Invoked, StartRun},
        testing::runtime_with,
    };
    use crate::storage::RunName;

    fn caller(tenant: &str) -> Initiator {
        Initiator::system(&tenant.into())
    }

    async fn start(runtime: &Runtime, by: &Initiator) -> Result<Box<str>, Failure> {
        let name = RunName {
            namespace: "default".into(),
            name: "@action/a".into(),
        };
        let start = StartRun {
            invoked: Some(Invoked {
                priority: 1,
                labels: std::collections::BTreeMap::new(),
                not_before: Some(i64::MAX),
            }),
            ..StartRun::new(name, "{}".into(), StartedBy::Caller)
        };
        let mut session = runtime.session(by, None).await?;
        let started = runtime.start_run(&mut session, by, start).await?;
        session.finish(&by.cancel).await?;
        Ok(started.id)
    }

    #[tokio::test]
    async fn a_start_is_refused_while_too_many_runs_of_the_tenant_are_live() {
        let settings = RunSettings {
            live_max: 2,
            ..RunSettings::DEFAULT
        };
        let runtime = runtime_with(&ManualClock::default(), settings).await;
        let (one, other) = (caller("one"), caller("other"));
        let first = start(&runtime, &one).await.expect("starts");
        start(&runtime, &one).await.expect("starts");
        let refused = start(&runtime, &one).await.expect_err("no third");
        assert_eq!(refused.code(), Code::TooManyRequests);
        start(&runtime, &other).await.expect("another has its own");
        let mut session = runtime.session(&one, None).await.expect("a session");
        let cancelled = runtime
            .cancel_run(&mut session, &one, &first, "enough")
            .await;
        cancelled.expect("cancels");
        session.finish(&one.cancel).await.expect("commits");
        start(&runtime, &one).await.expect("starts again");
    }

    #[test]
    fn an_arrival_holds_its_place_until_it_is_over_and_tenants_have_their_own() {
        let arrivals = Arrivals::default();
        let (one, other): (Tenant, Tenant) = ("one".into(), "other".into());
        let first = arrivals.enter(&one, 2).expect("a place");
        let _second = arrivals.enter(&one, 2).expect("a place");
        let refused = arrivals.enter(&one, 2).expect_err("no third");
        assert_eq!(refused.code(), Code::TooManyRequests);
        arrivals.enter(&other, 2).expect("another has its own");
        drop(first);
        arrivals.enter(&one, 2).expect("a place again");
        assert_eq!(arrivals.lock().len(), 1);
    }
}
