//! The file of a manager, read so that it can be changed where it stands (`orchestration.md` 3.1).

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    fmt::Write as _,
};

use super::{
    path::FilePath,
    status::{ManagerStatus, WorkStatus},
    text::{Edits, Object, Span, list},
};
use crate::expr::{quoted, string};
use crate::text::shortened;

/// What the members of a worker are called that its items are given (`orchestration.md` 3.3).
const OPTIONS: [&str; 5] = [
    "download_options",
    "data_options",
    "import_options",
    "calculation_options",
    "state_options",
];

/// The longest reason of a failure, in bytes, and the most that the reasons of one manager have
/// together: what a tick writes has to be read by the next.
pub(super) const REASON_BYTES_MAX: usize = 4 << 10;
const REASONS_BYTES_MAX: usize = 8 << 20;

/// The kinds of items that a worker may have.
const STATE_TYPES: [&str; 3] = ["fixed", "files", "period"];

/// The workers of a manager, and what people have written of them.
#[derive(Debug, Clone)]
pub struct Manager {
    text: String,
    place: Object,
    /// As it was read.
    before: ManagerStatus,
    pub status: ManagerStatus,
    pub name: Option<String>,
    /// In the order in which they are processed.
    pub workers: Vec<Worker>,
    /// The longest reason of a failure of one of its items, in bytes.
    pub(super) reason_max: usize,
}

/// A worker of a manager: items of work of one kind.
#[derive(Debug, Clone)]
pub struct Worker {
    place: Object,
    /// As it was read.
    before: WorkStatus,
    pub status: WorkStatus,
    /// Workers without one come last.
    pub order: Option<i64>,
    pub name: Option<String>,
    /// `<configuration_code>:<user_code>`, or why there is none.
    pub target: Result<String, String>,
    pub items: Vec<Item>,
}

/// One thing that is to be done.
#[derive(Debug, Clone)]
pub struct Item {
    place: Object,
    /// As it was read.
    before: WorkStatus,
    pub status: WorkStatus,
    pub name: Option<String>,
    /// Where what is started for it writes how it stands, or why that is not known.
    pub state_path: Result<FilePath, String>,
    /// The run or task that was started for it.
    pub work: Option<String>,
    /// What is written of it besides.
    changed: Vec<(&'static str, String)>,
}

/// Why a document is not a manager.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAManager(pub String);

fn not(what: impl Into<String>) -> NotAManager {
    NotAManager(what.into())
}

impl Manager {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not a manager.
    pub fn read(text: &str) -> Result<Self, NotAManager> {
        let place = Object::of_text(text)
            .map_err(|error| not(format!("the document is not a JSON object: {error}")))?;
        let before = match text_of(text, &place, "status", "")? {
            None => ManagerStatus::ToDo,
            Some(name) => ManagerStatus::from_name(&name).ok_or_else(|| {
                not(format!(
                    "status: `{name}` is not a status of managers; use to-do, in-progress, done, \
                     paused or error"
                ))
            })?,
        };
        let workers = place
            .member("workers")
            .ok_or_else(|| not("the document has no `workers`; a manager has a list of them"))?;
        let workers =
            list(text, &workers).ok_or_else(|| not("workers: it is not a list; write one"))?;
        let workers = workers.into_iter().enumerate();
        let workers = workers.map(|(index, span)| {
            let at = format!("workers[{index}]");
            let place = Object::read(text, span)
                .map_err(|error| not(format!("{at}: it is not an object: {error}")))?;
            Worker::read(text, place, &at)
        });
        let mut workers: Vec<Worker> = workers.collect::<Result<_, _>>()?;
        // Those of the same order stay as they stand in the list.
        workers.sort_by_key(|worker| worker.order.unwrap_or(i64::MAX));
        let items: usize = workers.iter().map(|worker| worker.items.len()).sum();
        Ok(Self {
            name: text_of(text, &place, "name", "")?,
            text: text.to_owned(),
            status: before,
            before,
            place,
            workers,
            reason_max: REASON_BYTES_MAX.min(REASONS_BYTES_MAX / items.max(1)),
        })
    }

    /// Its own code, `<configuration_code>:<user_code>`.
    ///
    /// # Errors
    /// A part of it is not there, and which.
    pub fn code(&self) -> Result<String, String> {
        let part = |name: &str| {
            let found = self.place.text(&self.text, name).ok().flatten();
            found.filter(|part| !part.is_empty())
        };
        match (part("configuration_code"), part("user_code")) {
            (Some(configuration), Some(user)) => Ok(format!("{configuration}:{user}")),
            (None, _) => Err("it has no `configuration_code`".to_owned()),
            (_, None) => Err("it has no `user_code`".to_owned()),
        }
    }

    /// The text with what has changed; none if nothing has.
    pub fn edited(&self) -> Option<String> {
        let text = &*self.text;
        let mut edits = Edits::default();
        if self.before != self.status {
            let status = quoted(self.status.as_str());
            edits.set(text, &self.place, &[("status", status)]);
        }
        for worker in &self.workers {
            if worker.before != worker.status {
                let status = quoted(worker.status.as_str());
                edits.set(text, &worker.place, &[("status", status)]);
            }
            for item in &worker.items {
                let mut changed = Vec::new();
                if item.before != item.status {
                    changed.push(("status", quoted(item.status.as_str())));
                }
                let others = item.changed.iter();
                changed.extend(others.map(|(name, json)| (*name, json.clone())));
                edits.set(text, &item.place, &changed);
            }
        }
        edits.apply(text)
    }

    /// The payload that the work of an item is started with (`orchestration.md` 3.3).
    ///
    /// # Errors
    /// The item's own payload is not an object.
    pub fn payload(&self, file: &str, worker: &Worker, index: usize) -> Result<String, String> {
        let Some(item) = worker.items.get(index) else {
            return Err(format!("the worker has no item {index}"));
        };
        let text = &*self.text;
        let mut members: Vec<(String, String)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut add = |name: &str, json: &str| match places.entry(name.to_owned()) {
            Entry::Occupied(place) => json.clone_into(&mut members[*place.get()].1),
            Entry::Vacant(place) => {
                place.insert(members.len());
                members.push((name.to_owned(), json.to_owned()));
            }
        };
        let mut add_all = |object: &Object| {
            for (name, span) in object.members() {
                add(name, text.get(span).unwrap_or_default());
            }
        };
        if let Some(span) = self.own_payload(item) {
            let own = Object::read(text, span)
                .map_err(|_| "the `payload` of the item is not an object".to_owned())?;
            add_all(&own);
        } else {
            for name in OPTIONS {
                let options = worker.place.member(name);
                if let Some(options) = options.and_then(|span| Object::read(text, span).ok()) {
                    add_all(&options);
                }
            }
        }
        if let Ok(path) = &item.state_path {
            add("state_path", &quoted(path.as_str()));
        }
        add("manager", &quoted(file));
        let order = worker
            .order
            .map_or_else(|| "null".to_owned(), |order| order.to_string());
        add("worker", &order);
        add("item", &index.to_string());
        let mut payload = String::from("{");
        for (at, (name, json)) in members.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(payload, "{comma}{}:{json}", quoted(name));
        }
        payload.push('}');
        Ok(payload)
    }

    /// How many bytes of the text are read to start an item: its target and its payload.
    pub(super) fn start_bytes(&self, worker: &Worker, item: &Item) -> usize {
        let target = worker.target.as_ref().map_or(0, String::len);
        if let Some(own) = self.own_payload(item) {
            return target + own.len();
        }
        let options = OPTIONS.iter().filter_map(|name| worker.place.member(name));
        target + options.map(|span| span.len()).sum::<usize>()
    }

    fn own_payload(&self, item: &Item) -> Option<Span> {
        let own = item.place.member("payload");
        own.filter(|span| self.text.get(span.clone()) != Some("null"))
    }

    /// How many bytes its document has.
    pub const fn bytes(&self) -> usize {
        self.text.len()
    }
}

impl Worker {
    fn read(text: &str, place: Object, at: &str) -> Result<Self, NotAManager> {
        let before = match text_of(text, &place, "status", at)? {
            None => WorkStatus::ToDo,
            Some(name) => WorkStatus::from_name(&name).ok_or_else(|| {
                not(format!(
                    "{at}.status: `{name}` is not a status of workers; use to-do, in-progress, \
                     success, skip, ignore or error"
                ))
            })?,
        };
        let order = match place.raw(text, "order") {
            None | Some("null") => None,
            Some(raw) => Some(raw.parse().map_err(|_| {
                not(format!(
                    "{at}.order: `{raw}` is not a whole number; write one"
                ))
            })?),
        };
        if let Some(kind) = text_of(text, &place, "state_type", at)?
            && !STATE_TYPES.contains(&&*kind)
        {
            return Err(not(format!(
                "{at}.state_type: `{kind}` is unknown; use fixed, files or period"
            )));
        }
        let configuration = text_of(text, &place, "configuration_code", at)?;
        let user = text_of(text, &place, "user_code", at)?;
        let target = match (configuration, user) {
            (Some(configuration), Some(user)) => Ok(format!("{configuration}:{user}")),
            (None, _) => Err("the worker has no `configuration_code`".to_owned()),
            (_, None) => Err("the worker has no `user_code`".to_owned()),
        };
        Ok(Self {
            items: items(text, &place, at)?,
            status: before,
            before,
            order,
            name: text_of(text, &place, "name", at)?,
            target,
            place,
        })
    }
}

/// The items of a worker: those in `items`, then what `state` has, which is one item or a map of
/// them by name.
fn items(text: &str, worker: &Object, at: &str) -> Result<Vec<Item>, NotAManager> {
    let mut items = Vec::new();
    if let Some(span) = worker.member("items")
        && text.get(span.clone()) != Some("null")
    {
        let listed =
            list(text, &span).ok_or_else(|| not(format!("{at}.items: it is not a list")))?;
        for (index, span) in listed.into_iter().enumerate() {
            let place = Object::read(text, span)
                .map_err(|error| not(format!("{at}.items[{index}]: not an object: {error}")))?;
            items.push(Item::read(text, place, None));
        }
    }
    let Some(span) = worker.member("state") else {
        return Ok(items);
    };
    if text.get(span.clone()) == Some("null") {
        return Ok(items);
    }
    let state = Object::read(text, span)
        .map_err(|error| not(format!("{at}.state: it is not an object: {error}")))?;
    let parts: Option<Vec<(String, Object)>> = state
        .members()
        .map(|(name, span)| Some((name.to_owned(), Object::read(text, span).ok()?)))
        .collect();
    match parts {
        Some(parts) => {
            let parts = parts.into_iter();
            items.extend(parts.map(|(name, place)| Item::read(text, place, Some(name))));
        }
        None => items.push(Item::read(text, state, None)),
    }
    Ok(items)
}

impl Item {
    /// What is wrong with an item is written to it, so that the others continue.
    fn read(text: &str, place: Object, key: Option<String>) -> Self {
        let status = place.text(text, "status");
        let known = match &status {
            Ok(Some(name)) => WorkStatus::from_name(name),
            Ok(None) | Err(()) => None,
        };
        let before = known.unwrap_or(WorkStatus::ToDo);
        let state_path = match place.text(text, "state_path") {
            Ok(Some(path)) => FilePath::parse(&path)
                .map_err(|error| format!("the state_path `{path}` is not a path: {error}")),
            Ok(None) => Err("the item has no `state_path`".to_owned()),
            Err(()) => Err("the `state_path` is not a text".to_owned()),
        };
        let mut item = Self {
            status: before,
            before,
            name: place.text(text, "name").ok().flatten().or(key),
            state_path,
            work: place.text(text, "workflow_id").ok().flatten(),
            changed: Vec::new(),
            place,
        };
        let unknown = match status {
            Ok(Some(name)) if known.is_none() => format!("`{name}`"),
            Err(()) => "what stands there".to_owned(),
            Ok(_) => return item,
        };
        let reason = format!(
            "{unknown} is not a status of items; use to-do, in-progress, success, skip, ignore or \
             error"
        );
        item.fail(&reason, REASON_BYTES_MAX);
        item
    }

    /// Ends it as failed, with the reason, which is cut if it is longer than `max` bytes.
    pub(super) fn fail(&mut self, reason: &str, max: usize) {
        self.status = WorkStatus::Error;
        self.change("error", quoted_within(reason, max));
    }

    /// The same with the reason as JSON.
    pub(super) fn fail_with(&mut self, reason: &str, max: usize) {
        self.status = WorkStatus::Error;
        self.change("error", json_within(reason, max).into_owned());
    }

    /// Notes what was started for it.
    pub fn begin(&mut self, work: &str) {
        self.status = WorkStatus::InProgress;
        self.work = Some(work.to_owned());
        self.change("workflow_id", quoted(work));
        self.clear_error();
    }

    /// Has it done again.
    pub fn reset(&mut self) {
        self.status = WorkStatus::ToDo;
        self.clear_error();
    }

    /// Takes away the reason of an earlier failure.
    fn clear_error(&mut self) {
        if self.place.member("error").is_some() {
            self.change("error", "null".to_owned());
        }
    }

    fn change(&mut self, name: &'static str, json: String) {
        self.changed.retain(|(known, _)| *known != name);
        self.changed.push((name, json));
    }
}

/// A text as JSON, the beginning of one whose JSON is longer than `max` bytes.
fn quoted_within(text: &str, max: usize) -> String {
    let json = quoted(&shortened(text, max));
    if json.len() <= max + 16 {
        return json;
    }
    // An escape has at most six bytes.
    quoted(&shortened(text, max / 6))
}

/// JSON as it is, or as the beginning of its text if it is longer than `max` bytes.
pub(super) fn json_within(json: &str, max: usize) -> Cow<'_, str> {
    if json.len() <= max {
        return json.into();
    }
    match string(json) {
        Some(text) => quoted_within(&text, max),
        None => quoted_within(json, max),
    }
    .into()
}

/// A member that is a text.
fn text_of(
    text: &str,
    object: &Object,
    name: &str,
    at: &str,
) -> Result<Option<String>, NotAManager> {
    let dot = if at.is_empty() { "" } else { "." };
    object
        .text(text, name)
        .map_err(|()| not(format!("{at}{dot}{name}: it is not a text")))
}
