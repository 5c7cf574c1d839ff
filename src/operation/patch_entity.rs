//! Patches an entity's document (`rest.md` §3.6, RFC 7386 and RFC 6902).

use super::{Access, Context, Family, Operation, Output, writing::document};
use crate::entity::Patch;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{self, Chunk, PatchFormat, Written},
    },
};
use crate::id::{EntityId, TransitionName};
use crate::runtime::{Content, Update};

pub(super) struct PatchEntity {
    id: EntityId,
    /// What is wrong with it is reported only where patches of that format are known.
    patch: Result<Patch, Failure>,
    transition: Option<TransitionName>,
    if_match: Option<Box<str>>,
    format: PatchFormat,
}

impl Operation for PatchEntity {
    type Payload = entity::Patch<'static>;
    type Answer = Written;

    const REQUEST: EventType = EventType::EntityPatchRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::Patch<'_> = payload::decode(payload)?;
        let change = request.payload;
        let Some(expected) = entity::named_version(change.if_match) else {
            return Err(Failure::new(
                Code::PreconditionRequired,
                "a patch requires `ifMatch` (over REST the header `If-Match`): the transaction it is based on, or `*`",
            ));
        };
        let patch = match request.patch_format {
            PatchFormat::Merge => Ok(Patch::Merge(document(change.patch)?)),
            PatchFormat::Json => document(change.patch).and_then(|given| {
                Patch::operations(&given)
                    .map_err(|error| Failure::new(Code::BadRequest, error.to_string()))
            }),
        };
        Ok(Self {
            format: request.patch_format,
            patch,
            id: entity::entity_id(&change.entity_id)?,
            transition: entity::transition(change.transition),
            if_match: entity::expected_version(Some(expected)),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        if self.format == PatchFormat::Json && cx.runtime().compat().json_patch_is_unknown() {
            return Err(Failure::new(
                Code::NotImplemented,
                "this profile (INTERLOCK_COMPAT) does not support JSON Patch; send a merge patch",
            ));
        }
        let id = self.id;
        let update = Update {
            id,
            content: Content::Patched(self.patch?),
            transition: self.transition,
            if_match: self.if_match,
        };
        let mut session = cx.session().await?;
        let updated = cx
            .runtime()
            .update_alone(&mut session, update, &cx.initiator())
            .await?;
        let chunk = Chunk::done(session.entry(), vec![id]);
        cx.finish(session, Written::one(chunk), updated.warnings)
            .await
    }
}
