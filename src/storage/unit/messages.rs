//! Messages: texts that travel beside entities (`rest.md` §6).
//!
//! They are written and deleted by the same commits as everything else. Nothing changes one, so
//! that a unit may read what is committed at the moment, whatever its snapshot.

use super::UnitOfWork;
use crate::id::{EdgeMessageId, Tenant};
use crate::storage::{Error, Storage, draft::MessageChange, port::Message};

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

    /// Deletes a message, if there is one of that id.
    pub async fn drop_message(&mut self, id: EdgeMessageId) -> Result<(), Error> {
        self.grow(DELETION_BYTES)?;
        let storage = &self.storage().0;
        // Where other processes write too, any of them may count.
        let bytes = if storage.usage.is_counted() || storage.database.is_shared() {
            let dropped = self.message(id).await?;
            dropped.as_ref().map_or(0, Message::bytes)
        } else {
            0
        };
        self.messages.push(MessageChange::Drop(id, bytes));
        Ok(())
    }
}
