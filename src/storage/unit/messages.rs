//! Messages: texts that travel beside entities (`rest.md` §6).
//!
//! They are written and deleted by the same commits as everything else. Nothing changes one, so
//! that a unit may read what is committed at the moment, whatever its snapshot; whether one that it
//! deletes is still there is validated at the commit.

use super::UnitOfWork;
use crate::id::{EdgeMessageId, Tenant};
use crate::storage::{
    Error, Storage,
    draft::{IfGone, MessageChange},
    port::Message,
};

/// What a message takes beside its parts, roughly.
const MESSAGE_BYTES: usize = 200;

/// What a deletion takes.
const DELETION_BYTES: usize = 64;

impl Storage {
    async fn message(&self, tenant: &Tenant, id: EdgeMessageId) -> Result<Option<Message>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let message = self.0.database.message(tenant, id).await?;
        self.once_durable(message).await
    }
}

impl UnitOfWork {
    /// The message as this unit sees it.
    pub async fn message(&mut self, id: EdgeMessageId) -> Result<Option<Message>, Error> {
        let own = self.messages.iter().rev().find(|own| own.id() == id);
        match own {
            Some(MessageChange::Put(_, message)) => Ok(Some(message.clone())),
            Some(MessageChange::Drop(..)) => Ok(None),
            None => self.storage().message(self.tenant(), id).await,
        }
    }

    /// A new message.
    pub fn put_message(&mut self, message: Message) -> Result<EdgeMessageId, Error> {
        self.grow(message.bytes() + MESSAGE_BYTES)?;
        let id = EdgeMessageId::fresh();
        self.messages.push(MessageChange::Put(id, message));
        Ok(id)
    }

    /// Deletes a message; false if there is none of that id. If there is none any more when the unit
    /// is committed, `if_gone` says what becomes of the unit.
    pub async fn take_message(
        &mut self,
        id: EdgeMessageId,
        if_gone: IfGone,
    ) -> Result<bool, Error> {
        if self.message(id).await?.is_none() {
            return Ok(false);
        }
        // Of a message that only this unit knows nothing is stored yet.
        let is_own = self.messages.iter().any(|own| own.id() == id);
        self.drop_message(id, if is_own { IfGone::Ignore } else { if_gone })?;
        Ok(true)
    }

    /// Deletes those of these messages that there are when the unit is committed.
    pub fn drop_messages(&mut self, ids: &[EdgeMessageId]) -> Result<(), Error> {
        ids.iter()
            .try_for_each(|id| self.drop_message(*id, IfGone::Ignore))
    }

    fn drop_message(&mut self, id: EdgeMessageId, if_gone: IfGone) -> Result<(), Error> {
        self.grow(DELETION_BYTES)?;
        self.messages.push(MessageChange::Drop(id, if_gone, 0));
        Ok(())
    }
}
