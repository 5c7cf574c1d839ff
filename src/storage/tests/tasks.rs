//! Tasks in units of work.
#![cfg(test)]

use super::*;

async fn dues(unit: &mut UnitOfWork, id: EntityId) -> Vec<i64> {
    let version = unit.read(id).await.expect("reads").expect("there");
    let tasks = unit.tasks(&version).await.expect("reads");
    tasks.iter().map(|task| task.due.micros()).collect()
}

#[tokio::test]
async fn a_rollback_brings_back_a_task_that_was_dropped_before_it_was_stored() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let image = image(&unit, &model, 1);
    let id = image.id;
    unit.create(&model, image, Vec::new(), None).expect("fits");
    unit.put_task(later(id, 7)).expect("fits");
    let mark = unit.mark();
    let version = unit.peek_own(id).expect("saved");
    let tasks = unit.tasks(&version).await.expect("reads");
    unit.drop_task(&tasks[0]);
    assert!(dues(&mut unit, id).await.is_empty());
    unit.roll_back_to(&mark);
    unit.release(mark);
    assert_eq!(dues(&mut unit, id).await, [7]);
    commit(unit).await.expect("commits");
    assert_eq!(dues(&mut bench.unit(), id).await, [7]);
    bench.stop().await;
}

#[tokio::test]
async fn a_task_that_replaces_a_stored_one_takes_it_along_when_it_is_dropped() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    for (due, dropped, left) in [(7, false, vec![7]), (8, true, vec![])] {
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &version, with(&version, due), Vec::new(), None)
            .expect("fits");
        unit.put_task(later(id, due)).expect("fits");
        if dropped {
            let tasks = unit.tasks(&version).await.expect("reads");
            unit.drop_task(&tasks[0]);
        }
        commit(unit).await.expect("commits");
        assert_eq!(dues(&mut bench.unit(), id).await, left);
    }
    bench.stop().await;
}

#[tokio::test]
async fn what_is_due_is_read_with_its_entity_which_must_not_move() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut keys = Vec::new();
    let mut ids = Vec::new();
    for n in [1, 2] {
        let id = bench.create(&model, n).await;
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        unit.update(&model, &version, with(&version, n), Vec::new(), None)
            .expect("fits");
        unit.put_task(later(id, n)).expect("fits");
        commit(unit).await.expect("commits");
        let tasks = bench.unit().tasks(&version).await.expect("reads");
        keys.push(tasks[0].handle());
        ids.push(id);
    }
    let due = bench.storage.due(&keys).await.expect("reads");
    assert_eq!(
        due.iter().map(|due| due.task.handle()).collect::<Vec<_>>(),
        keys
    );
    let mut unit = bench.unit();
    let version = unit.read(ids[0]).await.expect("reads").expect("there");
    unit.update(&model, &version, with(&version, 3), Vec::new(), None)
        .expect("fits");
    commit(unit).await.expect("commits");
    for (due, stayed) in due.into_iter().zip([false, true]) {
        let mut unit = bench.unit();
        let seen = due.seen.expect("the entity is there");
        let (base, tasks) = unit.begin_with(seen).await.expect("begins");
        assert_eq!(tasks.len(), 1);
        unit.drop_task(&due.task);
        unit.update(&model, &base, with(&base, 4), Vec::new(), None)
            .expect("fits");
        assert_eq!(commit(unit).await.is_ok(), stayed);
    }
    let left = bench.storage.due(&keys).await.expect("reads");
    assert_eq!(left.len(), 1, "one is done");
    assert_eq!(left[0].task.handle(), keys[0]);
    bench.stop().await;
}

#[tokio::test]
async fn what_a_timer_declined_is_recorded_once() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let id = bench.create(&model, 1).await;
    let mut unit = bench.unit();
    let version = unit.read(id).await.expect("reads").expect("there");
    unit.update(&model, &version, with(&version, 2), Vec::new(), None)
        .expect("fits");
    unit.put_task(later(id, 7)).expect("fits");
    commit(unit).await.expect("commits");
    // Two processes have read the task before one of them is done.
    let mut units = Vec::new();
    for _ in 0..2 {
        let mut unit = bench.unit();
        let version = unit.read(id).await.expect("reads").expect("there");
        let tasks = unit.tasks(&version).await.expect("reads");
        let record = RunRecord {
            start: StartKind::Timer,
            asked: Some("later".to_owned()),
            at: 7,
            entries: Vec::new(),
            ended: Vec::new(),
        };
        unit.note(&version, record).expect("fits");
        unit.drop_task(&tasks[0]);
        units.push(unit);
    }
    let second = units.pop().expect("two");
    let first = units.pop().expect("two");
    commit(first).await.expect("commits");
    assert!(matches!(commit(second).await, Err(Error::Conflict)));
    assert!(dues(&mut bench.unit(), id).await.is_empty());
    bench.stop().await;
}
