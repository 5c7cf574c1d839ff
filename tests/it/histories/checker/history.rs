//! What the checker is given: transactions as their clients saw them.

use std::collections::BTreeMap;

/// A list or a register.
pub(crate) type Key = u32;

/// What is written; no value is written twice.
pub(crate) type Value = u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A list was read, with these elements in this order.
    List(Key, Vec<Value>),
    /// A register was read; none if nothing was written to it yet.
    Register(Key, Option<Value>),
    /// A value was appended to a list, or replaced that of a register.
    Write(Key, Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    /// It must leave nothing; what it read was a snapshot all the same.
    Failed,
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    /// A time before it was sent, and one after its answer came, of one clock for all clients.
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) outcome: Outcome,
    pub(crate) ops: Vec<Op>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// In any order. The last to begin should read every list.
    pub(crate) transactions: Vec<Transaction>,
    /// The values that each register has had, in their order. Keys that are missing are lists.
    pub(crate) registers: BTreeMap<Key, Vec<Value>>,
}
