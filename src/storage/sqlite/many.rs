//! Reading entities of any time: one at an instant, pages by an index alone, and documents a part
//! at a time.
//!
//! A part ends with a number of rows or of bytes, whichever comes first, so that what is held
//! does not depend on how large documents are.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;

use super::{
    Sqlite,
    heads::PickedHead,
    packed::{Packed, in_order},
    read::json_list,
};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::EntityId;
use crate::storage::{
    port::{Error, ModelRow, TenantRow, Version},
    rows::{DatedRow, Names, PART_BYTES, PART_BYTES_BOUND, ScanRow},
};

const ENTITY_PAGE: &str = include_str!("sql/entity_page.sql");
const ENTITY_PAGE_AS_OF: &str = include_str!("sql/entity_page_as_of.sql");
const ENTITY_SCAN: &str = include_str!("sql/entity_scan.sql");
const VERSION_AT: &str = include_str!("sql/version_at.sql");
const VERSIONS_REPLACED: &str = include_str!("sql/versions_replaced.sql");
const VERSION_SIZES: &str = include_str!("sql/version_sizes.sql");
const VERSIONS_BY_POSITION: &str = include_str!("sql/versions_by_position.sql");
const VERSIONS_LISTED: &str = include_str!("sql/versions_listed.sql");

/// How many positions a part has at most.
const LISTED: usize = 4_096;

/// Of so many positions the database itself finds where a part ends. Of more it takes twice as long
/// over that as over reading them, and is asked for the sizes first (measured).
const FEW: usize = 256;

impl Sqlite {
    /// The versions at the first of these positions, in their order, and how many positions
    /// that were; those of other tenants are left out.
    pub(in crate::storage) async fn versions(
        &self,
        tenant: TenantRow,
        positions: &[Position],
    ) -> Result<(Vec<Version>, usize), Error> {
        let mut positions = &positions[..positions.len().min(LISTED)];
        let are_few = positions.len() <= FEW;
        if !are_few {
            positions = &positions[..self.part_of(positions).await?];
        }
        let text = if are_few {
            VERSIONS_BY_POSITION
        } else {
            VERSIONS_LISTED
        };
        let mut query = sqlx::query_as(text).bind(listed(positions)).bind(tenant.0);
        if are_few {
            query = query.bind(PART_BYTES_BOUND);
        }
        let packed: Packed = query.fetch_one(&self.reads).await?;
        let mut names = Names::default();
        let mut versions = Vec::with_capacity(positions.len());
        let mut bytes = 0;
        for (head, document) in packed.rows()? {
            let head: PickedHead<'_> = head;
            let document = document.unwrap_or_default();
            bytes += document.len();
            versions.push((head.0, head.version(tenant, document, &mut names)?));
        }
        versions.sort_unstable_by_key(|(index, _)| *index);
        let count = match versions.last() {
            Some((index, _)) if bytes > PART_BYTES => index + 1,
            Some(_) | None => positions.len(),
        };
        Ok((
            versions.into_iter().map(|(_, version)| version).collect(),
            count,
        ))
    }

    /// How many of the first of these positions make a part.
    async fn part_of(&self, positions: &[Position]) -> Result<usize, Error> {
        let sizes: String = sqlx::query_scalar(VERSION_SIZES)
            .bind(listed(positions))
            .fetch_one(&self.reads)
            .await?;
        let sizes: Vec<usize> = serde_json::from_str(&sizes).map_err(|_| Error::Inconsistent {
            table: "version",
            column: "data",
            row: 0,
        })?;
        let mut bytes = 0;
        let goes_beyond = |size: &usize| {
            bytes += size;
            bytes > PART_BYTES
        };
        let last = sizes.iter().position(goes_beyond);
        Ok(last.map_or(positions.len(), |last| last + 1))
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
            .bind(bytes_of(after))
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
        let packed = sqlx::query_as(ENTITY_PAGE)
            .bind(model.0)
            .bind(limit)
            .bind(offset)
            .fetch_one(&self.reads)
            .await?;
        in_order(&packed)
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
        let packed = sqlx::query_as(ENTITY_PAGE_AS_OF)
            .bind(model.0)
            .bind(bytes_of(after))
            .bind(at.0)
            .bind(limit)
            .bind(offset)
            .fetch_one(&self.reads)
            .await?;
        in_order(&packed)
    }
}

/// What all ids after that one are above; every id is above no bytes.
pub(super) fn bytes_of(after: Option<EntityId>) -> Vec<u8> {
    after
        .map(|id| id.uuid().as_bytes().to_vec())
        .unwrap_or_default()
}

/// Positions as the JSON list that statements take.
fn listed(positions: &[Position]) -> String {
    json_list(positions.iter().map(|position| position.0))
}
