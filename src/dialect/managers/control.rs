//! What people do to managers: pause, resume, and have done again what failed.

use super::{
    document::Manager,
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

/// Why a part is not there: the parameter that names it, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPart(pub &'static str, pub String);

impl Part {
    fn is(&self, number: Option<i64>, name: Option<&str>) -> bool {
        match self {
            Self::Number(given) => Some(*given) == number,
            Self::Name(given) => {
                Some(&**given) == name || (number.is_some() && given.parse().ok() == number)
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
    /// There is no such worker or item.
    pub fn reset(
        &mut self,
        worker: Option<&Part>,
        item: Option<&Part>,
    ) -> Result<Vec<ItemRef>, UnknownPart> {
        let mut reset = Vec::new();
        let mut found = worker.is_none();
        for (at, known) in self.workers.iter_mut().enumerate() {
            let code = known.target.as_ref().ok();
            let user = code.and_then(|code| code.rsplit(':').next());
            let is_it = |part: &Part| part.is(known.order, user);
            if worker.is_some_and(|worker| !is_it(worker)) {
                continue;
            }
            found = true;
            let before = reset.len();
            for (place, one) in known.items.iter_mut().enumerate() {
                let number = i64::try_from(place).ok();
                let is_wanted = match item {
                    Some(item) => item.is(number, one.name.as_deref()),
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
        if let Some(worker) = worker.filter(|_| !found) {
            let message = format!("the manager has no worker `{}`", worker.text());
            return Err(UnknownPart("worker", message));
        }
        if let Some(item) = item.filter(|_| reset.is_empty()) {
            let message = format!("the worker has no item `{}`", item.text());
            return Err(UnknownPart("item", message));
        }
        if !reset.is_empty() {
            self.status = ManagerStatus::InProgress;
        }
        Ok(reset)
    }
}
