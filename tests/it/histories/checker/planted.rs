//! Each anomaly in a small history, which must be found, and what is none.

use std::collections::BTreeMap;

use super::{
    Anomaly, check,
    history::{History, Key, Op, Outcome, Transaction, Value},
};

const X: Key = 1;
const Y: Key = 2;
/// A register.
const R: Key = 3;

fn w(key: Key, value: Value) -> Op {
    Op::Write(key, value)
}

fn r(key: Key, elements: &[Value]) -> Op {
    Op::List(key, elements.to_vec())
}

fn reg(value: Option<Value>) -> Op {
    Op::Register(R, value)
}

/// One that is concurrent with all others.
fn ok(ops: Vec<Op>) -> Transaction {
    at(0, 1_000, ops)
}

fn at(begun: u64, ended: u64, ops: Vec<Op>) -> Transaction {
    let outcome = Outcome::Committed;
    Transaction {
        begun,
        ended,
        outcome,
        ops,
    }
}

fn failed(ops: Vec<Op>) -> Transaction {
    let outcome = Outcome::Failed;
    Transaction { outcome, ..ok(ops) }
}

fn unknown(ops: Vec<Op>) -> Transaction {
    let outcome = Outcome::Unknown;
    Transaction { outcome, ..ok(ops) }
}

/// What is found if the register has had these values.
fn found(order: &[Value], transactions: Vec<Transaction>) -> (Vec<Anomaly>, usize) {
    let report = check(&History {
        transactions,
        registers: BTreeMap::from([(R, order.to_vec())]),
    });
    (report.anomalies(), report.skews)
}

#[test]
fn every_planted_anomaly_is_found_and_named() {
    let cases = [
        (
            "a transaction does not see its own write",
            Anomaly::Internal,
            vec![],
            vec![ok(vec![w(X, 1), r(X, &[])]), ok(vec![r(X, &[1])])],
        ),
        (
            "nor that of a register",
            Anomaly::Internal,
            vec![1],
            vec![ok(vec![w(R, 1), reg(None)])],
        ),
        (
            "a key changes between two reads of a transaction",
            Anomaly::Internal,
            vec![],
            vec![ok(vec![w(X, 1)]), ok(vec![r(X, &[1]), r(X, &[])])],
        ),
        (
            "a key changes before a read after an own write",
            Anomaly::Internal,
            vec![],
            vec![
                ok(vec![w(X, 1)]),
                ok(vec![w(X, 2), r(X, &[1, 2]), r(X, &[2])]),
                ok(vec![r(X, &[1, 2])]),
            ],
        ),
        (
            "G1a of a list",
            Anomaly::Aborted,
            vec![],
            vec![failed(vec![w(X, 1)]), ok(vec![r(X, &[1])])],
        ),
        (
            "G1a of a register that has it no more",
            Anomaly::Aborted,
            vec![],
            vec![failed(vec![w(R, 1)]), ok(vec![reg(Some(1))])],
        ),
        (
            "a failed write among the versions of a register",
            Anomaly::Aborted,
            vec![1],
            vec![failed(vec![w(R, 1)])],
        ),
        (
            "a failed transaction reads another failed one",
            Anomaly::Aborted,
            vec![],
            vec![failed(vec![w(X, 1)]), failed(vec![r(X, &[1])])],
        ),
        (
            "G1b of a list",
            Anomaly::Intermediate,
            vec![],
            vec![
                ok(vec![w(X, 1), w(X, 2)]),
                ok(vec![r(X, &[1])]),
                ok(vec![r(X, &[1, 2])]),
            ],
        ),
        (
            "G1b of a register",
            Anomaly::Intermediate,
            vec![2],
            vec![ok(vec![w(R, 1), w(R, 2)]), ok(vec![reg(Some(1))])],
        ),
        (
            "an intermediate value becomes a version",
            Anomaly::Intermediate,
            vec![1, 2],
            vec![ok(vec![w(R, 1), w(R, 2)])],
        ),
        (
            "a value that nobody wrote",
            Anomaly::Unwritten,
            vec![],
            vec![ok(vec![r(X, &[7])])],
        ),
        (
            "an append that is done twice",
            Anomaly::Doubled,
            vec![],
            vec![ok(vec![w(X, 1)]), ok(vec![r(X, &[1, 1])])],
        ),
        (
            "a write of a register that is done twice",
            Anomaly::Doubled,
            vec![1, 1],
            vec![ok(vec![w(R, 1)])],
        ),
        (
            "an acknowledged append that is gone",
            Anomaly::Lost,
            vec![],
            vec![ok(vec![w(X, 1)]), ok(vec![r(X, &[])])],
        ),
        (
            "an acknowledged write of a register that is gone",
            Anomaly::Lost,
            vec![],
            vec![ok(vec![w(R, 1)])],
        ),
        (
            "half a transaction",
            Anomaly::Lost,
            vec![1],
            vec![ok(vec![w(R, 1), w(X, 2)]), ok(vec![r(X, &[])])],
        ),
        (
            "two orders of one list",
            Anomaly::Diverged,
            vec![],
            vec![
                ok(vec![w(X, 1)]),
                ok(vec![w(X, 2)]),
                ok(vec![r(X, &[1, 2])]),
                ok(vec![r(X, &[2])]),
            ],
        ),
        (
            "G0",
            Anomaly::WriteCycle,
            vec![],
            vec![
                ok(vec![w(X, 1), w(Y, 4)]),
                ok(vec![w(X, 2), w(Y, 3)]),
                ok(vec![r(X, &[1, 2]), r(Y, &[3, 4])]),
            ],
        ),
        (
            "G0 of one list, the writes of two transactions mixed",
            Anomaly::WriteCycle,
            vec![],
            vec![
                ok(vec![w(X, 1), w(X, 3)]),
                ok(vec![w(X, 2)]),
                ok(vec![r(X, &[1, 2, 3])]),
            ],
        ),
        (
            "G1c",
            Anomaly::CircularReads,
            vec![],
            vec![ok(vec![w(X, 1), r(Y, &[2])]), ok(vec![w(Y, 2), r(X, &[1])])],
        ),
        (
            "a lost update of a list",
            Anomaly::LostUpdate,
            vec![],
            vec![
                ok(vec![r(X, &[]), w(X, 1)]),
                ok(vec![r(X, &[]), w(X, 2)]),
                ok(vec![r(X, &[1, 2])]),
            ],
        ),
        (
            "a lost update of a register",
            Anomaly::LostUpdate,
            vec![1, 2, 3],
            vec![
                ok(vec![w(R, 1)]),
                ok(vec![reg(Some(1)), w(R, 2)]),
                ok(vec![reg(Some(1)), w(R, 3)]),
            ],
        ),
        (
            "a read that sees a half of another transaction",
            Anomaly::MissedWrite,
            vec![],
            vec![
                ok(vec![w(X, 1), w(Y, 2)]),
                ok(vec![r(X, &[1]), r(Y, &[])]),
                ok(vec![r(Y, &[2])]),
            ],
        ),
        (
            "the same of a transaction that failed",
            Anomaly::MissedWrite,
            vec![2],
            vec![
                ok(vec![w(X, 1), w(R, 2)]),
                failed(vec![r(X, &[1]), reg(None)]),
            ],
        ),
        (
            "G-single through a third transaction",
            Anomaly::MissedWrite,
            vec![],
            vec![
                ok(vec![w(X, 1)]),
                ok(vec![r(X, &[1]), w(Y, 2)]),
                ok(vec![r(Y, &[2]), r(X, &[])]),
            ],
        ),
        (
            "a long fork: two readers see two writes in two orders",
            Anomaly::MissedWrites,
            vec![],
            vec![
                ok(vec![w(X, 1)]),
                ok(vec![w(Y, 2)]),
                ok(vec![r(X, &[1]), r(Y, &[])]),
                ok(vec![r(X, &[]), r(Y, &[2])]),
            ],
        ),
        (
            "a stale read",
            Anomaly::Stale,
            vec![],
            vec![
                at(0, 10, vec![w(X, 1)]),
                at(20, 30, vec![r(X, &[])]),
                at(40, 50, vec![r(X, &[1])]),
            ],
        ),
        (
            "a read of less than another had read before",
            Anomaly::Stale,
            vec![],
            vec![
                at(0, 100, vec![w(X, 1)]),
                at(10, 20, vec![r(X, &[1])]),
                at(30, 40, vec![r(X, &[])]),
            ],
        ),
        (
            "a stale read of a register",
            Anomaly::Stale,
            vec![1, 2],
            vec![
                at(0, 10, vec![w(R, 1)]),
                at(11, 20, vec![w(R, 2)]),
                at(21, 30, vec![reg(Some(1))]),
            ],
        ),
        (
            "a write before one that was acknowledged before it began",
            Anomaly::AgainstTime,
            vec![],
            vec![
                at(0, 10, vec![w(X, 1)]),
                at(20, 30, vec![w(X, 2)]),
                at(40, 50, vec![r(X, &[2, 1])]),
            ],
        ),
        (
            "a read of what is written later",
            Anomaly::AgainstTime,
            vec![],
            vec![at(0, 10, vec![r(X, &[1])]), at(20, 30, vec![w(X, 1)])],
        ),
    ];
    for (name, anomaly, order, transactions) in cases {
        let (found, _) = found(&order, transactions);
        assert_eq!(found, [anomaly], "{name}");
    }
}

#[test]
fn what_snapshot_isolation_allows_is_no_anomaly() {
    let cases = [
        (
            "one after the other",
            vec![1, 2],
            vec![
                at(0, 10, vec![reg(None), w(R, 1), reg(Some(1))]),
                at(20, 30, vec![reg(Some(1)), w(R, 2), r(X, &[]), w(X, 3)]),
                at(40, 50, vec![reg(Some(2)), r(X, &[3]), r(X, &[3])]),
            ],
            0,
        ),
        (
            "write skew",
            vec![],
            vec![
                ok(vec![r(X, &[]), r(Y, &[]), w(X, 1)]),
                ok(vec![r(X, &[]), r(Y, &[]), w(Y, 2)]),
                ok(vec![r(X, &[1]), r(Y, &[2])]),
            ],
            1,
        ),
        (
            "a write that is acknowledged while others read",
            vec![],
            vec![
                at(0, 10, vec![w(X, 1)]),
                at(5, 30, vec![r(X, &[])]),
                at(40, 50, vec![r(X, &[1])]),
            ],
            0,
        ),
        (
            "what failed is not seen",
            vec![],
            vec![
                failed(vec![r(X, &[]), w(X, 1), r(X, &[1])]),
                ok(vec![r(X, &[])]),
            ],
            0,
        ),
        (
            "what is not known has happened, or not",
            vec![2],
            vec![
                unknown(vec![w(X, 1)]),
                unknown(vec![w(R, 2)]),
                unknown(vec![w(Y, 3)]),
                ok(vec![r(X, &[1]), r(Y, &[])]),
            ],
            0,
        ),
        (
            "several writes of one transaction",
            vec![2],
            vec![
                ok(vec![w(X, 3), w(R, 1), w(R, 2), w(X, 4), r(X, &[3, 4])]),
                ok(vec![reg(Some(2)), r(X, &[3, 4])]),
            ],
            0,
        ),
    ];
    for (name, order, transactions, skews) in cases {
        assert_eq!(found(&order, transactions), (vec![], skews), "{name}");
    }
}
