//! Reading an entity as it was at an instant.

use tokio::time::timeout;

use crate::clock::{PointInTime, Timestamp};
use crate::id::{EntityId, Tenant};
use crate::storage::{
    Error, Storage,
    memory::instant::DISK_PATIENCE,
    port::{TenantRow, Version},
};

impl Storage {
    /// The entity as it was at an instant, if it was there; the same as asking the snapshot of
    /// that instant, in one trip.
    pub async fn entity_at(
        &self,
        tenant: &Tenant,
        id: EntityId,
        instant: &PointInTime,
    ) -> Result<Option<Version>, Error> {
        let at = instant.until;
        self.settle(at).await?;
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let known = self.known_at(id, at);
        let version = match known {
            Some(known) => Some(known).filter(|known| known.tenant == tenant),
            None => self.read_at(tenant, id, at).await?,
        };
        Ok(version.filter(|version| version.live))
    }

    /// Has what was committed up to an instant stay as it is, for every process.
    pub(in crate::storage) async fn settle(&self, until: Timestamp) -> Result<(), Error> {
        let inner = &self.0;
        if !inner.database.is_shared() {
            let settled = inner.instants.settle(until, inner.clock.now());
            let settled = timeout(DISK_PATIENCE, settled).await;
            return settled.map_err(|_| Error::Unavailable);
        }
        // Commits have ever later times, so up to the newest one everything is final.
        if until <= inner.applied.newest().at {
            return Ok(());
        }
        let _turn = inner.pulses.instant_turn.lock().await;
        self.refresh().await?;
        if until > inner.applied.newest().at {
            inner.database.append_link().await?;
            self.refresh().await?;
        }
        Ok(())
    }

    /// What is current was so then, if it was written by then.
    fn known_at(&self, id: EntityId, at: Timestamp) -> Option<Version> {
        let current = self.0.cache.get(id);
        current
            .filter(|known| known.image.updated <= at)
            .or_else(|| self.0.past.get(id, at))
    }

    async fn read_at(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Timestamp,
    ) -> Result<Option<Version>, Error> {
        let since = self.0.cache.generation(id);
        let Some((version, until)) = self.0.database.version_at(tenant, id, at).await? else {
            return Ok(None);
        };
        match until {
            Some(until) => self.0.past.keep(&version, until),
            None if version.live => self.0.cache.fill(&version, since),
            None => {}
        }
        Ok(Some(version))
    }
}
