//! The systems that sagas change: two databases, an HTTP server that deduplicates by key, refuses,
//! delays and closes connections, and the ledger of a member that does the same.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{
    Random,
    outside::{Behaviour, Outside, Seen},
};

/// After what the server is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A client was answered: any instant.
    Answered,
    /// The HTTP server has acted on a request, and does not answer it.
    Requested,
    /// A member has done a task, and does not answer it.
    Delivered,
    /// The first database has changed.
    Written,
    /// A saga took its signal.
    Signalled,
}

impl Moment {
    pub(super) const ALL: [Self; 5] = [
        Self::Answered,
        Self::Requested,
        Self::Delivered,
        Self::Written,
        Self::Signalled,
    ];
}

/// Rings at a moment.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    left: Mutex<Option<(Moment, usize)>>,
    rings: Notify,
}

impl Alarm {
    pub(super) fn set(&self, moment: Moment, count: usize) {
        *self.left.lock().expect("no panic") = Some((moment, count));
    }

    fn waits_for(&self, moment: Moment) -> bool {
        let left = self.left.lock().expect("no panic");
        matches!(*left, Some((at, _)) if at == moment)
    }

    /// Counts one of these moments; whether it is the one at which the server is killed.
    pub(super) fn count(&self, moment: Moment) -> bool {
        let mut left = self.left.lock().expect("no panic");
        let Some((at, count)) = &mut *left else {
            return false;
        };
        if *at != moment {
            return false;
        }
        if *count > 0 {
            *count -= 1;
            return false;
        }
        *left = None;
        drop(left);
        self.rings.notify_one();
        true
    }

    pub(super) async fn rang(&self) {
        self.rings.notified().await;
    }
}

/// What a system with keys has done about one thing, such as a charge.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The keys by which it was done, and undone.
    pub(super) done: BTreeSet<String>,
    pub(super) undone: BTreeSet<String>,
}

impl Account {
    pub(super) fn is_left(&self) -> bool {
        !self.done.is_empty() && self.undone.is_empty()
    }
}

/// A system that deduplicates by key.
#[derive(Debug, Default)]
pub(super) struct Keyed {
    /// What was answered for each key: success or not.
    answers: HashMap<String, bool>,
    /// By the identifier of the thing.
    pub(super) accounts: BTreeMap<String, Account>,
    /// Requests of a key that was known.
    pub(super) repeated: usize,
}

impl Keyed {
    /// Does something, or undoes it, once for a key; whether that is a success.
    pub(super) fn act(&mut self, undoes: bool, key: &str, body: &Value) -> bool {
        if let Some(answer) = self.answers.get(key) {
            self.repeated += 1;
            return *answer;
        }
        let is_refused = !undoes && body["bad"] == body["step"];
        if !is_refused {
            let id = body["id"].as_str().expect("an identifier");
            let account = self.accounts.entry(id.to_owned()).or_default();
            let keys = if undoes {
                &mut account.undone
            } else {
                &mut account.done
            };
            keys.insert(key.to_owned());
        }
        self.answers.insert(key.to_owned(), !is_refused);
        !is_refused
    }
}

/// All of them.
pub(super) struct Systems {
    folder: tempfile::TempDir,
    pub(super) http: Outside,
    pub(super) bank: Arc<Mutex<Keyed>>,
    pub(super) ledger: Mutex<Keyed>,
    pub(super) alarm: Arc<Alarm>,
}

impl Systems {
    pub(super) async fn start(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["rows", "notes"] {
            open(folder.path(), name)
                .execute_batch(
                    "PRAGMA journal_mode = wal;
                    CREATE TABLE effects (id TEXT PRIMARY KEY, step TEXT, bad TEXT, CHECK (step <> bad));
                    CREATE TABLE ends (id TEXT PRIMARY KEY, block TEXT, reason TEXT);
                    CREATE TABLE log (id TEXT);
                    CREATE TRIGGER inserted AFTER INSERT ON effects BEGIN INSERT INTO log VALUES (new.id); END;
                    CREATE TRIGGER updated AFTER UPDATE ON effects BEGIN INSERT INTO log VALUES (new.id); END;",
                )
                .expect("tables");
        }
        let (alarm, bank) = (Arc::<Alarm>::default(), Arc::<Mutex<Keyed>>::default());
        let http = Outside::start().await;
        let (rings, accounts, mut random) =
            (Arc::clone(&alarm), Arc::clone(&bank), Random::new(seed));
        let mut known = BTreeSet::new();
        http.decides(move |seen| {
            let is_new = known.insert(seen.key().to_owned());
            let accounts = accounts.lock().expect("no panic");
            requested(seen, is_new, accounts, &mut random, &rings)
        });
        Self {
            folder,
            http,
            bank,
            ledger: Mutex::default(),
            alarm,
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(format!("{name}.db"));
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Rings the alarm when the first database changes, until the test is over.
    pub(super) fn watch(self: &Arc<Self>) {
        let systems = Arc::downgrade(self);
        let database = open(self.folder.path(), "rows");
        std::thread::spawn(move || {
            let version = || -> i64 {
                let version = database.query_row("PRAGMA data_version", [], |row| row.get(0));
                version.expect("a number")
            };
            let mut before = version();
            while let Some(systems) = systems.upgrade() {
                let now = version();
                if now != before {
                    before = now;
                    systems.alarm.count(Moment::Written);
                }
                let is_watched = systems.alarm.waits_for(Moment::Written);
                drop(systems);
                let pause = if is_watched { 50 } else { 5_000 };
                std::thread::sleep(Duration::from_micros(pause));
            }
        });
    }

    /// The rows of a table by their identifiers, with another column.
    pub(super) fn rows(&self, name: &str, table: &str, column: &str) -> BTreeMap<String, String> {
        let database = open(self.folder.path(), name);
        let query = format!("SELECT id, {column} FROM {table}");
        let mut query = database.prepare(&query).expect("a query");
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.expect("rows")
            .collect::<Result<_, _>>()
            .expect("texts")
    }

    /// How many writes of steps were done again.
    pub(super) fn rewritten(&self) -> i64 {
        let again = "SELECT count(*) - count(DISTINCT id) FROM log";
        let of = |name| -> i64 {
            let count = open(self.folder.path(), name).query_row(again, [], |row| row.get(0));
            count.expect("a number")
        };
        of("rows") + of("notes")
    }
}

fn open(folder: &Path, name: &str) -> Connection {
    let database = Connection::open(folder.join(format!("{name}.db"))).expect("opens");
    database
        .busy_timeout(Duration::from_secs(5))
        .expect("a setting");
    database
}

/// What the HTTP server does about a request.
fn requested(
    seen: &Seen,
    is_new: bool,
    mut accounts: MutexGuard<'_, Keyed>,
    random: &mut Random,
    alarm: &Alarm,
) -> Behaviour {
    // Now and then it fails before it has acted.
    if is_new && random.chance(10) {
        return Behaviour::Empty(503);
    }
    let undoes = seen.line == "POST /refunds";
    let is_done = accounts.act(undoes, seen.key(), &seen.json());
    drop(accounts);
    if alarm.count(Moment::Requested) {
        return Behaviour::Hang;
    }
    let answer = if is_done {
        Behaviour::Json(200, json!({}))
    } else {
        Behaviour::Json(402, json!({"error": "declined"}))
    };
    match random.below(100) {
        0..5 if is_new => Behaviour::Close,
        5..20 => {
            let pause = u64::try_from(20 + random.below(80)).expect("small");
            Behaviour::After(Duration::from_millis(pause), Box::new(answer))
        }
        _ => answer,
    }
}
