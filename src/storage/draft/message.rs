//! What a unit does to messages.

use std::collections::HashSet;

use super::{Committed, Draft};
use crate::id::EdgeMessageId;
use crate::storage::port::{Batch, Message, MessageGone, MessageRow, TenantRow};

/// What a unit does to a message.
#[derive(Debug, Clone)]
pub(in crate::storage) enum MessageChange {
    Put(EdgeMessageId, Message),
    /// Of so many bytes, where bytes are counted.
    Drop(EdgeMessageId, usize),
}

impl MessageChange {
    pub(in crate::storage) const fn id(&self) -> EdgeMessageId {
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
    pub(in crate::storage) fn bytes(&self) -> i64 {
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        match self {
            Self::Put(_, message) => bytes(message.bytes()),
            Self::Drop(_, dropped) => -bytes(*dropped),
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
            MessageChange::Drop(id, _) => rows.messages_gone.push(MessageGone {
                id: id.uuid(),
                t: tenant.0,
            }),
        }
    }
}
