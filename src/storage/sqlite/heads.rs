//! What is small of many rows, as the database packs it (`packed.rs`).

use std::borrow::Cow;

use serde::Deserialize;

use super::packed::uuid;
use crate::clock::Timestamp;
use crate::entity::{ChangeKind, Changed, Image, Json, Position};
use crate::id::{EntityId, TransactionId};
use crate::storage::{
    port::{EntityRow, Error, TenantRow, Version},
    rows::{Names, kind_of},
};

/// A version that was asked for by its place in a list, without its document.
#[derive(Debug, Deserialize)]
pub(super) struct PickedHead<'a>(
    /// The place.
    pub(super) usize,
    /// `n`.
    i64,
    /// `kind`.
    i64,
    /// `state`.
    #[serde(borrow)]
    Cow<'a, str>,
    /// `transition`.
    Option<Cow<'a, str>>,
    /// `e`.
    i64,
    /// `id`.
    &'a str,
    /// `created`.
    i64,
    /// `workflow`.
    Option<Cow<'a, str>>,
    /// `tx`.
    &'a str,
    /// `at`.
    i64,
    /// `name`.
    Cow<'a, str>,
    /// `version`.
    i32,
);

impl PickedHead<'_> {
    /// The version, which was asked for as one of this tenant.
    pub(super) fn version(
        self,
        tenant: TenantRow,
        document: &str,
        names: &mut Names,
    ) -> Result<Version, Error> {
        let Self(_, n, kind, state, transition, e, id, created, workflow, tx, at, name, version) =
            self;
        let kind = kind_of(kind, n)?;
        Ok(Version {
            row: EntityRow(e),
            tenant,
            position: Position(n),
            live: kind != ChangeKind::Delete,
            image: Image {
                id: EntityId::from_uuid(uuid(id)?),
                model: names.model(&name, version),
                state: names.state(&state),
                // A deletion has no document.
                document: Json::trusted(if document.is_empty() {
                    "null"
                } else {
                    document
                }),
                created: Timestamp::from_micros(created),
                updated: Timestamp::from_micros(at),
                transaction: TransactionId::from_uuid(uuid(tx)?),
                transition: transition.map(|name| (*name).into()),
                workflow: workflow.map(|name| (*name).into()),
            },
        })
    }
}

/// A version, as the feed lists it, without its document.
#[derive(Debug, Deserialize)]
pub(super) struct FeedHead<'a>(
    /// `n`.
    i64,
    /// `kind`.
    i64,
    /// `state`.
    #[serde(borrow)]
    Cow<'a, str>,
    /// `id`.
    &'a str,
    /// `tx`.
    &'a str,
    /// `at`.
    i64,
    /// `name`.
    Cow<'a, str>,
    /// `version`.
    i32,
);

impl FeedHead<'_> {
    pub(super) fn change(
        self,
        document: Option<&str>,
        names: &mut Names,
    ) -> Result<Changed, Error> {
        let Self(n, kind, state, id, tx, at, name, version) = self;
        Ok(Changed {
            position: Position(n),
            entity: EntityId::from_uuid(uuid(id)?),
            model: names.model(&name, version),
            state: names.state(&state),
            kind: kind_of(kind, n)?,
            transaction: TransactionId::from_uuid(uuid(tx)?),
            at: Timestamp::from_micros(at),
            document: document
                .filter(|document| !document.is_empty())
                .map(Json::trusted),
        })
    }
}
