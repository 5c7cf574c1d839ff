//! What is unique.

use super::ModelRow;
use crate::model::KeyValue;

/// What entities of one model can have only one of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::storage) struct Claim {
    pub(in crate::storage) model: ModelRow,
    pub(in crate::storage) value: KeyValue,
}
