//! Models and their workflows.
#![cfg(test)]

use super::*;

#[tokio::test]
async fn the_life_of_a_model_follows_its_table() {
    let bench = Bench::start().await;
    let key = ModelKey::new("m", 1);
    let schema = |json| Schema::infer(&Document::parse(json).expect(json));
    for change in [ModelChange::Lock, ModelChange::Unlock, ModelChange::Delete] {
        assert_eq!(
            bench.change(&key, change).await.expect_err("absent").code(),
            Code::ModelNotFound
        );
    }
    bench
        .change(&key, ModelChange::Import(schema(r#"{"n":1}"#)))
        .await
        .expect("imports");
    bench
        .change(&key, ModelChange::Import(schema(r#"{"s":"x"}"#)))
        .await
        .expect("merges");
    assert_eq!(
        *bench.definitions(&key).await.model.schema,
        schema(r#"{"n":1,"s":"x"}"#)
    );
    assert_eq!(
        bench
            .change(&key, ModelChange::Unlock)
            .await
            .expect_err("unlocked")
            .code(),
        Code::ModelAlreadyUnlocked
    );
    let unlocked = bench.definitions(&key).await;
    let mut unit = bench.unit();
    let new = image(&unit, &unlocked, 1);
    unit.create(&unlocked, new, Vec::new(), None).expect("fits");
    assert_eq!(
        commit(unit).await.expect_err("unlocked").code(),
        Code::ModelNotLocked
    );
    bench.change(&key, ModelChange::Lock).await.expect("locks");
    for change in [
        ModelChange::Lock,
        ModelChange::Delete,
        ModelChange::Import(schema("{}")),
    ] {
        assert_eq!(
            bench.change(&key, change).await.expect_err("locked").code(),
            Code::ModelAlreadyLocked
        );
    }
    let locked = bench.definitions(&key).await;
    let id = bench.create(&locked, 1).await;
    match bench.change(&key, ModelChange::Unlock).await {
        Err(Error::ModelHasEntities { count: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
    let mut unit = bench.unit();
    let base = unit.read(id).await.expect("reads").expect("there");
    unit.remove(&locked, &base, None).expect("fits");
    commit(unit).await.expect("commits");
    bench
        .change(&key, ModelChange::Unlock)
        .await
        .expect("unlocks");
    assert_eq!(bench.definitions(&key).await.model.lock, Lock::Unlocked);
    bench
        .change(&key, ModelChange::Delete)
        .await
        .expect("deletes");
    assert!(
        bench
            .storage
            .definitions(&tenant(), &key)
            .await
            .expect("reads")
            .is_none()
    );
    // A model of the same name starts from nothing; what was relied on before is gone.
    bench
        .change(&key, ModelChange::Import(schema(r#"{"z":1}"#)))
        .await
        .expect("imports");
    bench.change(&key, ModelChange::Lock).await.expect("locks");
    assert_eq!(
        *bench.definitions(&key).await.model.schema,
        schema(r#"{"z":1}"#)
    );
    let mut unit = bench.unit();
    let stale = image(&unit, &locked, 1);
    unit.create(&locked, stale, Vec::new(), None).expect("fits");
    assert_eq!(
        commit(unit)
            .await
            .expect_err("relied on the old one")
            .code(),
        Code::Conflict
    );
    bench.stop().await;
}

#[tokio::test]
async fn workflows_are_kept_in_their_order_and_set_against_what_was_seen() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let workflow = |name: &str| {
        let json = format!(r#"{{"name":"{name}","initialState":"A","states":{{"A":{{}}}}}}"#);
        Arc::new(Workflow::parse(&json).expect("valid").workflow).into()
    };
    let set = model
        .workflows
        .import(ImportMode::Merge, vec![workflow("b"), workflow("a")]);
    let set = set.import(ImportMode::Activate, vec![workflow("c")]);
    let change = |seen| ModelChange::SetWorkflows {
        seen,
        workflows: set.clone(),
    };
    bench.change(key, change(0)).await.expect("sets");
    assert_eq!(
        bench
            .change(key, change(0))
            .await
            .expect_err("stale")
            .code(),
        Code::Conflict
    );
    let stored = bench.definitions(key).await;
    let listed: Vec<_> = stored
        .workflows
        .entries
        .iter()
        .map(|entry| (entry.workflow.name.as_str(), entry.active))
        .collect();
    assert_eq!(listed, [("b", false), ("a", false), ("c", true)]);
    assert_eq!(
        stored.revision, model.revision,
        "running creates are not disturbed"
    );
    bench.stop().await;
}
