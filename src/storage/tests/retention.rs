//! Which runs are removed that have ended.

use super::*;
use crate::id::RunId;
use crate::storage::{NewRun, RunAdvance, RunName, UnitOfWork};

const AGE: Duration = Duration::from_mins(1);
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Bench {
    /// A run that ends now, perhaps while a call of it is out, and what its commit does beside.
    async fn ended(&self, is_out: bool, beside: impl FnOnce(&mut UnitOfWork, RunId)) -> RunId {
        let (id, now) = (self.storage.fresh_run(), self.storage.now());
        let new = NewRun {
            id,
            name: RunName {
                namespace: "default".into(),
                name: "s".into(),
            },
            parent: None,
            entity: None,
            keys: Vec::new(),
            created: now,
            by: "caller",
        };
        let advance = RunAdvance {
            status: 3,
            is_out,
            stays: false,
            due: None,
            awaits: None,
            ended: Some(now),
            state: "{}".into(),
            events: vec!["{}".into()],
            last: 1,
            kind: "saga",
            status_name: "completed",
            compensations: [0, 0],
        };
        let mut unit = self.unit();
        unit.begin_run(new, advance).expect("fits");
        beside(&mut unit, id);
        commit(unit).await.expect("commits");
        id
    }

    /// Removes runs; which of these are left.
    async fn left<const N: usize>(&self, runs: [RunId; N]) -> [bool; N] {
        let mut since = Timestamp::from_micros(0);
        loop {
            let removed = self.storage.forget_some_runs(AGE, &mut since);
            if removed.await.expect("removes") == 0 {
                break;
            }
        }
        let mut left = [false; N];
        for (left, run) in left.iter_mut().zip(runs) {
            let found = self.storage.run(&tenant(), run).await.expect("reads");
            *left = found.is_some();
        }
        left
    }
}

#[tokio::test]
async fn a_run_that_is_still_needed_stays_longer_and_one_with_a_call_out_until_it_is_answered() {
    let bench = Bench::start().await;
    let nothing = |_: &mut UnitOfWork, _: RunId| {};
    let awaiting = |unit: &mut UnitOfWork, run: RunId| unit.await_end(run).expect("fits");
    let runs = [
        bench.ended(false, nothing).await,
        bench.ended(false, awaiting).await,
        bench.ended(false, awaiting).await,
        bench
            .ended(false, |unit, run| {
                unit.mirror_run("default", "b", run).expect("fits");
            })
            .await,
        bench.ended(true, nothing).await,
    ];
    assert_eq!(bench.left(runs).await, [true; 5]);
    bench.clock.advance_ms(61_000);
    assert_eq!(bench.left(runs).await, [false, true, true, true, true]);
    let mut unit = bench.unit();
    assert!(unit.end_taken_over(runs[1]).await.expect("reads"));
    commit(unit).await.expect("commits");
    assert_eq!(bench.left(runs).await, [false, false, true, true, true]);
    bench.clock.advance_ms(31 * DAY_MS);
    assert_eq!(bench.left(runs).await, [false, false, false, false, true]);
    // Nothing is left that says that an end is awaited.
    let (storage, tenant) = (&bench.storage, tenant());
    let records = storage.records(&tenant, RecordKind::Awaited, "", None, 10);
    assert_eq!(records.await.expect("reads").len(), 0);
    bench.stop().await;
}
