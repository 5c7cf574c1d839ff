//! Statuses, and how they are passed upward (`orchestration.md` 3.4).

/// Where a manager stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagerStatus {
    ToDo,
    InProgress,
    Done,
    Paused,
    Error,
}

/// Where a worker or an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkStatus {
    ToDo,
    InProgress,
    Success,
    /// Deliberately not run; counts as finished.
    Skip,
    /// Left out of the work and of the verdict.
    Ignore,
    Error,
}

impl ManagerStatus {
    pub const ALL: [Self; 5] = [
        Self::ToDo,
        Self::InProgress,
        Self::Done,
        Self::Paused,
        Self::Error,
    ];

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToDo => "to-do",
            Self::InProgress => "in-progress",
            Self::Done => "done",
            Self::Paused => "paused",
            Self::Error => "error",
        }
    }
}

impl WorkStatus {
    pub const ALL: [Self; 6] = [
        Self::ToDo,
        Self::InProgress,
        Self::Success,
        Self::Skip,
        Self::Ignore,
        Self::Error,
    ];

    /// The status of that name; `done` is another name of `success`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "done" { "success" } else { name };
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToDo => "to-do",
            Self::InProgress => "in-progress",
            Self::Success => "success",
            Self::Skip => "skip",
            Self::Ignore => "ignore",
            Self::Error => "error",
        }
    }

    /// Whether nothing more is done about it.
    pub const fn is_finished(self) -> bool {
        !matches!(self, Self::ToDo | Self::InProgress)
    }

    /// The status of what consists of parts with these: the first row of the table that fits.
    pub fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut seen = [0_usize; 6];
        let mut count = 0;
        for part in parts {
            seen[part as usize] += 1;
            count += 1;
        }
        let seen = |status: Self| seen[status as usize];
        let open = seen(Self::ToDo) + seen(Self::InProgress);
        if count == 0 {
            Self::Success
        } else if seen(Self::Error) > 0 && open == 0 {
            Self::Error
        } else if seen(Self::InProgress) > 0 || (open > 0 && open < count) {
            Self::InProgress
        } else if open == count {
            Self::ToDo
        } else if seen(Self::Ignore) == count {
            Self::Ignore
        } else if seen(Self::Ignore) + seen(Self::Skip) == count {
            Self::Skip
        } else {
            Self::Success
        }
    }
}

impl From<WorkStatus> for ManagerStatus {
    /// The status of a manager whose workers come to that.
    fn from(status: WorkStatus) -> Self {
        match status {
            WorkStatus::ToDo => Self::ToDo,
            WorkStatus::InProgress => Self::InProgress,
            WorkStatus::Success | WorkStatus::Skip | WorkStatus::Ignore => Self::Done,
            WorkStatus::Error => Self::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table, row by row, as it is written.
    fn by_the_table(parts: &[WorkStatus]) -> WorkStatus {
        use WorkStatus::{Error, Ignore, InProgress, Skip, Success, ToDo};
        let any = |status| parts.contains(&status);
        let all = |statuses: &[WorkStatus]| parts.iter().all(|part| statuses.contains(part));
        let finished = parts.iter().any(|part| part.is_finished());
        if parts.is_empty() {
            return Success;
        }
        if any(Error) && !any(InProgress) && !any(ToDo) {
            return Error;
        }
        if any(InProgress) || (finished && any(ToDo)) {
            return InProgress;
        }
        if all(&[ToDo]) {
            return ToDo;
        }
        if all(&[Ignore]) {
            return Ignore;
        }
        if all(&[Skip, Ignore]) {
            return Skip;
        }
        assert!(all(&[Success, Skip, Ignore]), "{parts:?}");
        Success
    }

    #[test]
    fn a_worker_has_the_status_that_the_table_gives_it() {
        // Every list of up to four parts.
        let mut lists = vec![Vec::new()];
        for _ in 0..4 {
            let longer: Vec<Vec<_>> = lists
                .iter()
                .flat_map(|list| WorkStatus::ALL.map(|status| [&list[..], &[status]].concat()))
                .collect();
            lists.extend(longer);
        }
        for list in lists {
            let status = WorkStatus::of_parts(list.iter().copied());
            assert_eq!(status, by_the_table(&list), "{list:?}");
        }
    }

    #[test]
    fn statuses_are_known_by_their_names() {
        for status in WorkStatus::ALL {
            assert_eq!(WorkStatus::from_name(status.as_str()), Some(status));
        }
        for status in ManagerStatus::ALL {
            assert_eq!(ManagerStatus::from_name(status.as_str()), Some(status));
        }
        assert_eq!(WorkStatus::from_name("done"), Some(WorkStatus::Success));
        for unknown in ["", "Done", "paused", "todo"] {
            assert_eq!(WorkStatus::from_name(unknown), None);
        }
        assert_eq!(ManagerStatus::from_name("success"), None);
    }
}
