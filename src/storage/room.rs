//! How many bytes may wait to be committed, of all tenants and of each.
//!
//! Only large units are counted: the others are limited by the length of the queue, and cost
//! nothing here. A unit that finds no room waits for a while, and is refused then.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::Error;
use crate::id::Tenant;
use crate::shares::{SMALL_BYTES, Shares};

/// How long room is waited for.
const WAIT: Duration = Duration::from_secs(10);

/// What one permit stands for, so that their number fits.
const PERMIT_BYTES: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct Room {
    bytes: usize,
    all: Arc<Semaphore>,
    tenants: Shares<Tenant>,
}

/// The room of one unit; dropping it leaves it to others.
#[derive(Debug)]
pub(super) struct Taken(
    #[expect(dead_code, reason = "dropping them is what counts")] [OwnedSemaphorePermit; 2],
);

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        let bytes = bytes.max(2 * PERMIT_BYTES);
        Self {
            bytes,
            all: Arc::new(Semaphore::new(bytes / PERMIT_BYTES)),
            tenants: Shares::new(bytes / 2 / PERMIT_BYTES),
        }
    }

    /// What one tenant may have of it.
    const fn share(&self) -> usize {
        self.bytes / 2
    }

    /// Waits for room; none is needed for a small unit. A unit that is larger than the share of
    /// its tenant waits until that is empty.
    pub(super) async fn take(&self, tenant: &Tenant, bytes: usize) -> Result<Option<Taken>, Error> {
        if bytes < SMALL_BYTES {
            return Ok(None);
        }
        let permits = bytes.min(self.share()) / PERMIT_BYTES;
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        let (own, all) = (self.tenants.of(tenant.clone()), Arc::clone(&self.all));
        let taking = async {
            // First among one's own, so that one tenant waits in one place of the common line.
            let own = own.acquire_many_owned(permits).await?;
            Ok::<_, tokio::sync::AcquireError>([own, all.acquire_many_owned(permits).await?])
        };
        match timeout(WAIT, taking).await {
            Ok(Ok(taken)) => Ok(Some(Taken(taken))),
            Ok(Err(_)) => Err(Error::Stopped),
            Err(_) => Err(Error::NoRoom {
                bytes: self.share(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_tenant_takes_half_and_waits_while_another_is_served() {
        let room = Room::new(1 << 20);
        let tenant = |name: &str| Tenant::from(name);
        let (one, two) = (tenant("one"), tenant("two"));
        assert!(room.take(&one, 1_000).await.expect("room").is_none());
        let whole = room.take(&one, 9 << 20).await.expect("room");
        assert!(whole.is_some());
        let refused = room.take(&one, 100 << 10).await;
        assert!(matches!(refused, Err(Error::NoRoom { .. })), "{refused:?}");
        assert!(room.take(&two, 100 << 10).await.expect("room").is_some());
        drop(whole);
        assert!(room.take(&one, 100 << 10).await.expect("room").is_some());
    }
}
