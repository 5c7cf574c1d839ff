//! Reading an entity as it was at an instant.

use super::{
    Error, Storage,
    port::{TenantRow, Version},
};
use crate::clock::{PointInTime, Timestamp};
use crate::id::{EntityId, Tenant};

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
        self.0.instants.settle(at, self.0.clock.now()).await;
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
