//! The feed: once, in order, and what is wanted of it.
#![cfg(test)]

use super::*;

/// What a feed gives from a position on, up to a sequence; in the parts it gives it in.
async fn followed(
    bench: &Bench,
    tenant: &Tenant,
    wanted: Wanted,
    after: Option<Position>,
    until: Sequence,
) -> Vec<Changed> {
    let mut feed = bench
        .storage
        .follow(tenant, wanted, after)
        .await
        .expect("follows");
    let mut all: Vec<Changed> = Vec::new();
    while all
        .last()
        .is_none_or(|change| change.position.0 < until.0 - 1)
    {
        all.extend(feed.next().await.expect("changes"));
    }
    all
}

fn positions(changes: &[Changed]) -> Vec<i64> {
    changes.iter().map(|change| change.position.0).collect()
}

/// Writes at random: creations, updates, deletions and many at once, for a while.
async fn write_at_random(bench: &Bench, model: &Arc<Definitions>, writer: i64) {
    let mut ids = Vec::new();
    for n in 0..60 {
        let mut unit = bench.unit();
        match (n * 7 + writer) % 5 {
            0 if !ids.is_empty() => {
                let id = ids.swap_remove(0);
                let base = unit.read(id).await.expect("reads").expect("there");
                unit.remove(model, &base, None).expect("fits");
            }
            1 | 2 if !ids.is_empty() => {
                let id = ids[usize::try_from(n).expect("small") % ids.len()];
                let base = unit.read(id).await.expect("reads").expect("there");
                let state = if n % 2 == 0 { "B" } else { "A" };
                let image = Image {
                    state: state.into(),
                    ..with(&base, n)
                };
                unit.update(model, &base, image, Vec::new(), None)
                    .expect("fits");
            }
            _ => {
                for _ in 0..n % 4 {
                    let image = image(&unit, model, n);
                    ids.push(image.id);
                    unit.create(model, image, Vec::new(), None).expect("fits");
                }
            }
        }
        commit(unit).await.expect("commits");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_feed_gives_every_version_once_in_order_whenever_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench =
        Arc::new(Bench::on(DatabaseLocation::File(folder.path().join("interlock.db"))).await);
    let models = [bench.locked_model("m").await, bench.locked_model("n").await];
    let begun = bench.storage.latest();
    let documents = || Wanted {
        documents: true,
        ..Wanted::default()
    };
    let mut live = bench
        .storage
        .follow(&tenant(), documents(), None)
        .await
        .expect("follows");
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let (bench, model) = (Arc::clone(&bench), Arc::clone(&models[writer % 2]));
            let writer = i64::try_from(writer).expect("small");
            tokio::spawn(async move { write_at_random(&bench, &model, writer).await })
        })
        .collect();
    // One that reads while they write, one that comes late, and one that has to look everything up.
    let reading = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move {
            let mut heard = Vec::new();
            while heard.len() < 100 {
                heard.extend(live.next().await.expect("changes"));
            }
            drop(live);
            let reached = heard.last().expect("some").position;
            (heard, reached, bench.storage.latest())
        }
    });
    for writer in writers {
        writer.await.expect("writes");
    }
    let (mut heard, reached, _) = reading.await.expect("reads");
    bench.create(&models[0], 1).await;
    let until = bench.storage.latest();
    heard.extend(followed(&bench, &tenant(), documents(), Some(reached), until).await);
    let all = followed(&bench, &tenant(), documents(), Some(Position(0)), until).await;
    assert!(positions(&all).is_sorted_by(|one, next| one < next));
    assert_eq!(positions(&heard), positions(&all));
    assert!(all[0].position.0 > begun.0);
    for (one, other) in heard.iter().zip(&all) {
        // From the ring and from the table: the same.
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    let now = bench.snapshot().await;
    let mut received = 0;
    for id in all
        .iter()
        .map(|change| change.entity)
        .collect::<std::collections::BTreeSet<_>>()
    {
        let history = now.history(id, 1_000).await.expect("reads");
        let of_it: Vec<_> = all.iter().filter(|change| change.entity == id).collect();
        assert_eq!(history.len(), of_it.len());
        for (then, change) in history.iter().rev().zip(of_it) {
            assert_eq!(
                (then.position, then.kind, then.at, then.transaction),
                (change.position, change.kind, change.at, change.transaction)
            );
            received += 1;
        }
    }
    assert_eq!(received, all.len());
    for after in positions(&all).into_iter().step_by(37) {
        let rest = followed(
            &bench,
            &tenant(),
            Wanted::default(),
            Some(Position(after)),
            until,
        )
        .await;
        let expected: Vec<_> = positions(&all).into_iter().filter(|n| *n > after).collect();
        assert_eq!(positions(&rest), expected);
    }
    Arc::into_inner(bench).expect("the last one").stop().await;
}

#[tokio::test]
async fn a_feed_gives_what_is_wanted_of_it_from_the_ring_as_from_the_table() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    bench.locked_model("n").await;
    let wanted = [
        Wanted::default(),
        Wanted {
            model: Some(ModelKey::new("m", 1)),
            ..Wanted::default()
        },
        Wanted {
            model: Some(ModelKey::new("n", 1)),
            ..Wanted::default()
        },
        Wanted {
            states: Some(vec!["B".into()]),
            documents: true,
            ..Wanted::default()
        },
    ];
    let mut live = Vec::new();
    for wanted in &wanted {
        let begun = bench.storage.follow(&tenant(), wanted.clone(), None).await;
        live.push(begun.expect("follows"));
    }
    write_at_random(&bench, &model, 0).await;
    let last = bench.definitions(&ModelKey::new("n", 1)).await;
    let mut unit = bench.unit();
    for model in [&model, &last] {
        let image = Image {
            state: "B".into(),
            ..image(&unit, model, 1)
        };
        unit.create(model, image, Vec::new(), None).expect("fits");
    }
    commit(unit).await.expect("commits");
    let all = followed(
        &bench,
        &tenant(),
        Wanted::default(),
        Some(Position(0)),
        bench.storage.latest(),
    )
    .await;
    for (wanted, mut live) in wanted.into_iter().zip(live) {
        let fits = |change: &&Changed| {
            wanted
                .model
                .as_ref()
                .is_none_or(|model| *model == change.model)
                && wanted
                    .states
                    .as_ref()
                    .is_none_or(|states| states.contains(&change.state))
        };
        let expected: Vec<_> = all
            .iter()
            .filter(fits)
            .map(|change| change.position.0)
            .collect();
        assert!(!expected.is_empty());
        let mut heard = Vec::new();
        while heard.len() < expected.len() {
            heard.extend(live.next().await.expect("changes"));
        }
        assert_eq!(positions(&heard), expected);
        let has_documents = |change: &Changed| change.document.is_some();
        assert_eq!(heard.iter().any(has_documents), wanted.documents);
        drop(live);
        let mut again = bench
            .storage
            .follow(&tenant(), wanted.clone(), Some(Position(0)))
            .await
            .expect("follows");
        let mut read = Vec::new();
        while read.len() < expected.len() {
            read.extend(again.next().await.expect("changes"));
        }
        assert_eq!(format!("{read:?}"), format!("{heard:?}"));
    }
    bench.stop().await;
}

#[tokio::test]
async fn a_feed_begins_where_it_is_asked_to_or_says_why_not() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    bench.create(&model, 1).await;
    let latest = bench.storage.latest();
    let follow = async |model: &str, after| {
        let wanted = Wanted {
            model: Some(ModelKey::new(model, 1)),
            ..Wanted::default()
        };
        bench.storage.follow(&tenant(), wanted, after).await
    };
    let ahead = follow("m", Some(Position(latest.0 + 1))).await;
    assert_eq!(ahead.expect_err("ahead").code(), Code::BadRequest);
    assert!(follow("m", Some(Position(latest.0))).await.is_ok());
    let unknown = follow("x", None).await;
    assert_eq!(unknown.expect_err("unknown").code(), Code::ModelNotFound);

    // Someone who has never written hears of the first thing they write.
    let newcomer = Tenant::from("newcomer");
    let mut feed = bench
        .storage
        .follow(&newcomer, Wanted::default(), None)
        .await
        .expect("follows");
    bench.create(&model, 2).await;
    let key = ModelKey::new("theirs", 1);
    for change in [ModelChange::Import(Schema::default()), ModelChange::Lock] {
        bench
            .storage
            .change_model(&newcomer, user("x"), &key, change)
            .await
            .expect("changes");
    }
    let theirs = bench
        .storage
        .definitions(&newcomer, &key)
        .await
        .expect("reads")
        .expect("a model");
    let mut unit = bench.storage.unit(&newcomer, user("x"));
    let image = image(&unit, &theirs, 3);
    unit.create(&theirs, image, Vec::new(), None).expect("fits");
    commit(unit).await.expect("commits");
    let heard = feed.next().await.expect("changes");
    assert_eq!((heard.len(), &heard[0].model), (1, &key));
    bench.stop().await;
}

#[tokio::test]
async fn a_page_of_the_feed_is_bounded_in_bytes_whatever_is_in_it() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let sizes = [10, 200_000, 200_000, 700_000, 5, 5, 300_000, 1];
    for size in sizes {
        let mut unit = bench.unit();
        let image = Image {
            document: Json::trusted(format!(r#"{{"n":"{}"}}"#, "x".repeat(size))),
            ..image(&unit, &model, 1)
        };
        unit.create(&model, image, Vec::new(), None).expect("fits");
        commit(unit).await.expect("commits");
    }
    let wanted = Wanted {
        documents: true,
        ..Wanted::default()
    };
    let mut feed = bench
        .storage
        .follow(&tenant(), wanted, Some(Position(0)))
        .await
        .expect("follows");
    let mut heard = Vec::new();
    while heard.len() < sizes.len() {
        let part = feed.next().await.expect("changes");
        let bytes = |change: &Changed| change.document.as_ref().map_or(0, |d| d.as_str().len());
        assert!(part.len() == 1 || part.iter().map(bytes).sum::<usize>() <= 256 << 10);
        heard.extend(part);
    }
    assert!(positions(&heard).is_sorted_by(|one, next| one < next));
    bench.stop().await;
}
