//! Topics: events with sequences, in commits.

use super::*;

fn topic(name: &str) -> TopicKey {
    TopicKey::new("default", name)
}

fn event(payload: &str, id: Option<&str>) -> NewTopicEvent {
    NewTopicEvent {
        payload: payload.into(),
        kind: None,
        key: None,
        id: id.map(Into::into),
    }
}

impl Bench {
    async fn publish(&self, name: &str, events: Vec<NewTopicEvent>) -> Vec<i64> {
        let mut unit = self.unit();
        let published = unit.publish(topic(name), events).expect("fits");
        assert_eq!(published.sequences(), [0; 0], "not before the commit");
        commit(unit).await.expect("commits");
        published.sequences().to_vec()
    }

    /// The first and last sequence of a topic, and its events after one.
    async fn read(&self, name: &str, after: i64) -> (i64, i64, Vec<(i64, String)>) {
        let found = self
            .storage
            .topic(&tenant(), &topic(name), after, 100)
            .await;
        let (listed, events) = found.expect("reads").expect("is there");
        let events = events.into_iter();
        let events = events.map(|event| (event.sequence, event.payload.to_string()));
        (listed.first, listed.last, events.collect())
    }
}

#[tokio::test]
async fn events_have_sequences_without_gaps_and_outlive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let none = bench.storage.topic(&tenant(), &topic("a"), 0, 1).await;
    assert_eq!(none.expect("reads"), None);
    let first = vec![event("1", None), event("2", None)];
    assert_eq!(bench.publish("a", first).await, [1, 2]);
    assert_eq!(bench.publish("b", vec![event("9", None)]).await, [1]);
    bench.stop().await;
    let bench = Bench::on(place).await;
    assert_eq!(bench.publish("a", vec![event("3", None)]).await, [3]);
    assert_eq!(bench.publish("c", vec![event("8", None)]).await, [1]);
    let events = [(2, "2".to_owned()), (3, "3".to_owned())];
    assert_eq!(bench.read("a", 1).await, (1, 3, events.to_vec()));
    let listed = bench.storage.topics(&tenant(), "default", None, 2).await;
    let names: Vec<_> = listed
        .expect("reads")
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["a".into(), "b".into()]);
    let others = bench
        .storage
        .topic(&"other".into(), &topic("a"), 0, 1)
        .await;
    assert_eq!(others.expect("reads"), None);
    bench.stop().await;
}

#[tokio::test]
async fn a_repeated_id_is_the_first_again() {
    let bench = Bench::start().await;
    let events = |ids: &[&str]| ids.iter().map(|id| event("1", Some(id))).collect();
    assert_eq!(
        bench.publish("a", events(&["x", "y", "x"])).await,
        [1, 2, 1]
    );
    assert_eq!(bench.publish("a", events(&["z", "y"])).await, [3, 2]);
    assert_eq!(
        bench.publish("b", events(&["y"])).await,
        [1],
        "of another topic"
    );
    assert_eq!(bench.read("a", 0).await.2.len(), 3);
    bench.stop().await;
}

#[tokio::test]
async fn units_that_publish_at_once_do_not_conflict() {
    let bench = Bench::start().await;
    let publishing = (0..64).map(|n| {
        let events = vec![event(&n.to_string(), Some("same")), event("2", None)];
        bench.publish("a", events)
    });
    let all = futures_util::future::join_all(publishing).await;
    let mut given: Vec<i64> = all.iter().map(|sequences| sequences[1]).collect();
    given.sort_unstable();
    assert_eq!(given, (2..=65).collect::<Vec<_>>());
    assert!(all.iter().all(|sequences| sequences[0] == 1));
    assert_eq!(bench.read("a", 0).await.1, 65);
    bench.stop().await;
}

#[tokio::test]
async fn sequences_that_a_unit_computed_itself_hold_or_it_gets_a_conflict() {
    let bench = Bench::start().await;
    for expected in [[1, 2], [3, 1]] {
        let second = if expected[0] == 1 { None } else { Some("x") };
        let first = if expected[0] == 1 { Some("x") } else { None };
        let mut unit = bench.unit();
        let events = vec![event("1", first), event("1", second)];
        let sequences = unit.publish_next(topic("a"), events).await.expect("fits");
        assert_eq!(sequences, expected);
        commit(unit).await.expect("commits");
    }
    let mut unit = bench.unit();
    let publishing = unit.publish_next(topic("a"), vec![event("1", None)]);
    assert_eq!(publishing.await.expect("fits"), [4]);
    bench.publish("a", vec![event("2", None)]).await;
    let refused = commit(unit).await.expect_err("somebody was first");
    assert_eq!(refused.code(), Code::Conflict);
    assert_eq!(bench.read("a", 3).await.2, [(4, "2".to_owned())]);
    bench.stop().await;
}

#[tokio::test]
async fn events_are_rolled_back_with_the_work_and_committed_with_entities() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut unit = bench.unit();
    let new = image(&unit, &model, 1);
    unit.create(&model, new, Vec::new(), None).expect("fits");
    unit.publish(topic("a"), vec![event("1", None)])
        .expect("fits");
    let mark = unit.mark();
    unit.publish(topic("a"), vec![event("2", None)])
        .expect("fits");
    unit.roll_back_to(&mark);
    unit.release(mark);
    unit.publish(topic("a"), vec![event("3", None)])
        .expect("fits");
    commit(unit).await.expect("commits");
    let events = [(1, "1".to_owned()), (2, "3".to_owned())];
    assert_eq!(bench.read("a", 0).await.2, events);
    bench.stop().await;
}

#[tokio::test]
async fn a_part_ends_with_a_number_of_bytes() {
    let bench = Bench::start().await;
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let events = (0..10).map(|_| event(&large, None)).collect();
    bench.publish("a", events).await;
    let (mut after, mut parts) = (0, 0);
    while after < 10 {
        let events = bench.read("a", after).await.2;
        assert!((1..=5).contains(&events.len()), "{}", events.len());
        after = events.last().expect("more").0;
        parts += 1;
    }
    assert!(parts > 1);
    bench.stop().await;
}

#[tokio::test]
async fn bytes_of_topics_are_counted_for_their_tenant() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    bench.storage.count_usage(bench.stop.clone()).await;
    bench
        .publish("a", vec![event("12345678", Some("id"))])
        .await;
    assert_eq!(bench.storage.stored_bytes(&tenant()), 10);
    bench.stop().await;
    let bench = Bench::on(place).await;
    bench.storage.count_usage(bench.stop.clone()).await;
    assert_eq!(bench.storage.stored_bytes(&tenant()), 10);
    bench.stop().await;
}

#[tokio::test]
async fn topics_with_new_events_are_reported_once_they_are_committed() {
    let bench = Bench::start().await;
    bench.publish("before", vec![event("1", None)]).await;
    assert!(bench.storage.changed_topics().is_empty());
    let mut unit = bench.unit();
    unit.publish(topic("a"), vec![event("1", None)])
        .expect("fits");
    assert!(bench.storage.changed_topics().is_empty());
    commit(unit).await.expect("commits");
    bench.publish("a", vec![event("2", None)]).await;
    bench.storage.topics_changed().await;
    let changed = bench.storage.changed_topics();
    assert!(changed.contains(&(tenant(), topic("a"))) && changed.len() == 1);
    assert!(bench.storage.changed_topics().is_empty());
    bench.stop().await;
}
