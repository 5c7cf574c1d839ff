//! Outcomes of requests that are to be done once.

use super::*;

/// An outcome that expires some seconds after the beginning of the bench's time.
fn outcome(key: &str, part: u32, print: u8, expires: i64) -> StoredOutcome {
    StoredOutcome {
        once: Once {
            key: key.into(),
            part,
            print: [print; 32],
            expires: Timestamp::from_micros(expires * 1_000_000),
        },
        answer: format!("{key}/{part}").into(),
        again: false,
    }
}

/// A unit that makes an entity and brings outcomes.
fn unit(bench: &Bench, model: &Arc<Definitions>, outcomes: Vec<StoredOutcome>) -> UnitOfWork {
    let mut unit = bench.unit();
    let image = image(&unit, model, 1);
    unit.create(model, image, Vec::new(), None).expect("fits");
    for outcome in outcomes {
        unit.remember(outcome).expect("fits");
    }
    unit
}

async fn stored(bench: &Bench, key: &str) -> Vec<(u32, String)> {
    let stored = bench.storage.outcomes(&tenant(), key).await;
    let stored = stored.expect("reads").into_iter();
    stored
        .map(|stored| (stored.part, stored.answer.to_string()))
        .collect()
}

#[tokio::test]
async fn an_outcome_is_stored_with_the_work_and_once() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let units = (0..8).map(|_| commit(unit(&bench, &model, vec![outcome("k", 0, 1, 100)])));
    let outcomes = futures_util::future::join_all(units).await;
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(made, 1);
    for refused in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(refused.code(), Code::Conflict);
    }
    assert_eq!(stored(&bench, "k").await, [(0, "k/0".to_owned())]);
    assert_eq!(bench.storage.count(&model).await.expect("counts"), 1);
    // Another part of the same request; not of another one.
    commit(unit(&bench, &model, vec![outcome("k", 1, 1, 100)]))
        .await
        .expect("commits");
    let other = unit(&bench, &model, vec![outcome("k", 2, 2, 100)]);
    commit(other).await.expect_err("another request");
    // A later commit of the same request replaces what it stored.
    let mut last = outcome("k", 1, 1, 100);
    last.again = true;
    last.answer = "whole".into();
    commit(unit(&bench, &model, vec![last]))
        .await
        .expect("commits");
    assert_eq!(stored(&bench, "k").await[1].1, "whole");
    let elsewhere = bench.storage.outcomes(&"other".into(), "k").await;
    assert_eq!(elsewhere.expect("reads"), []);
    bench.stop().await;
}

#[tokio::test]
async fn an_outcome_is_rolled_back_with_the_work_and_visible_within_its_unit() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = unit(&bench, &model, vec![outcome("kept", 0, 1, 100)]);
    let mark = unit.mark();
    unit.remember(outcome("lost", 0, 1, 100)).expect("fits");
    assert_eq!(unit.remembered("lost").len(), 1);
    unit.roll_back_to(&mark);
    unit.release(mark);
    assert_eq!(unit.remembered("lost").len(), 0);
    commit(unit).await.expect("commits");
    assert_eq!(stored(&bench, "kept").await.len(), 1);
    assert_eq!(stored(&bench, "lost").await.len(), 0);
    // One of a request that had nothing to do.
    let mut idle = bench.unit();
    idle.remember(outcome("idle", 0, 1, 100)).expect("fits");
    commit(idle).await.expect("commits");
    assert_eq!(stored(&bench, "idle").await.len(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn outcomes_of_changes_of_models_are_stored_with_them() {
    let bench = Bench::start().await;
    let key = ModelKey::new("m", 1);
    let sample = Document::parse(r#"{"n":1}"#).expect("JSON");
    let import = async |print| {
        let change = ModelChange::Import(Schema::infer(&sample));
        let outcome = Some(outcome("k", 0, print, 100));
        let storage = &bench.storage;
        storage
            .change_model_once(&tenant(), user("u"), &key, change, outcome)
            .await
    };
    import(1).await.expect("imports");
    assert_eq!(stored(&bench, "k").await.len(), 1);
    for print in [1, 2] {
        let refused = import(print).await.expect_err("taken");
        assert_eq!(refused.code(), Code::Conflict);
    }
    bench.stop().await;
}

#[tokio::test]
async fn what_is_past_its_time_is_free_and_goes_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = bench.locked_model("m").await;
    for (key, expires) in [("short", 10), ("long", 1_000)] {
        let new = unit(&bench, &model, vec![outcome(key, 0, 1, expires)]);
        commit(new).await.expect("commits");
    }
    bench.clock.set(Timestamp::from_micros(10_000_000));
    assert_eq!(stored(&bench, "short").await, []);
    let again = unit(&bench, &model, vec![outcome("short", 0, 2, 20)]);
    commit(again)
        .await
        .expect("another request may have the key");
    bench.clock.set(Timestamp::from_micros(20_000_000));
    let left = async |bench: &Bench| {
        let first = bench.storage.0.database.next_expiry().await;
        first.expect("reads")
    };
    assert_eq!(left(&bench).await, Some(20_000_000));
    bench.stop().await;
    // After the next start at the latest.
    let bench = Bench::on(place).await;
    bench.clock.set(Timestamp::from_micros(20_000_000));
    while left(&bench).await != Some(1_000_000_000) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(stored(&bench, "long").await.len(), 1);
    bench.stop().await;
}
