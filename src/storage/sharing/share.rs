//! Tasks that are done by one of the processes that use one database
//! (`help/design/storage.md` §13).
//!
//! Before a task is done it is taken in the table, so that no two processes do it at once. That only
//! spares work: if two did, the commit of one would not fit. A process that is gone keeps nothing:
//! what it had taken is free for the others. Which processes are gone is read from the table of nodes
//! when something is taken: what is known here is as of the last beat, so a process that has begun
//! since would lose what it has just taken.
//!
//! Each process finds what its share brings by looking ahead in the table once in an interval. A
//! task that is due before that would find it is done by the process that wrote it; one that was not
//! taken an interval after it was due is done by any.

use std::{borrow::Cow, time::Duration};

use crate::entity::Position;
use crate::storage::{
    Error, Storage,
    memory::{agenda::Noted, shares},
    port::{Node, NodeRow, TaskKey, TaskRef},
};

/// How many tasks of a tenant are found at once.
const FOUND_MAX: i64 = 10_000;

impl Storage {
    /// The numbers of the nodes that are live, this one included.
    pub(in crate::storage) fn live(&self) -> Vec<NodeRow> {
        let nodes = self.live_nodes();
        nodes.into_iter().map(|node| node.row).collect()
    }

    /// Whether several nodes are live, and this is not the first of them.
    pub fn is_peer(&self) -> bool {
        self.is_shared() && self.live().into_iter().min() < Some(self.node())
    }

    /// Whether this process does a piece of work that exactly one of several is to do. The number is
    /// the same at all of them.
    pub fn has_share(&self, work: i64) -> bool {
        if !self.is_shared() {
            return true;
        }
        let at = shares::place(work, &self.live());
        at.is_none_or(|at| at == self.node())
    }

    /// Whether this process does a piece of work, given by its name, that exactly one of several is
    /// to do.
    pub fn has_share_of(&self, name: &[&str]) -> bool {
        self.has_share(shares::number(name))
    }

    /// Whether that is new: it was not so when those nodes were live.
    pub fn gains_share_of(&self, name: &[&str], before: &[NodeRow]) -> bool {
        let was = shares::place(shares::number(name), before) == Some(self.node());
        !was && self.has_share_of(name)
    }

    /// The numbers of the nodes that are live: shares change with them. None where there is one.
    pub fn sharing(&self) -> Vec<NodeRow> {
        if self.is_shared() {
            self.live()
        } else {
            Vec::new()
        }
    }

    /// Those of the tasks that this process may do now; nobody else does them meanwhile.
    pub(in crate::storage) async fn claim(&self, tasks: &[TaskRef]) -> Result<Vec<TaskKey>, Error> {
        let keys: Vec<TaskKey> = tasks.iter().map(|task| task.key).collect();
        if !self.is_shared() {
            return Ok(keys);
        }
        let kept = self.0.shares.kept(&keys);
        let claiming = self
            .0
            .database
            .claim_tasks(self.node(), &keys, &kept, Node::LIVE);
        let claimed = claiming.await?;
        // One of the others may have been put off meanwhile.
        self.0.shares.settled(&kept);
        Ok(claimed)
    }

    /// A task is looked at again later, by this process.
    pub(in crate::storage) fn keep_task(&self, key: TaskKey) {
        if self.is_shared() {
            self.0.shares.keep(key);
        }
    }

    /// Leaves out of new tasks those that other nodes find in time.
    pub(in crate::storage) fn of_share<'a>(&self, noted: &'a [Noted]) -> Cow<'a, [Noted]> {
        if !self.is_shared() {
            return noted.into();
        }
        let live = self.live();
        if live.len() < 2 {
            return noted.into();
        }
        let (own, soon) = (self.node(), self.now().after(self.0.shares.ahead()));
        let is_here = |task: &&Noted| {
            task.due() < soon.micros() || shares::place(task.key(), &live) == Some(own)
        };
        noted.iter().filter(is_here).copied().collect()
    }

    /// Looks in the table for tasks that this process is to do; it is called once in an interval.
    pub async fn find_tasks(&self, interval: Duration) -> Result<(), Error> {
        // It is looked twice while a task is that far ahead.
        self.0.shares.look_ahead(interval * 2);
        let latest = self.latest();
        let (live, own, now) = (self.live(), self.node(), self.now());
        let until = now.after(interval * 2);
        let database = &self.0.database;
        let ahead = database
            .tasks_ahead(own, until, FOUND_MAX, Node::LIVE)
            .await?;
        // What was there when that was asked has been announced meanwhile.
        let next = TaskKey::first_of(Position(latest.0 + 1));
        self.0.agenda.settle(next);
        let late = now.before(interval).micros();
        let found = ahead
            .into_iter()
            .filter(|(_, due, key)| *due < late || shares::place(*key, &live) == Some(own))
            .filter(|(_, _, key)| self.0.shares.finds(TaskKey(*key)))
            .map(|(line, due, key)| Noted::found(line, due, key))
            .collect::<Vec<_>>();
        if !found.is_empty() {
            self.0.agenda.add(&found, self.0.clock.read());
        }
        Ok(())
    }
}
