//! Values of unique keys, as the committer validates and stores them.

use super::*;
use crate::model::KeyDefinition;

/// A locked model whose entities have a `n` each of their own.
async fn keyed_model(bench: &Bench, name: &str) -> Arc<Definitions> {
    let key = ModelKey::new(name, 1);
    let sample = Document::parse(r#"{"n":1}"#).expect("JSON");
    let by_n = KeyDefinition {
        id: "by-n".to_owned(),
        fields: vec!["$.n".to_owned()],
    };
    for change in [
        ModelChange::Import(Schema::infer(&sample)),
        ModelChange::SetUniqueKeys(vec![by_n]),
        ModelChange::Lock,
    ] {
        bench.change(&key, change).await.expect("changes");
    }
    bench.definitions(&key).await
}

fn code_of<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Code {
    outcome.expect_err("refused").code()
}

#[tokio::test]
async fn of_many_that_claim_a_value_at_once_one_has_it() {
    let bench = Bench::start().await;
    let model = keyed_model(&bench, "m").await;
    let other = keyed_model(&bench, "other").await;
    let units: Vec<_> = (0..64)
        .map(|_| {
            let mut unit = bench.unit();
            let image = image(&unit, &model, 1);
            unit.create(&model, image, Vec::new(), None).expect("fits");
            commit(unit)
        })
        .collect();
    let outcomes = futures_util::future::join_all(units).await;
    let (made, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!(made.len(), 1);
    assert!(
        refused
            .into_iter()
            .all(|outcome| code_of(outcome) == Code::UniqueViolation)
    );
    // Another model's values are its own.
    bench.create(&other, 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_value_is_freed_by_a_deletion_and_by_a_change_and_may_move_within_a_unit() {
    let bench = Bench::start().await;
    let model = keyed_model(&bench, "m").await;
    let [one, two] = [bench.create(&model, 1).await, bench.create(&model, 2).await];
    // They change places.
    let mut unit = bench.unit();
    for (id, n) in [(one, 2), (two, 1)] {
        let base = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &base, with(&base, n), Vec::new(), None)
            .expect("fits");
    }
    commit(unit).await.expect("commits");
    let mut unit = bench.unit();
    let base = unit.read(one).await.expect("reads").expect("there");
    unit.update(&model, &base, with(&base, 1), Vec::new(), None)
        .expect("fits");
    assert_eq!(code_of(commit(unit).await), Code::UniqueViolation);
    // Deleted and made again in one unit, and nothing of it when that is rolled back.
    let mut unit = bench.unit();
    let mark = unit.mark();
    let base = unit.read(one).await.expect("reads").expect("there");
    unit.remove(&model, &base, None).expect("fits");
    unit.roll_back_to(&mark);
    unit.release(mark);
    let again = image(&unit, &model, 2);
    unit.create(&model, again, Vec::new(), None).expect("fits");
    assert_eq!(code_of(commit(unit).await), Code::UniqueViolation);
    let mut unit = bench.unit();
    let base = unit.read(one).await.expect("reads").expect("there");
    unit.remove(&model, &base, None).expect("fits");
    let again = image(&unit, &model, 2);
    unit.create(&model, again, Vec::new(), None).expect("fits");
    commit(unit).await.expect("commits");
    // Made and removed: nothing is claimed.
    let mut unit = bench.unit();
    let short = image(&unit, &model, 7);
    let id = short.id;
    unit.create(&model, short, Vec::new(), None).expect("fits");
    let own = unit.peek_own(id).expect("there");
    unit.remove(&model, &own, None).expect("fits");
    bench.create(&model, 7).await;
    commit(unit).await.expect("commits");
    bench.stop().await;
}

#[tokio::test]
async fn claims_outlive_the_process_and_end_with_all_entities() {
    const MANY: i64 = 1_200;
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = keyed_model(&bench, "m").await;
    let mut unit = bench.unit();
    for n in 0..MANY {
        let image = image(&unit, &model, n);
        unit.create(&model, image, Vec::new(), None).expect("fits");
    }
    commit(unit).await.expect("commits");
    bench.stop().await;
    let bench = Bench::on(place).await;
    let model = bench.definitions(&model.model.key).await;
    for n in [0, 600, MANY - 1] {
        let mut unit = bench.unit();
        let image = image(&unit, &model, n);
        unit.create(&model, image, Vec::new(), None).expect("fits");
        assert_eq!(code_of(commit(unit).await), Code::UniqueViolation);
    }
    // All are shifted by one, in one unit: no order would do without freeing first.
    let mut unit = bench.unit();
    let mut scan = unit.snapshot().await.expect("a snapshot").scan(&model);
    while let Some(part) = scan.next().await.expect("scans") {
        for version in &part {
            let n: serde_json::Value =
                serde_json::from_str(version.image.document.as_str()).expect("JSON");
            let n = n["n"].as_i64().expect("a number") + 1;
            unit.update(&model, version, with(version, n), Vec::new(), None)
                .expect("fits");
        }
    }
    commit(unit).await.expect("commits");
    bench.create(&model, 0).await;
    // All are deleted and made again in one unit.
    let mut unit = bench.unit();
    let mut scan = unit.snapshot().await.expect("a snapshot").scan(&model);
    while let Some(part) = scan.next().await.expect("scans") {
        for version in &part {
            unit.remove(&model, version, None).expect("fits");
        }
    }
    for n in 0..=MANY {
        let image = image(&unit, &model, n);
        unit.create(&model, image, Vec::new(), None).expect("fits");
    }
    commit(unit).await.expect("commits");
    bench.stop().await;
}
