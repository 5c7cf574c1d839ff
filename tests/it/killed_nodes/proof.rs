//! What must hold after each round, and in the end.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{task::block_in_place, time::sleep};

use super::{
    FIXED, FOUND_FROM, PATIENCE,
    feed::{Change, Feed},
    load::{Fate, Ledger, Load, Made},
    nodes::Nodes,
};
use crate::support::Connection;

/// What was there in the end.
pub(super) struct Found {
    acknowledged: usize,
    changes: usize,
    commits: String,
    timers: usize,
    searches: usize,
    runs: usize,
    delivered: usize,
    refused: BTreeMap<String, usize>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            acknowledged,
            changes,
            commits,
            timers,
            searches,
            runs,
            delivered,
            refused,
        } = self;
        write!(
            f,
            "{acknowledged} acknowledged writes, {changes} changes in {commits} commits, {timers} \
             timers, {searches} background searches, {runs} runs with {delivered} deliveries of \
             tasks; nothing was lost, nothing was done twice, and the feeds of all nodes are the \
             same. Refused: {refused:?}"
        )
    }
}

/// The changes up to a position, as the database has them.
const CHANGES: &str = "select v.n, en.id, c.id, (array['CREATE', 'UPDATE', 'DELETE'])[v.kind + 1]
    from version v join entity en using (e) join \"commit\" c using (seq)
    where v.n > FROM and v.n <= UNTIL order by v.n";

/// Commits that do not follow one that is there, or that are not stamped after the one before.
const BROKEN: &str = "select count(*) from (select seq, prev, at, lag(seq) over w as before,
    lag(at) over w as earlier from \"commit\" window w as (order by seq)) c
    where at <= earlier or prev is not null and prev is distinct from before";

/// What is known of the feeds.
#[derive(Default)]
pub(super) struct Proof {
    /// Up to where they were compared.
    position: i64,
    /// How many changes each has up to there.
    changes: usize,
    /// How many acknowledgements were looked for.
    acknowledged: usize,
    made: HashSet<Made>,
}

/// Asks the database, once it is there.
async fn ask(nodes: &Nodes, text: &str) -> String {
    let begun = Instant::now();
    loop {
        match block_in_place(|| nodes.postgres.try_execute(text)) {
            Ok(said) => return said,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{text}: {error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

fn change(line: &str) -> Change {
    let parts: Vec<&str> = line.split('|').collect();
    let [position, entity, transaction, kind] = parts[..] else {
        panic!("a change: {line}");
    };
    Change {
        position: position.parse().expect("a number"),
        entity: entity.to_owned(),
        transaction: transaction.to_owned(),
        kind: kind.to_owned(),
    }
}

impl Proof {
    /// Compares the feeds with the database and looks for all that was acknowledged.
    pub(super) async fn check_feeds(&mut self, load: &Load, feeds: &[Arc<Feed>], why: &str) {
        let known = load.ledger().acknowledged.len();
        let newest = ask(&load.nodes, "select coalesce(max(n), 0) from version").await;
        let until: i64 = newest.parse().expect("a number");
        let text = CHANGES
            .replace("FROM", &self.position.to_string())
            .replace("UNTIL", &newest);
        let rows = ask(&load.nodes, &text).await;
        let rows: Vec<Change> = rows.lines().map(change).collect();
        for (node, feed) in feeds.iter().enumerate() {
            let begun = Instant::now();
            while feed.last() < until {
                let last = feed.last();
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{why}: the feed of node {node} stands at {last} and not at {until}"
                );
                sleep(Duration::from_millis(10)).await;
            }
            let seen = feed.seen();
            let new = seen[self.changes..].iter();
            let new: Vec<&Change> = new.take_while(|change| change.position <= until).collect();
            let differs = (0..rows.len().max(new.len()))
                .find(|index| rows.get(*index) != new.get(*index).copied());
            if let Some(index) = differs {
                panic!(
                    "{why}: the feed of node {node} has {:?} and not {:?}",
                    new.get(index),
                    rows.get(index)
                );
            }
        }
        self.position = until;
        self.changes += rows.len();
        let made = rows.into_iter().map(|change| Made {
            entity: change.entity,
            transaction: change.transaction,
        });
        self.made.extend(made);
        let ledger = load.ledger();
        for made in &ledger.acknowledged[self.acknowledged..known] {
            assert!(self.made.contains(made), "{why}: {made:?} is lost");
        }
        self.acknowledged = known;
    }

    /// Checks everything, when nothing more is begun.
    pub(super) async fn check(&mut self, load: &Load, feeds: &[Arc<Feed>], why: &str) -> Found {
        let connection = load.nodes.try_connect(0).await.expect("a node");
        searches_end(load, why).await;
        runs_end(&connection, why).await;
        let due = "select count(*) from task";
        let begun = Instant::now();
        while ask(&load.nodes, due).await != "0" {
            assert!(begun.elapsed() < PATIENCE, "{why}: tasks are left");
            sleep(Duration::from_millis(50)).await;
        }
        self.check_feeds(load, feeds, why).await;
        assert_eq!(ask(&load.nodes, BROKEN).await, "0", "{why}: the chain");
        let changes = changes_of(feeds);
        let timers = creates_are_as_answered(load, &connection, &changes, why).await;
        sum_is_right(load, &connection, &changes, why).await;
        runs_are_as_documented(load, &connection, why).await;
        let commits = ask(&load.nodes, "select count(*) from \"commit\"").await;
        let ledger = load.ledger();
        Found {
            acknowledged: ledger.acknowledged.len(),
            changes: self.changes,
            commits,
            timers,
            searches: ledger.searches.len(),
            runs: ledger.runs.len(),
            delivered: ledger.tasks.values().sum(),
            refused: ledger.refused.clone(),
        }
    }
}

/// How often each entity was changed, its making included.
fn changes_of(feeds: &[Arc<Feed>]) -> HashMap<String, usize> {
    let mut changes = HashMap::new();
    for change in feeds[0].seen().iter() {
        *changes.entry(change.entity.clone()).or_default() += 1;
    }
    changes
}

async fn searches_end(load: &Load, why: &str) {
    let searches = load.ledger().searches.clone();
    for (index, search) in searches.iter().enumerate() {
        let node = index % super::nodes::COUNT;
        let begun = Instant::now();
        let connection = load.nodes.try_connect(node).await.expect("a node");
        loop {
            let asked = json!({"snapshotId": search});
            let shown = connection.call("SnapshotGetStatusRequest", asked).await;
            let status = &shown["status"];
            if status["status"] == "SUCCESSFUL" {
                assert_eq!(
                    status["entitiesCount"],
                    FIXED - FOUND_FROM,
                    "{why}: {status}"
                );
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{why}: a search has not ended: {shown}"
            );
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn runs_end(connection: &Connection, why: &str) {
    let live = json!({"status": ["pending", "running", "waiting"], "limit": 5});
    let begun = Instant::now();
    loop {
        let page = connection.ok("RunsGetRequest", live.clone()).await;
        if page["items"].as_array().is_some_and(Vec::is_empty) {
            return;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{why}: runs do not end: {page:#}"
        );
        sleep(Duration::from_millis(50)).await;
    }
}

/// The entities of a model: by number, the id and the document of each.
async fn entities(connection: &Connection, model: &str) -> BTreeMap<u64, Vec<(String, Value)>> {
    let mut all: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for page in 0.. {
        let model = json!({"name": model, "version": 1});
        let payload = json!({"model": model, "pageSize": 1_000, "pageNumber": page});
        let (mut found, _) = connection.all("EntityGetAllRequest", payload).await;
        for entity in &mut found {
            let data = entity["payload"]["data"].take();
            let number = data["n"].as_u64().expect("a number");
            let id = entity["payload"]["meta"]["id"].as_str().expect("an id");
            all.entry(number).or_default().push((id.to_owned(), data));
        }
        if found.len() < 1_000 {
            return all;
        }
    }
    unreachable!("pages end")
}

/// Of creates; how many timers there were.
async fn creates_are_as_answered(
    load: &Load,
    connection: &Connection,
    changes: &HashMap<String, usize>,
    why: &str,
) -> usize {
    let mut timers = 0;
    let creates = load.ledger().creates.clone();
    for (model, creates) in creates {
        let stored = entities(connection, model).await;
        for number in stored.keys() {
            assert!(
                creates.contains_key(number),
                "{why}: nobody made {model} {number}"
            );
        }
        for (number, fates) in creates {
            let stored = stored.get(&number).map_or(&[][..], Vec::as_slice);
            let context = format!("{why}: {model} {number}: {fates:?}, stored: {stored:?}");
            assert!(stored.len() <= 1, "{context}");
            let made: Vec<&Made> = fates
                .iter()
                .filter_map(|fate| match fate {
                    Fate::Made(made) => Some(made),
                    Fate::Unknown | Fate::Refused => None,
                })
                .collect();
            if let Some(first) = made.first() {
                assert!(made.iter().all(|made| made == first), "{context}");
                assert_eq!(stored.len(), 1, "{context}");
                assert_eq!(stored[0].0, first.entity, "{context}");
            } else if !fates.contains(&Fate::Unknown) {
                assert!(stored.is_empty(), "{context}");
            }
            for (id, data) in stored {
                if model == "processed" {
                    assert_eq!(data["seen"], true, "{context}");
                }
                // A timer has moved it once, or its processor.
                let expected = if model == "timed" { 2 } else { 1 };
                assert_eq!(changes.get(id), Some(&expected), "{context}");
                timers += usize::from(model == "timed");
            }
        }
    }
    timers
}

async fn sum_is_right(
    load: &Load,
    connection: &Connection,
    changes: &HashMap<String, usize>,
    why: &str,
) {
    let sum = crate::support::get(connection, &load.sum).await;
    let sum = sum["data"]["n"].as_u64().expect("a number");
    let sum = usize::try_from(sum).expect("small");
    let Ledger {
        adds, adds_unknown, ..
    } = *load.ledger();
    assert!(
        (adds..=adds + adds_unknown).contains(&sum),
        "{why}: {sum} of {adds} additions and {adds_unknown} that are unknown"
    );
    assert_eq!(changes.get(&load.sum), Some(&(sum + 1)), "{why}");
}

/// Each run is there once, has ended well, and has done each of its steps once.
async fn runs_are_as_documented(load: &Load, connection: &Connection, why: &str) {
    let runs = load.ledger().runs.clone();
    let notes = entities(connection, "note").await;
    let all = json!({"definition": "errand"});
    let all = connection.every("RunsGetRequest", all).await;
    assert_eq!(all.len(), runs.len(), "{why}: as many runs as were started");
    for (number, run) in runs {
        let run = run.unwrap_or_else(|| panic!("{why}: run {number} was never started"));
        let of_it = json!({"runId": run, "limit": 1_000});
        let shown = connection.ok("RunGetRequest", json!({"runId": run})).await;
        assert_eq!(shown["run"]["status"], "completed", "{why}: {shown}");
        let history = connection.ok("RunHistoryGetRequest", of_it).await;
        let history = history["items"].as_array().expect("a list");
        let count = |kind: &str| {
            let of_kind = history.iter().filter(|event| event["eventType"] == kind);
            of_kind.count()
        };
        for (kind, times) in [
            ("step_started", 2),
            ("step_completed", 2),
            ("awaiting_action", 1),
            ("action_completed", 2),
            ("workflow_completed", 1),
        ] {
            assert_eq!(count(kind), times, "{why}: {kind}: {history:#?}");
        }
        let count = notes.get(&number).map_or(0, Vec::len);
        assert_eq!(count, 1, "{why}: notes of run {number}");
    }
}
