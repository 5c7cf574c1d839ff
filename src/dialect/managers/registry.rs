//! The registry: which managers there are, and how each stands (`orchestration.md` 3.1, 3.2).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    status::ManagerStatus,
    text::{Object, list},
};

/// The names of its lists, in their order.
const LISTS: [&str; 4] = ["to-do", "in-progress", "done", "paused"];

/// The names of managers' files, in four lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry([Vec<String>; 4]);

/// How a manager's file stands; none if it is not a manager.
pub type Filed = Option<ManagerStatus>;

impl Registry {
    /// Reads what is written. What is broken is left out.
    pub fn read(text: &str) -> Self {
        let mut lists: [Vec<String>; 4] = Default::default();
        let Ok(object) = Object::of_text(text) else {
            return Self(lists);
        };
        for (names, name) in lists.iter_mut().zip(LISTS) {
            let items = object.member(name).and_then(|span| list(text, &span));
            for span in items.unwrap_or_default() {
                let item = text.get(span).unwrap_or_default();
                names.extend(serde_json::from_str::<String>(item));
            }
        }
        Self(lists)
    }

    /// Whether a text is this registry in the documented shape.
    pub fn is_written_as(&self, text: &str) -> bool {
        let Ok(object) = Object::of_text(text) else {
            return false;
        };
        let is_list = |name: &str| {
            object
                .raw(text, name)
                .is_some_and(|raw| raw.starts_with('['))
        };
        object.members().count() == LISTS.len()
            && LISTS.into_iter().all(is_list)
            && Self::read(text) == *self
    }

    /// The names in one of the lists.
    pub fn in_progress(&self) -> &[String] {
        &self.0[1]
    }

    /// Files each manager under its status; those that were in a list already stay in their order.
    /// What is gone is dropped, and what is not a manager stays where it was.
    #[must_use]
    pub fn filed(&self, managers: &BTreeMap<String, Filed>) -> Self {
        let mut filed = Self::default();
        let mut seen = BTreeSet::new();
        let tracked = self.0.iter().enumerate();
        let tracked = tracked.flat_map(|(at, names)| names.iter().map(move |name| (at, name)));
        let known: BTreeSet<&String> = self.0.iter().flatten().collect();
        let untracked = managers.keys().filter(|name| !known.contains(name));
        let untracked = untracked.map(|name| (0, name));
        for place in 0..LISTS.len() {
            for (at, name) in tracked.clone().chain(untracked.clone()) {
                let Some(status) = managers.get(name) else {
                    continue;
                };
                // A file that is in two lists counts where it is first.
                let is_here = status.map_or_else(|| at == place, |status| list_of(status) == place);
                if is_here && seen.insert(name) {
                    filed.0[place].push(name.clone());
                }
            }
        }
        filed
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = String::from("{\n");
        for (at, (name, names)) in LISTS.into_iter().zip(&self.0).enumerate() {
            let comma = if at == 0 { "" } else { ",\n" };
            let names = serde_json::to_string(names).unwrap_or_default();
            let names = names.replace("\",\"", "\", \"");
            let _ = write!(text, "{comma}  \"{name}\": {names}");
        }
        text.push_str("\n}");
        text
    }

    /// Each list with its name.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        LISTS.into_iter().zip(self.0.iter().map(Vec::as_slice))
    }
}

/// The list of managers of a status. One that has failed is finished.
const fn list_of(status: ManagerStatus) -> usize {
    match status {
        ManagerStatus::ToDo => 0,
        ManagerStatus::InProgress => 1,
        ManagerStatus::Done | ManagerStatus::Error => 2,
        ManagerStatus::Paused => 3,
    }
}
