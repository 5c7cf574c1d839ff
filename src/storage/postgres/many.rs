//! Reading entities of any time: one at an instant, pages by an index alone, and documents a part
//! at a time.
//!
//! A part ends with a number of rows or of bytes, whichever comes first, so that what is held
//! does not depend on how large documents are.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;

use sqlx_postgres::PgRow;
use uuid::Uuid;

use super::Postgres;
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::EntityId;
use crate::storage::{
    port::{Error, ModelRow, TenantRow, Version},
    rows::{DatedRow, PART_BYTES, PART_BYTES_BOUND, ScanRow, VersionRow, from_row_of},
};

const ENTITY_PAGE: &str = include_str!("sql/entity_page.sql");
const ENTITY_PAGE_AS_OF: &str = include_str!("sql/entity_page_as_of.sql");
const ENTITY_SCAN: &str = include_str!("sql/entity_scan.sql");
const VERSION_AT: &str = include_str!("sql/version_at.sql");
const VERSIONS_REPLACED: &str = include_str!("sql/versions_replaced.sql");
const VERSIONS_BY_POSITION: &str = include_str!("sql/versions_by_position.sql");

/// How many positions a part has at most.
const LISTED: usize = 4_096;

/// A version that was asked for by its place in a list.
#[derive(Debug)]
struct PickedRow {
    i: i64,
    version: VersionRow,
}

from_row_of! { PgRow, PickedRow { i, ..version } }

impl Postgres {
    /// The versions at the first of these positions, in their order, and how many positions
    /// that were; those of other tenants are left out.
    pub(in crate::storage) async fn versions(
        &self,
        tenant: TenantRow,
        positions: &[Position],
    ) -> Result<(Vec<Version>, usize), Error> {
        let positions = &positions[..positions.len().min(LISTED)];
        let rows: Vec<PickedRow> = sqlx::query_as(VERSIONS_BY_POSITION)
            .bind(listed(positions))
            .bind(tenant.0)
            .bind(PART_BYTES_BOUND)
            .fetch_all(&self.reads)
            .await?;
        let mut versions = Vec::with_capacity(rows.len());
        let (mut bytes, mut last) = (0, 0);
        for row in rows {
            last = row.i;
            let version = row.version.version(tenant);
            bytes += version.image.document.as_str().len();
            versions.push(version);
        }
        let count = if bytes > PART_BYTES {
            usize::try_from(last).map_or(positions.len(), |last| last + 1)
        } else {
            positions.len()
        };
        Ok((versions, count))
    }

    /// Which versions those at these positions have replaced.
    pub(in crate::storage) async fn replaced(
        &self,
        positions: &[Position],
    ) -> Result<HashMap<Position, Position>, Error> {
        let rows: Vec<(i64, Option<i64>)> = sqlx::query_as(VERSIONS_REPLACED)
            .bind(listed(positions))
            .fetch_all(&self.reads)
            .await?;
        let replaced = rows
            .into_iter()
            .filter_map(|(position, replaced)| Some((Position(position), Position(replaced?))));
        Ok(replaced.collect())
    }

    /// The version of an entity that was current at an instant, and when it was replaced.
    pub(in crate::storage) async fn version_at(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Timestamp,
    ) -> Result<Option<(Version, Option<Timestamp>)>, Error> {
        let row: Option<DatedRow> = sqlx::query_as(VERSION_AT)
            .bind(id.uuid())
            .bind(tenant.0)
            .bind(at.micros())
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(|row| {
            let until = row.until.map(Timestamp::from_micros);
            (row.version.version(tenant), until)
        }))
    }

    /// The next entities of a model after `after`, and how far that went; none at the end.
    pub(in crate::storage) async fn scan(
        &self,
        tenant: TenantRow,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
    ) -> Result<(Vec<Version>, Option<EntityId>), Error> {
        let mut rows = sqlx::query_as(ENTITY_SCAN)
            .bind(model.0)
            .bind(first_after(after))
            .bind(at.0)
            .bind(limit)
            .bind(PART_BYTES_BOUND)
            .fetch(&self.reads);
        let mut versions = Vec::new();
        let mut reached = None;
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.try_next().await? {
            let row: ScanRow = row;
            count += 1;
            reached = Some(EntityId::from_uuid(row.id));
            let Some(version) = row.version(tenant) else {
                continue;
            };
            bytes += version.image.document.as_str().len();
            versions.push(version);
            if bytes > PART_BYTES {
                return Ok((versions, reached));
            }
        }
        Ok((versions, reached.filter(|_| count == limit)))
    }

    /// A page of the entities of a model as they are now, in the order of their ids.
    pub(in crate::storage) async fn page(
        &self,
        model: ModelRow,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        let rows = sqlx::query_as(ENTITY_PAGE)
            .bind(model.0)
            .bind(limit)
            .bind(offset)
            .fetch_all(&self.reads)
            .await?;
        Ok(placed(rows))
    }

    /// A page of the entities of a model that come after `after`, as they were at a sequence.
    pub(in crate::storage) async fn page_as_of(
        &self,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
        offset: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        let rows = sqlx::query_as(ENTITY_PAGE_AS_OF)
            .bind(model.0)
            .bind(first_after(after))
            .bind(at.0)
            .bind(limit)
            .bind(offset)
            .fetch_all(&self.reads)
            .await?;
        Ok(placed(rows))
    }
}

/// What all ids after that one are above; every id is above the one of zeros.
pub(super) fn first_after(after: Option<EntityId>) -> Uuid {
    after.map_or_else(Uuid::nil, EntityId::uuid)
}

/// Ids and positions of entities, in the order of the ids.
pub(super) fn placed(rows: Vec<(Uuid, i64)>) -> Vec<(EntityId, Position)> {
    let rows = rows.into_iter();
    let mut found: Vec<_> = rows
        .map(|(id, n)| (EntityId::from_uuid(id), Position(n)))
        .collect();
    found.sort_unstable();
    found
}

/// Positions as the array that statements take.
fn listed(positions: &[Position]) -> Vec<i64> {
    positions.iter().map(|position| position.0).collect()
}
