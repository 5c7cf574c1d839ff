//! What a unit does to messages.

use std::collections::{HashMap, HashSet};

use super::{Committed, Draft};
use crate::id::{EdgeMessageId, Tenant};
use crate::storage::{
    Error,
    port::{Batch, Message, MessageGone, MessageRow, TenantRow},
};

/// What becomes of a unit that deletes a message which another unit has deleted meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfGone {
    /// It is committed all the same.
    Ignore,
    /// It is refused as if there had never been such a message.
    Refuse,
    /// It is in conflict: it has done other work, as if the message were there.
    Conflict,
}

/// What a unit does to a message.
#[derive(Debug, Clone)]
pub(in crate::storage) enum MessageChange {
    Put(EdgeMessageId, Message),
    /// Of as many bytes as the validation has found.
    Drop(EdgeMessageId, IfGone, usize),
}

impl MessageChange {
    pub(in crate::storage) const fn id(&self) -> EdgeMessageId {
        match self {
            Self::Put(id, _) | Self::Drop(id, ..) => *id,
        }
    }

    const fn gone(&self) -> Option<EdgeMessageId> {
        match self {
            Self::Drop(id, ..) => Some(*id),
            Self::Put(..) => None,
        }
    }

    /// How many bytes more it stores.
    pub(in crate::storage) fn bytes(&self) -> i64 {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        match self {
            Self::Put(_, message) => bytes(message.bytes()),
            Self::Drop(_, _, dropped) => -bytes(*dropped),
        }
    }
}

/// The messages that a batch deletes and that are there: whose each is, and how many bytes it has.
#[derive(Debug, Default)]
pub(in crate::storage) struct MessageView(HashMap<EdgeMessageId, (Tenant, usize)>);

impl MessageView {
    pub(in crate::storage) fn know(&mut self, id: EdgeMessageId, tenant: &Tenant, bytes: usize) {
        self.0.insert(id, (tenant.clone(), bytes));
    }

    fn bytes(&self, tenant: &Tenant, id: EdgeMessageId) -> Option<usize> {
        let (of, bytes) = self.0.get(&id)?;
        (of == tenant).then_some(*bytes)
    }

    /// Whether the messages are there that a unit needs.
    pub(in crate::storage) fn check(&self, draft: &Draft) -> Result<(), Error> {
        for change in &draft.messages {
            let MessageChange::Drop(id, if_gone, _) = change else {
                continue;
            };
            if self.bytes(&draft.tenant, *id).is_none() {
                match if_gone {
                    IfGone::Ignore => {}
                    IfGone::Refuse => return Err(Error::MessageNotFound(*id)),
                    IfGone::Conflict => return Err(Error::Conflict),
                }
            }
        }
        Ok(())
    }

    /// Takes over what a survivor has made and deleted. It gives back the bytes of what is there:
    /// of one message once, however many units delete it.
    pub(in crate::storage) fn take(&mut self, draft: &mut Draft) {
        let Draft {
            tenant, messages, ..
        } = draft;
        for change in messages {
            match change {
                MessageChange::Put(id, message) => self.know(*id, tenant, message.bytes()),
                MessageChange::Drop(id, _, dropped) => {
                    let known = self.bytes(tenant, *id);
                    *dropped = known.unwrap_or(0);
                    if known.is_some() {
                        self.0.remove(id);
                    }
                }
            }
        }
    }
}

/// Adds the rows of one unit to a batch; none for what the unit has both made and deleted.
pub(in crate::storage) fn add_message_rows(
    draft: &Draft,
    tenant: TenantRow,
    committed: Committed,
    rows: &mut Batch,
) {
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
            MessageChange::Drop(id, ..) => rows.messages_gone.push(MessageGone {
                id: id.uuid(),
                t: tenant.0,
            }),
        }
    }
}
