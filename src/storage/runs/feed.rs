//! Following the histories of runs (`runs.md` §4): of one run by the numbers of its events, of all
//! runs of a tenant by positions.

use tokio::sync::watch;

use crate::entity::{Position, Sequence};
use crate::id::{RunId, Tenant};
use crate::storage::{Error, Storage, port::RunEvents};

/// How many advances are read at a time.
const PART: i64 = 256;

/// What is followed, and how far that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowedRuns {
    /// One run, after the event of that number.
    One(RunId, u64),
    /// All runs of the tenant, after a position.
    All(Position),
}

/// A reader of histories.
#[derive(Debug)]
pub struct RunFeed {
    storage: Storage,
    tenant: Tenant,
    followed: FollowedRuns,
    /// Of one run, where it was when it was read last.
    seen: Option<Position>,
    newest: watch::Receiver<Sequence>,
}

impl Storage {
    /// Follows histories of a tenant.
    pub fn follow_runs(&self, tenant: &Tenant, followed: FollowedRuns) -> RunFeed {
        RunFeed {
            newest: self.0.recent.follow(tenant),
            storage: self.clone(),
            tenant: tenant.clone(),
            followed,
            seen: None,
        }
    }
}

impl RunFeed {
    /// The next advances; waits until there are some. The first of one run may begin with events
    /// that are not asked for.
    pub async fn next(&mut self) -> Result<Vec<RunEvents>, Error> {
        loop {
            self.newest.borrow_and_update();
            let found = match &mut self.followed {
                FollowedRuns::One(run, after) => {
                    let position = self.storage.run(&self.tenant, *run).await?;
                    let position = position.map(|run| run.position);
                    if position == self.seen {
                        Vec::new()
                    } else {
                        let found = self.storage.run_events(*run, *after, PART).await?;
                        match found.last() {
                            Some(last) => *after = last.last,
                            None => self.seen = position,
                        }
                        found
                    }
                }
                FollowedRuns::All(after) => {
                    let (tenant, from) = (&self.tenant, *after);
                    let (found, reached) =
                        self.storage.run_events_after(tenant, from, PART).await?;
                    *after = reached;
                    found
                }
            };
            if !found.is_empty() {
                return Ok(found);
            }
            // The sender is gone only with the storage.
            self.newest.changed().await.map_err(|_| Error::Stopped)?;
        }
    }
}

impl Drop for RunFeed {
    fn drop(&mut self) {
        self.storage.0.recent.leave(&self.tenant);
    }
}
