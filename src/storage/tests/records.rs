//! Records: small named documents.

use super::*;

fn key(kind: RecordKind, name: &str) -> RecordKey {
    RecordKey::new(kind, "default", name)
}

fn action(name: &str) -> RecordKey {
    key(RecordKind::Action, name)
}

impl Bench {
    async fn put(&self, key: &RecordKey, body: &str) -> Committed {
        let mut unit = self.unit();
        unit.put_record(key.clone(), body.into()).expect("fits");
        commit(unit).await.expect("commits")
    }

    async fn body(&self, key: &RecordKey) -> Option<String> {
        let record = self.storage.record(&tenant(), key).await.expect("reads");
        record.map(|record| record.body.to_string())
    }
}

#[tokio::test]
async fn a_record_is_what_the_last_commit_left_and_outlives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    assert_eq!(bench.body(&action("a")).await, None);
    let first = bench.put(&action("a"), "1").await;
    let second = bench.put(&action("a"), "2").await;
    assert!(second.sequence > first.sequence, "each is a commit");
    bench.put(&key(RecordKind::Definition, "a"), "d").await;
    bench.put(&action("gone"), "3").await;
    let mut unit = bench.unit();
    unit.drop_record(action("gone")).expect("fits");
    unit.drop_record(action("never there")).expect("fits");
    commit(unit).await.expect("commits");
    let other = bench.storage.record(&"other".into(), &action("a")).await;
    assert_eq!(other.expect("reads"), None, "of another tenant");
    let check = async |bench: &Bench| {
        let stored = bench.storage.record(&tenant(), &action("a")).await;
        let stored = stored.expect("reads").expect("is there");
        assert_eq!(stored.position.0, second.sequence.0);
        assert_eq!(&*stored.body, "2");
        assert_eq!(bench.body(&action("gone")).await, None);
        let definition = key(RecordKind::Definition, "a");
        assert_eq!(bench.body(&definition).await.as_deref(), Some("d"));
    };
    check(&bench).await;
    bench.stop().await;
    let bench = Bench::on(place).await;
    check(&bench).await;
    bench.stop().await;
}

#[tokio::test]
async fn records_are_listed_by_name_a_part_at_a_time() {
    let bench = Bench::start().await;
    for name in ["c", "a", "d", "b"] {
        bench.put(&action(name), name).await;
    }
    let elsewhere = RecordKey::new(RecordKind::Action, "other", "e");
    bench.put(&elsewhere, "e").await;
    let list = async |after: Option<&str>, limit| {
        let (storage, tenant) = (&bench.storage, tenant());
        let found = storage.records(&tenant, RecordKind::Action, "default", after, limit);
        let found = found.await.expect("reads").into_iter();
        found
            .map(|record| record.body.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(list(None, 10).await, ["a", "b", "c", "d"]);
    assert_eq!(list(None, 2).await, ["a", "b"]);
    assert_eq!(list(Some("b"), 2).await, ["c", "d"]);
    assert_eq!(list(Some("d"), 2).await, [""; 0]);
    bench.stop().await;
}

#[tokio::test]
async fn producers_of_all_tenants_are_read_together() {
    let bench = Bench::start().await;
    for of in ["t", "u"] {
        let mut unit = bench.storage.unit(&of.into(), user("u"));
        let key = key(RecordKind::Producer, "hourly");
        unit.put_record(key, of.into()).expect("fits");
        commit(unit).await.expect("commits");
    }
    bench.put(&action("a"), "no producer").await;
    let all = bench.storage.producers(RecordRow::FIRST, 10).await;
    let all = all.expect("reads");
    let listed: Vec<_> = all
        .iter()
        .map(|producer| (producer.tenant.as_str(), &*producer.record.body))
        .collect();
    assert_eq!(listed, [("t", "t"), ("u", "u")]);
    let after = bench.storage.producers(all[0].row, 10).await;
    assert_eq!(after.expect("reads").len(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_unit_whose_records_have_moved_gets_a_conflict() {
    let bench = Bench::start().await;
    bench.put(&action("a"), "1").await;
    // What was read has been replaced, made, or deleted since.
    for (seen, replaced) in [("a", true), ("new", true), ("a", false)] {
        let seen = action(seen);
        let mut unit = bench.unit();
        unit.read_record(&seen).await.expect("reads");
        unit.put_record(action("mine"), "x".into()).expect("fits");
        if replaced {
            bench.put(&seen, "2").await;
        } else {
            let mut drop = bench.unit();
            drop.drop_record(seen.clone()).expect("fits");
            commit(drop).await.expect("commits");
        }
        let refused = commit(unit).await.expect_err("moved");
        assert_eq!(refused.code(), Code::Conflict, "{seen:?}");
        assert_eq!(bench.body(&action("mine")).await, None);
    }
    // What was not read is replaced, whatever it is.
    bench.put(&action("new"), "3").await;
    let mut unit = bench.unit();
    let seen = unit.read_record(&action("new")).await.expect("reads");
    assert!(seen.is_some_and(|seen| seen.is_committed()));
    unit.put_record(action("new"), "4".into()).expect("fits");
    let own = unit.read_record(&action("new")).await.expect("reads");
    assert!(own.is_some_and(|own| &*own.body == "4" && !own.is_committed()));
    commit(unit).await.expect("nobody else has changed it");
    bench.stop().await;
}

#[tokio::test]
async fn of_units_that_add_to_one_record_each_has_seen_the_one_before() {
    let bench = Bench::start().await;
    let count = action("count");
    let adding = (0..32).map(|_| async {
        loop {
            let mut unit = bench.unit();
            let seen = unit.read_record(&count).await.expect("reads");
            let n: u32 = seen.map_or(0, |seen| seen.body.parse().expect("a number"));
            let next = (n + 1).to_string();
            unit.put_record(count.clone(), next.into()).expect("fits");
            match commit(unit).await {
                Ok(_) => break,
                Err(refused) => assert_eq!(refused.code(), Code::Conflict),
            }
        }
    });
    futures_util::future::join_all(adding).await;
    assert_eq!(bench.body(&count).await.as_deref(), Some("32"));
    bench.stop().await;
}

#[tokio::test]
async fn of_units_of_one_batch_the_last_decides_what_is_there() {
    let bench = Bench::start().await;
    let name = action("a");
    for last in [None, Some("last")] {
        let units = (0..9).map(|index| {
            let mut unit = bench.unit();
            if index % 2 == 0 {
                unit.put_record(name.clone(), "other".into()).expect("fits");
            } else {
                unit.drop_record(name.clone()).expect("fits");
            }
            commit(unit)
        });
        let mut end = bench.unit();
        match last {
            Some(body) => end.put_record(name.clone(), body.into()).expect("fits"),
            None => end.drop_record(name.clone()).expect("fits"),
        }
        let all = futures_util::future::join_all(units.chain([commit(end)])).await;
        assert!(all.iter().all(Result::is_ok));
        let row = bench.storage.tenant_row(&tenant()).await.expect("reads");
        let stored = bench.storage.0.database.record(row.expect("a row"), &name);
        let stored = stored.await.expect("reads");
        let cached = bench.body(&name).await;
        assert_eq!(stored.map(|stored| stored.body.to_string()), cached);
        assert_eq!(cached.as_deref(), last);
    }
    bench.stop().await;
}

#[tokio::test]
async fn a_rollback_takes_back_records_and_keeps_what_was_read() {
    let bench = Bench::start().await;
    let mut unit = bench.unit();
    unit.put_record(action("kept"), "1".into()).expect("fits");
    let mark = unit.mark();
    unit.put_record(action("kept"), "2".into()).expect("fits");
    unit.put_record(action("lost"), "2".into()).expect("fits");
    unit.read_record(&action("seen")).await.expect("reads");
    unit.roll_back_to(&mark);
    unit.release(mark);
    bench.put(&action("seen"), "x").await;
    let refused = commit(unit).await.expect_err("it has seen nothing there");
    assert_eq!(refused.code(), Code::Conflict);
    let mut unit = bench.unit();
    unit.put_record(action("kept"), "1".into()).expect("fits");
    let mark = unit.mark();
    unit.drop_record(action("kept")).expect("fits");
    unit.roll_back_to(&mark);
    unit.release(mark);
    commit(unit).await.expect("commits");
    assert_eq!(bench.body(&action("kept")).await.as_deref(), Some("1"));
    assert_eq!(bench.body(&action("lost")).await, None);
    bench.stop().await;
}

#[tokio::test]
async fn records_commit_with_entities_or_not_at_all() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let mut unit = bench.unit();
    let version = unit.read(id).await.expect("reads").expect("is there");
    unit.update(&model, &version, with(&version, 2), Vec::new(), None)
        .expect("fits");
    unit.put_record(action("a"), "with it".into())
        .expect("fits");
    let mut other = bench.unit();
    let version = other.read(id).await.expect("reads").expect("is there");
    other
        .update(&model, &version, with(&version, 3), Vec::new(), None)
        .expect("fits");
    commit(other).await.expect("commits");
    let refused = commit(unit).await.expect_err("the entity has moved");
    assert_eq!(refused.code(), Code::Conflict);
    assert_eq!(bench.body(&action("a")).await, None);
    bench.stop().await;
}

#[tokio::test]
async fn bytes_of_records_are_counted_for_their_tenant() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let counting = bench.storage.count_usage(bench.stop.clone());
    counting.await;
    let change = async |bench: &Bench, body: Option<&str>| {
        let mut unit = bench.unit();
        unit.read_record(&action("a")).await.expect("reads");
        match body {
            Some(body) => unit.put_record(action("a"), body.into()).expect("fits"),
            None => unit.drop_record(action("a")).expect("fits"),
        }
        commit(unit).await.expect("commits");
        bench.storage.stored_bytes(&tenant())
    };
    assert_eq!(change(&bench, Some("12345678")).await, 8);
    assert_eq!(change(&bench, Some("123")).await, 3);
    assert_eq!(change(&bench, None).await, 0);
    assert_eq!(change(&bench, Some("1234")).await, 4);
    bench.stop().await;
    let bench = Bench::on(place).await;
    let counting = bench.storage.count_usage(bench.stop.clone());
    // What is rewritten before it is counted is counted as it is then.
    bench.put(&action("a"), "123456").await;
    bench.put(&action("b"), "12").await;
    counting.await;
    assert_eq!(bench.storage.stored_bytes(&tenant()), 8);
    assert_eq!(change(&bench, Some("1")).await, 3);
    bench.stop().await;
}

#[tokio::test]
async fn bytes_that_a_commit_frees_are_subtracted_once() {
    let bench = Bench::start().await;
    bench.storage.count_usage(bench.stop.clone()).await;
    let mut unit = bench.unit();
    let body = "12345678";
    unit.put_record(action("a"), body.into()).expect("fits");
    commit(unit).await.expect("commits");
    let freed = [(port::TenantRow(1), tenant(), 3)];
    let mut newest = bench.storage.0.applied.newest();
    newest.sequence.0 += 1;
    // A pulse has brought what it has freed.
    bench.storage.0.applied.begin().finish(newest);
    bench.storage.take_over_link(newest, &freed);
    assert_eq!(bench.storage.stored_bytes(&tenant()), 8);
    newest.sequence.0 += 1;
    bench.storage.take_over_link(newest, &freed);
    assert_eq!(bench.storage.stored_bytes(&tenant()), 5);
    bench.stop().await;
}

#[tokio::test]
async fn what_is_kept_of_a_slow_reader_yields_to_what_was_committed_meanwhile() {
    let bench = Bench::start().await;
    let name = action("a");
    bench.put(&name, "1").await;
    let cache = &bench.storage.0.records;
    let old = cache.get(&tenant(), &name).expect("was just committed");
    let since = cache.generation(&tenant(), &name);
    bench.put(&name, "2").await;
    cache.fill(&tenant(), &old, since);
    assert_eq!(bench.body(&name).await.as_deref(), Some("2"));
    bench.stop().await;
}
