//! Turns for reads whose cost grows with what a tenant has: counts, pages by their number, lists
//! of runs. Reads by key need none: they find a connection that no such read may take.

use super::port::TenantRow;
use crate::pool::{Pool, Slot};

/// The turns of one process.
#[derive(Debug)]
pub(super) struct LongReads(Pool);

impl LongReads {
    /// For a database with so many connections for reads: all but one, of which one tenant may
    /// have half of all.
    pub(super) fn new(connections: u32) -> Self {
        let connections = usize::try_from(connections).unwrap_or(usize::MAX);
        let places = connections.saturating_sub(1).max(1);
        Self(Pool::of_slots(places, (connections / 2).max(1)))
    }

    /// Waits for the turn of a tenant, which ends when this is dropped.
    pub(super) async fn turn(&self, tenant: TenantRow) -> Slot {
        self.0.enter(tenant.0.cast_unsigned()).await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_tenant_with_many_reads_leaves_turns_to_others() {
        let reads = LongReads::new(4);
        let (one, two) = (TenantRow(1), TenantRow(2));
        let first = reads.turn(one).await;
        let _second = reads.turn(one).await;
        let mut third = Box::pin(reads.turn(one));
        assert!(poll!(&mut third).is_pending());
        let _other = reads.turn(two).await;
        let mut another = Box::pin(reads.turn(two));
        assert!(poll!(&mut another).is_pending(), "one connection is left");
        drop(first);
        assert!(poll!(&mut another).is_ready());
        // A database in memory has one connection.
        let only = LongReads::new(1);
        let _first = only.turn(one).await;
        assert!(poll!(Box::pin(only.turn(two))).is_pending());
    }
}
