//! Messages: texts that travel beside entities (`rest.md` §6).
//!
//! They are written and deleted by the same commits as everything else. Nothing changes one, so
//! that a unit may read what is committed at the moment, whatever its snapshot.

use std::collections::HashSet;

use super::{
    Error, Storage, UnitOfWork,
    draft::{Committed, Draft},
    port::{Batch, Message, MessageGone, MessageRow, TenantRow},
};
use crate::id::{EdgeMessageId, Tenant};

/// What a message takes beside its parts, roughly.
const MESSAGE_BYTES: usize = 200;

/// What a deletion takes.
const DELETION_BYTES: usize = 64;

/// What a unit does to a message.
#[derive(Debug, Clone)]
pub(super) enum MessageChange {
    Put(EdgeMessageId, Message),
    /// Of so many bytes, where bytes are counted.
    Drop(EdgeMessageId, usize),
}

impl MessageChange {
    const fn id(&self) -> EdgeMessageId {
        match self {
            Self::Put(id, _) | Self::Drop(id, _) => *id,
        }
    }

    const fn gone(&self) -> Option<EdgeMessageId> {
        match self {
            Self::Drop(id, _) => Some(*id),
            Self::Put(..) => None,
        }
    }

    /// How many bytes more it stores.
    pub(super) fn bytes(&self) -> i64 {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        match self {
            Self::Put(_, message) => bytes(message.bytes()),
            Self::Drop(_, dropped) => -bytes(*dropped),
        }
    }
}

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
        let bytes = if self.storage().0.usage.is_counted() {
            let dropped = self.message(id).await?;
            dropped.as_ref().map_or(0, Message::bytes)
        } else {
            0
        };
        self.messages.push(MessageChange::Drop(id, bytes));
        Ok(())
    }
}

/// Adds the rows of one unit to a batch; none for what the unit has both made and deleted.
pub(super) fn add_rows(draft: &Draft, tenant: TenantRow, committed: Committed, rows: &mut Batch) {
    let gone: HashSet<_> = draft
        .messages
        .iter()
        .filter_map(MessageChange::gone)
        .collect();
    for change in &draft.messages {
        match change {
            MessageChange::Put(id, _) if gone.contains(id) => {}
            MessageChange::Put(id, message) => rows.messages.push(MessageRow {
                id: id.uuid(),
                t: tenant.0,
                seq: committed.sequence.0,
                header: message.header.shared(),
                metadata: message.metadata.shared(),
                content: message.content.shared(),
            }),
            MessageChange::Drop(id, _) => rows.messages_gone.push(MessageGone {
                id: id.uuid(),
                t: tenant.0,
            }),
        }
    }
}
