//! Reading many entities at once.

use std::collections::BTreeMap;

use super::*;

/// Who an entity is, and where its version stands.
type Listed = Vec<(EntityId, Position)>;

/// The entities of a model as a scan lists them.
async fn scanned(snapshot: &Snapshot, model: &Definitions) -> Listed {
    let mut scan = snapshot.scan(model);
    let mut found = Vec::new();
    while let Some(part) = scan.next().await.expect("scans") {
        found.extend(
            part.iter()
                .map(|version| (version.image.id, version.position)),
        );
    }
    found
}

/// The same, page by page.
async fn paged(snapshot: &Snapshot, model: &Definitions, size: i64) -> Listed {
    let mut found = Vec::new();
    for number in 0.. {
        let page = snapshot
            .page(model, None, number * size, size)
            .await
            .expect("a page");
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    found
}

/// Numbers that look like chance and are always the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % 1_000_003).expect("small") % end
    }
}

#[tokio::test]
async fn pages_of_any_time_are_what_was_there_then() {
    let bench = Bench::start().await;
    let models = [bench.locked_model("m").await, bench.locked_model("o").await];
    let mut chance = Chance(42);
    let mut live = Vec::new();
    let mut known: [BTreeMap<EntityId, Position>; 2] = Default::default();
    let mut moments = Vec::new();
    for n in 0..160 {
        let mut unit = bench.unit();
        let mut touched = Vec::new();
        for _ in 0..=chance.below(4) {
            let which = chance.below(2);
            match chance.below(5) {
                0 | 1 => {
                    let image = image(&unit, &models[which], n);
                    live.push((which, image.id));
                    touched.push((which, image.id));
                    unit.create(&models[which], image, Vec::new(), None)
                        .expect("fits");
                }
                doing if !live.is_empty() => {
                    let at = chance.below(live.len());
                    let (which, id) = live[at];
                    let base = unit.read(id).await.expect("reads").expect("there");
                    touched.push((which, id));
                    if doing == 2 {
                        live.swap_remove(at);
                        unit.remove(&models[which], &base, None).expect("fits");
                    } else {
                        unit.update(&models[which], &base, with(&base, n), Vec::new(), None)
                            .expect("fits");
                    }
                }
                _ => {}
            }
        }
        let at = commit(unit).await.expect("commits").at;
        let now = bench.snapshot().await;
        for (which, id) in touched {
            match now.entity(id).await.expect("reads") {
                Some(version) => known[which].insert(id, version.position),
                None => known[which].remove(&id),
            };
        }
        moments.push((now, at, known.clone()));
    }
    // One entity at an instant, twice: read, and remembered.
    for (_, at, known) in moments.iter().chain(&moments) {
        let instant = PointInTime {
            until: *at,
            text: "then".into(),
        };
        for (id, position) in known.iter().flatten() {
            let then = bench.storage.entity_at(&tenant(), *id, &instant).await;
            assert_eq!(then.expect("reads").expect("there").position, *position);
        }
        let gone = live
            .iter()
            .filter(|(which, id)| !known[*which].contains_key(id));
        for (_, id) in gone {
            let then = bench.storage.entity_at(&tenant(), *id, &instant).await;
            assert!(then.expect("reads").is_none(), "not there yet");
        }
    }
    for (snapshot, _, known) in &moments {
        for (model, known) in models.iter().zip(known) {
            let expected: Listed = known.iter().map(|(id, n)| (*id, *n)).collect();
            assert_eq!(paged(snapshot, model, 7).await, expected);
            assert_eq!(scanned(snapshot, model).await, expected);
            let after = expected.get(2).map(|(id, _)| *id);
            let rest = snapshot.page(model, after, 1, 3).await.expect("a page");
            let skipped = if after.is_some() { 4 } else { 1 };
            let wanted: Listed = expected.iter().skip(skipped).take(3).copied().collect();
            assert_eq!(rest, wanted);
        }
    }
    let (now, _, known) = moments.last().expect("moments");
    let current = now.current_page(&models[0], 0, 1_000).await.expect("reads");
    assert_eq!(
        current,
        known[0].iter().map(|(id, n)| (*id, *n)).collect::<Listed>()
    );
    bench.stop().await;
}

#[tokio::test]
async fn large_documents_come_in_small_parts() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    for _ in 0..12 {
        let mut unit = bench.unit();
        let mut large = image(&unit, &model, 0);
        large.document = Json::trusted(format!(r#"{{"n":"{}"}}"#, "x".repeat(1 << 20)));
        unit.create(&model, large, Vec::new(), None).expect("fits");
        commit(unit).await.expect("commits");
    }
    let snapshot = bench.snapshot().await;
    let mut scan = snapshot.scan(&model);
    let mut found = 0;
    while let Some(part) = scan.next().await.expect("scans") {
        assert!(part.len() <= 2, "{}", part.len());
        found += part.len();
    }
    assert_eq!(found, 12);
    let page = snapshot.page(&model, None, 0, 100).await.expect("a page");
    let mut positions: Vec<Position> = page.iter().map(|(_, position)| *position).collect();
    positions.reverse();
    let mut read = Vec::new();
    while read.len() < positions.len() {
        let (part, reached) = snapshot
            .versions(&positions[read.len()..])
            .await
            .expect("reads");
        assert!(part.len() <= 2 && reached == part.len());
        read.extend(part.into_iter().map(|version| version.position));
    }
    assert_eq!(read, positions);
    bench.stop().await;
}

/// Of many positions the sizes are asked for first, of few they are counted as they are read.
#[tokio::test]
async fn many_versions_come_in_parts_and_in_the_order_that_was_asked_for() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    for part in 0..50 {
        let mut unit = bench.unit();
        for n in 0..100 {
            let mut image = image(&unit, &model, part * 100 + n);
            let text = "x".repeat(if n == 0 { 90_000 } else { 10 });
            image.document = Json::trusted(format!(r#"{{"n":"{text}"}}"#));
            unit.create(&model, image, Vec::new(), None).expect("fits");
        }
        commit(unit).await.expect("commits");
    }
    let snapshot = bench.snapshot().await;
    let page = snapshot
        .page(&model, None, 0, 10_000)
        .await
        .expect("a page");
    let mut positions: Vec<Position> = page.iter().map(|(_, position)| *position).collect();
    assert_eq!(positions.len(), 5_000);
    positions.reverse();
    let (mut read, mut parts) = (Vec::new(), 0);
    while read.len() < positions.len() {
        let (part, reached) = snapshot
            .versions(&positions[read.len()..])
            .await
            .expect("reads");
        let bytes = |version: &Version| version.image.document.as_str().len();
        assert!(part.iter().map(bytes).sum::<usize>() < (2 << 20) + 90_010);
        assert_eq!(reached, part.len());
        read.extend(part.into_iter().map(|version| version.position));
        parts += 1;
    }
    assert_eq!(read, positions);
    assert_eq!(parts, 3);
    bench.stop().await;
}

#[tokio::test]
async fn large_documents_are_read_a_few_at_a_time() {
    let bench = Bench::start().await;
    let model = bench.locked_model("m").await;
    let mut made = Vec::new();
    for n in 0..7 {
        let mut unit = bench.unit();
        let document = Json::trusted(format!(r#"{{"n":{n},"text":"{}"}}"#, "é".repeat(400_000)));
        let image = Image {
            document,
            ..image(&unit, &model, n)
        };
        made.push(image.id);
        unit.create(&model, image, Vec::new(), None).expect("fits");
        commit(unit).await.expect("commits");
    }
    made.sort();
    let database = &bench.storage.0.database;
    let (mut parts, mut found, mut rows) = (0, Vec::new(), Vec::new());
    loop {
        let after = found.last().copied();
        let part = database.to_index(model.row, after, 100).await;
        let part = part.expect("reads");
        if part.is_empty() {
            break;
        }
        parts += 1;
        found.extend(part.iter().map(|row| row.id));
        rows.extend(part.iter().map(|row| row.entity));
    }
    assert_eq!((parts, found), (3, made));
    rows.sort_unstable();
    let leaving = database.leaving(&rows).await.expect("reads");
    let leaving: Vec<_> = leaving.iter().map(|leaving| leaving.entity).collect();
    assert_eq!(leaving, rows[..3]);
    let snapshot = bench.snapshot().await;
    let mut scan = snapshot.scan(&model);
    let mut lengths = Vec::new();
    while let Some(part) = scan.next().await.expect("scans") {
        lengths.push(part.len());
    }
    assert_eq!(lengths, [3, 3, 1]);
    bench.stop().await;
}
