//! Models that units widen.

use super::*;
use crate::compat::Compat;
use crate::model::{ChangeLevel, SchemaMembers};

#[tokio::test]
async fn many_deltas_are_folded_and_say_the_same_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let level = ModelChange::SetChangeLevel(ChangeLevel::Structural);
    bench.change(key, level).await.expect("sets");
    let widen = async |n: usize| {
        let definitions = bench.definitions(key).await;
        let mut unit = bench.unit();
        let sample = Document::parse(&format!(r#"{{"f{n}":1}}"#)).expect("JSON");
        let extension = definitions.model.admit(&sample, Compat::Documented);
        let extension = extension.expect("permitted").expect("new");
        let seen = unit
            .widen(Arc::clone(&definitions), extension)
            .expect("fits");
        assert_ne!(seen.model.schema, definitions.model.schema);
        let own = unit
            .definitions(key)
            .await
            .expect("reads")
            .expect("a model");
        assert_eq!(own.model.schema, seen.model.schema);
        unit.create(
            &definitions,
            image(&unit, &definitions, 1),
            Vec::new(),
            None,
        )
        .expect("fits");
        commit(unit).await.expect("commits");
    };
    let deltas = async || {
        let known = bench.definitions(key).await;
        bench.storage.0.catalog.forget(known.tenant, key);
        let stored = bench.definitions(key).await;
        assert_eq!(stored.model.schema, known.model.schema);
        assert_eq!(stored.deltas, known.deltas);
        stored.deltas
    };
    for n in 0..draft::FOLDED_AT - 1 {
        widen(n).await;
    }
    assert_eq!(deltas().await, draft::FOLDED_AT);
    widen(1_000).await;
    assert_eq!(deltas().await, 1);
    // At once, and in one batch: those that come after the fold are kept apart again.
    for n in 0..draft::FOLDED_AT - 3 {
        widen(2_000 + n).await;
    }
    futures_util::future::join_all((0..8).map(|n| widen(3_000 + n))).await;
    assert!(deltas().await <= 7);
    let before = bench.definitions(key).await;
    bench.stop().await;
    let bench = Bench::on(place).await;
    assert_eq!(
        bench.definitions(key).await.model.schema,
        before.model.schema
    );
    assert_eq!(before.revision, model.revision, "widening is not a change");
}

#[tokio::test]
async fn a_unit_forgets_what_it_would_have_added_when_it_is_rolled_back() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let level = ModelChange::SetChangeLevel(ChangeLevel::Structural);
    bench.change(key, level).await.expect("sets");
    let definitions = bench.definitions(key).await;
    let widen = |unit: &mut UnitOfWork, name: &str| {
        let sample = Document::parse(&format!(r#"{{"{name}":1}}"#)).expect("JSON");
        let extension = definitions.model.admit(&sample, Compat::Documented);
        let extension = extension.expect("permitted").expect("new");
        unit.widen(Arc::clone(&definitions), extension)
            .expect("fits");
    };
    let mut unit = bench.unit();
    widen(&mut unit, "kept");
    let mark = unit.mark();
    widen(&mut unit, "lost");
    let seen = unit
        .definitions(key)
        .await
        .expect("reads")
        .expect("a model");
    assert_eq!(
        seen.model
            .schema
            .root
            .members
            .as_ref()
            .map(SchemaMembers::len),
        Some(3)
    );
    unit.roll_back_to(&mark);
    unit.release(mark);
    widen(&mut unit, "kept too");
    let seen = unit
        .definitions(key)
        .await
        .expect("reads")
        .expect("a model");
    let names: Vec<_> = seen.model.schema.root.members.iter().flatten().collect();
    let names: Vec<_> = names.into_iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["kept", "kept too", "n"]);
    let nothing = commit(unit).await.expect("there is nothing to commit");
    assert_eq!(nothing.sequence, bench.storage.latest());
    assert_eq!(
        bench.definitions(key).await.model.schema,
        definitions.model.schema
    );
    bench.stop().await;
}

#[tokio::test]
async fn a_unit_has_one_extended_schema_however_many_documents_extend_it() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let level = ModelChange::SetChangeLevel(ChangeLevel::Structural);
    bench.change(key, level).await.expect("sets");
    let mut unit = bench.unit();
    // While a schema is kept, no other one has its address.
    let mut addresses = std::collections::HashSet::new();
    for n in 0..20 {
        let definitions = unit.definitions(key).await.expect("reads");
        let definitions = definitions.expect("a model");
        let sample = Document::parse(&format!(r#"{{"f{n}":1}}"#)).expect("JSON");
        let extension = definitions.model.admit(&sample, Compat::Documented);
        let extension = extension.expect("permitted").expect("new");
        let seen = unit.widen(definitions, extension).expect("fits");
        addresses.insert(Arc::as_ptr(&seen.model.schema));
        let image = image(&unit, &seen, 1);
        unit.create(&seen, image, Vec::new(), None).expect("fits");
    }
    // The first document extends a copy for itself, all others that of the unit.
    assert!(addresses.len() <= 2, "{} copies", addresses.len());
    commit(unit).await.expect("commits");
    let grown = bench.definitions(key).await;
    let members = grown.model.schema.root.members.as_ref();
    assert_eq!(members.map(SchemaMembers::len), Some(21));
    bench.stop().await;
}

#[tokio::test]
async fn of_units_that_put_different_kinds_into_one_place_the_first_is_committed() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let key = &model.model.key;
    let level = ModelChange::SetChangeLevel(ChangeLevel::Structural);
    bench.change(key, level).await.expect("sets");
    let definitions = bench.definitions(key).await;
    let unit = |sample: &str, by_member: bool| {
        let sample = Document::parse(sample).expect("JSON");
        let extension = definitions.model.admit(&sample, Compat::Documented);
        let extension = extension.expect("permitted").expect("new");
        let mut unit = bench.unit();
        let widened = if by_member {
            unit.learn(Arc::clone(&definitions), extension)
        } else {
            unit.widen(Arc::clone(&definitions), extension)
        };
        widened.expect("fits");
        let image = image(&unit, &definitions, 1);
        unit.create(&definitions, image, Vec::new(), None)
            .expect("fits");
        unit
    };
    let scalar = unit(r#"{"z":1}"#, false);
    let list = unit(r#"{"z":[1]}"#, false);
    // Its caller is not at fault: it may be done again, and its document is accepted then.
    let learnt = unit(r#"{"z":{"o":1}}"#, true);
    let text = unit(r#"{"z":"x"}"#, false);
    let pair = [unit(r#"{"y":[1]}"#, false), unit(r#"{"y":{"o":1}}"#, false)];
    commit(scalar).await.expect("commits");
    let refused = commit(list).await;
    assert!(
        matches!(refused, Err(Error::PolymorphicSlot(_))),
        "{refused:?}"
    );
    let refused = commit(learnt).await;
    assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
    commit(text).await.expect("types of a scalar merge");
    // In one batch, or in two that follow each other.
    let outcomes = futures_util::future::join_all(pair.map(commit)).await;
    let committed = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(committed, 1, "{outcomes:?}");
    let grown = bench.definitions(key).await;
    let members = grown.model.schema.root.members.iter().flatten();
    for (name, node) in members {
        let kinds = [
            !node.types.is_empty(),
            node.members.is_some(),
            node.element.is_some(),
        ];
        let kinds = kinds.into_iter().filter(|is_there| *is_there).count();
        assert_eq!(kinds, 1, "{name}: {node:?}");
    }
    bench.stop().await;
}
