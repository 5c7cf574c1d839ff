//! Reads an entity: now, as of a time, or as a transaction left it.

use super::{Access, Context, Family, Operation, Output, audit_finished::unknown};
use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{entity_id, point_in_time},
        search,
    },
};
use crate::id::{EntityId, TransactionId};
use crate::runtime::Session;
use crate::storage::Version;

pub(super) struct GetEntity {
    id: EntityId,
    when: When,
}

/// Which version of an entity is asked for.
pub(super) enum When {
    Now,
    At(PointInTime),
    WrittenBy(TransactionId),
}

impl When {
    /// Reads two parameters of which at most one may be given.
    pub(super) fn read(instant: Option<&str>, transaction: Option<&str>) -> Result<Self, Failure> {
        match (point_in_time(instant)?, transaction) {
            (Some(_), Some(_)) => Err(Failure::new(
                Code::BadRequest,
                "use either pointInTime or transactionId, not both",
            )),
            (Some(instant), None) => Ok(Self::At(instant)),
            (None, Some(transaction)) => {
                let transaction = transaction.parse().map_err(|_| unknown(transaction))?;
                Ok(Self::WrittenBy(transaction))
            }
            (None, None) => Ok(Self::Now),
        }
    }

    /// The version of the entity that is asked for, if there is one.
    pub(super) async fn find(
        &self,
        cx: &Context,
        session: &mut Session,
        id: EntityId,
    ) -> Result<Option<Version>, Failure> {
        Ok(match self {
            Self::Now => session.unit()?.read(id).await?,
            Self::At(instant) => {
                let tenant = &cx.caller().tenant;
                cx.storage().entity_at(tenant, id, instant).await?
            }
            Self::WrittenBy(transaction) => {
                cx.runtime().written_by(session, id, *transaction).await?
            }
        })
    }
}

pub(super) fn not_found(id: EntityId) -> Failure {
    Failure::new(Code::EntityNotFound, "entity not found").with("entityId", id.to_string())
}

impl Operation for GetEntity {
    type Payload = search::Get;
    type Answer = search::Entity;

    const REQUEST: EventType = EventType::EntityGetRequest;
    const RESPONSE: EventType = EventType::EntityResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Get = payload::decode(payload)?;
        Ok(Self {
            // Invalid parameters are reported before missing entities.
            when: When::read(
                request.point_in_time.as_deref(),
                request.transaction_id.as_deref(),
            )?,
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let version = self.when.find(&cx, &mut session, self.id).await?;
        session.finish(cx.cancel()).await?;
        let version = version.ok_or_else(|| not_found(self.id))?;
        Ok(Output::one(search::Entity::new(version.image, None)))
    }
}
