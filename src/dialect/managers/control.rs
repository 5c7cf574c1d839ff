//! What people do to managers: pause, resume, and have done again what failed.

use super::{
    document::{Item, Manager, Worker},
    status::{ManagerStatus, WorkStatus},
    tick::ItemRef,
};

/// A worker or an item, as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The `order` of a worker, the place of an item.
    Number(i64),
    /// The `user_code` of a worker, the name of an item; or its number as a text.
    Name(String),
}

/// Why a part is not the one that is meant: the parameter that names it, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPart(pub &'static str, pub String);

/// A worker or an item, as it is known: its number and its name.
type Known<'a> = (Option<i64>, Option<&'a str>);

impl Part {
    /// The place of what this names. A text is a number only if nothing has it as its name.
    fn place(
        &self,
        kind: &'static str,
        of: &str,
        known: &[Known<'_>],
    ) -> Result<usize, UnknownPart> {
        let with = |is_it: &dyn Fn(&Known<'_>) -> bool| -> Vec<usize> {
            let places = known.iter().enumerate();
            places
                .filter(|(_, known)| is_it(known))
                .map(|(place, _)| place)
                .collect()
        };
        let by_number = |given: i64| with(&|(number, _)| *number == Some(given));
        let places = match self {
            Self::Number(given) => by_number(*given),
            Self::Name(given) => {
                let named = with(&|(_, name)| *name == Some(given));
                match given.parse() {
                    Ok(number) if named.is_empty() => by_number(number),
                    Ok(_) | Err(_) => named,
                }
            }
        };
        let text = self.text();
        match *places {
            [place] => Ok(place),
            [] => Err(UnknownPart(
                kind,
                format!("the {of} has no {kind} `{text}`"),
            )),
            _ => {
                let numbers = places.iter().map(|place| match known[*place].0 {
                    Some(number) => number.to_string(),
                    None => "none".to_owned(),
                });
                let numbers: Vec<_> = numbers.collect();
                let message = format!(
                    "the {of} has several {kind}s `{text}`, with the numbers {}; name one by its \
                     number",
                    numbers.join(", ")
                );
                Err(UnknownPart(kind, message))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl Manager {
    /// Has nothing more started. What has ended stays as it is.
    pub fn pause(&mut self) {
        if matches!(self.status, ManagerStatus::ToDo | ManagerStatus::InProgress) {
            self.status = ManagerStatus::Paused;
        }
    }

    pub fn resume(&mut self) {
        if self.status == ManagerStatus::Paused {
            self.status = ManagerStatus::InProgress;
        }
    }

    /// Has an item done again, or everything that failed of a worker or of the manager; what that
    /// was.
    ///
    /// # Errors
    /// There is no such worker or item, or there are several.
    pub fn reset(
        &mut self,
        worker: Option<&Part>,
        item: Option<&Part>,
    ) -> Result<Vec<ItemRef>, UnknownPart> {
        let workers: Vec<Known<'_>> = self.workers.iter().map(known_worker).collect();
        let worker = worker.map(|part| part.place("worker", "manager", &workers));
        let worker = worker.transpose()?;
        let mut reset = Vec::new();
        for (at, known) in self.workers.iter_mut().enumerate() {
            if worker.is_some_and(|worker| worker != at) {
                continue;
            }
            let items: Vec<Known<'_>> = (0..).zip(&known.items).map(known_item).collect();
            let item = item.map(|part| part.place("item", "worker", &items));
            let item = item.transpose()?;
            let before = reset.len();
            for (place, one) in known.items.iter_mut().enumerate() {
                let is_wanted = match item {
                    Some(item) => item == place,
                    None => one.status == WorkStatus::Error,
                };
                if is_wanted {
                    one.reset();
                    reset.push(ItemRef {
                        worker: at,
                        item: place,
                    });
                }
            }
            if reset.len() > before {
                known.status = WorkStatus::InProgress;
            }
        }
        if !reset.is_empty() {
            self.status = ManagerStatus::InProgress;
        }
        Ok(reset)
    }
}

fn known_worker(worker: &Worker) -> Known<'_> {
    let code = worker.target.as_ref().ok();
    (worker.order, code.and_then(|code| code.rsplit(':').next()))
}

fn known_item((place, item): (i64, &Item)) -> Known<'_> {
    (Some(place), item.name.as_deref())
}
