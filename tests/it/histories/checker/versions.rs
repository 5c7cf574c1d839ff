//! The order of the versions of each key, which version each transaction read, and what values
//! alone show to be wrong.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Anomaly, Finding,
    history::{History, Key, Op, Outcome, Transaction, Value},
};

/// The number of a transaction in its history.
pub(super) type Number = usize;

/// A transaction saw so many writes of a key, none of them its own.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) reader: Number,
    pub(super) key: Key,
    pub(super) version: usize,
}

#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Who wrote each version of each key, from the first on.
    pub(super) writers: BTreeMap<Key, Vec<Number>>,
    pub(super) reads: Vec<Read>,
}

/// What a transaction read first of a key, before it wrote to it.
#[derive(Debug)]
enum Seen<'a> {
    List(&'a [Value]),
    Register(Option<Value>),
}

struct Analysis<'a> {
    history: &'a History,
    writers: HashMap<(Key, Value), Number>,
    seen: Vec<(Number, Key, Seen<'a>)>,
    orders: BTreeMap<Key, Vec<Value>>,
    findings: Vec<Finding>,
}

/// Finds both.
pub(super) fn analyse(history: &History) -> (Versions, Vec<Finding>) {
    let mut analysis = Analysis {
        history,
        writers: writers(history),
        seen: Vec::new(),
        orders: history.registers.clone(),
        findings: Vec::new(),
    };
    for (number, transaction) in history.transactions.iter().enumerate() {
        analysis.read_of(number, transaction);
    }
    analysis.order_lists();
    analysis.check_orders();
    analysis.check_lost();
    let reads = analysis.place_reads();
    let number_of = |key: Key, value: &Value| analysis.writers.get(&(key, *value)).copied();
    let known = |(key, order): (&Key, &Vec<Value>)| {
        let writers = order.iter().filter_map(|value| number_of(*key, value));
        (*key, writers.collect())
    };
    let writers = analysis.orders.iter().map(known).collect();
    (Versions { writers, reads }, analysis.findings)
}

fn writers(history: &History) -> HashMap<(Key, Value), Number> {
    let mut writers = HashMap::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for (key, value) in writes(transaction) {
            let earlier = writers.insert((key, value), number);
            assert_eq!(earlier, None, "{value} is written to {key} once");
        }
    }
    writers
}

fn writes(transaction: &Transaction) -> impl DoubleEndedIterator<Item = (Key, Value)> {
    transaction.ops.iter().filter_map(|op| match op {
        Op::Write(key, value) => Some((*key, *value)),
        Op::List(..) | Op::Register(..) => None,
    })
}

impl<'a> Analysis<'a> {
    fn find(&mut self, anomaly: Anomaly, text: String) {
        self.findings.push(Finding { anomaly, text });
    }

    /// Collects what a transaction read of others, and checks that it agrees with itself.
    fn read_of(&mut self, number: Number, transaction: &'a Transaction) {
        let mut own: HashMap<Key, Vec<Value>> = HashMap::new();
        let mut first: HashMap<Key, Seen<'a>> = HashMap::new();
        for op in &transaction.ops {
            let (key, seen) = match op {
                Op::Write(key, value) => {
                    own.entry(*key).or_default().push(*value);
                    continue;
                }
                Op::List(key, elements) => {
                    let own = own.get(key).map_or(&[][..], Vec::as_slice);
                    let Some(others) = elements.strip_suffix(own) else {
                        let text = format!("{transaction:?} does not see its own writes of {key}");
                        self.find(Anomaly::Internal, text);
                        continue;
                    };
                    (*key, Seen::List(others))
                }
                Op::Register(key, value) => {
                    if let Some(last) = own.get(key).and_then(|own| own.last()) {
                        if *value != Some(*last) {
                            let text =
                                format!("{transaction:?} does not see its own write of {key}");
                            self.find(Anomaly::Internal, text);
                        }
                        continue;
                    }
                    (*key, Seen::Register(*value))
                }
            };
            let same = match (first.get(&key), &seen) {
                (None, _) => true,
                (Some(Seen::List(one)), Seen::List(other)) => one == other,
                (Some(Seen::Register(one)), Seen::Register(other)) => one == other,
                (Some(_), _) => false,
            };
            if same {
                first.insert(key, seen);
            } else {
                let text = format!("{transaction:?} reads two versions of {key}");
                self.find(Anomaly::Internal, text);
            }
        }
        let seen = first.into_iter().map(|(key, seen)| (number, key, seen));
        self.seen.extend(seen);
    }

    /// The order of a list is the longest that anybody read; every other is a beginning of it.
    fn order_lists(&mut self) {
        let mut longest: BTreeMap<Key, &'a [Value]> = BTreeMap::new();
        for (_, key, seen) in &self.seen {
            if let Seen::List(elements) = seen {
                let known = longest.entry(*key).or_default();
                if elements.len() > known.len() {
                    *known = elements;
                }
            }
        }
        let longest = longest.into_iter();
        let orders = longest.map(|(key, elements)| (key, elements.to_vec()));
        self.orders.extend(orders);
    }

    fn is_register(&self, key: Key) -> bool {
        self.history.registers.contains_key(&key)
    }

    /// Whether the writer of a value writes to the key again after it.
    fn is_intermediate(&self, key: Key, value: Value) -> bool {
        let Some(number) = self.writers.get(&(key, value)) else {
            return false;
        };
        let mut own = writes(&self.history.transactions[*number]);
        own.rfind(|(other, _)| *other == key)
            .is_some_and(|(_, last)| last != value)
    }

    /// What is wrong with a value that others saw; nothing, if it may be there.
    fn fault_of(&self, key: Key, value: Value) -> Option<Anomaly> {
        let Some(number) = self.writers.get(&(key, value)) else {
            return Some(Anomaly::Unwritten);
        };
        if self.history.transactions[*number].outcome == Outcome::Failed {
            return Some(Anomaly::Aborted);
        }
        (self.is_register(key) && self.is_intermediate(key, value)).then_some(Anomaly::Intermediate)
    }

    fn check_orders(&mut self) {
        let mut found = Vec::new();
        for (key, order) in &self.orders {
            let mut known = HashSet::new();
            for value in order {
                if !known.insert(value) {
                    found.push((Anomaly::Doubled, *key, *value));
                }
                let fault = self.fault_of(*key, *value);
                found.extend(fault.map(|fault| (fault, *key, *value)));
            }
        }
        for (anomaly, key, value) in found {
            let text = format!("{value} is among the versions of {key}");
            self.find(anomaly, text);
        }
    }

    /// What was acknowledged must be there. Of a register, that is the last value of each
    /// transaction.
    fn check_lost(&mut self) {
        let known: HashSet<(Key, Value)> = self
            .orders
            .iter()
            .flat_map(|(key, order)| order.iter().map(|value| (*key, *value)))
            .collect();
        let mut lost = Vec::new();
        for transaction in &self.history.transactions {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            for (key, value) in writes(transaction) {
                let replaced = self.is_register(key) && self.is_intermediate(key, value);
                if !replaced && !known.contains(&(key, value)) {
                    lost.push(format!("{value} of {key}, of {transaction:?}"));
                }
            }
        }
        for text in lost {
            self.find(Anomaly::Lost, text);
        }
    }

    /// Which version each read saw.
    fn place_reads(&mut self) -> Vec<Read> {
        let mut reads = Vec::new();
        let mut found = Vec::new();
        for (reader, key, seen) in &self.seen {
            let order = self.orders.get(key).map_or(&[][..], Vec::as_slice);
            let version = match seen {
                Seen::List(elements) if order.starts_with(elements) => elements.len(),
                Seen::List(elements) => {
                    let text = format!("{key} was read as {elements:?}, and as {order:?}");
                    found.push((Anomaly::Diverged, text));
                    continue;
                }
                Seen::Register(None) => 0,
                Seen::Register(Some(value)) => {
                    let Some(place) = order.iter().position(|other| other == value) else {
                        let anomaly = self.fault_of(*key, *value).unwrap_or(Anomaly::Lost);
                        found.push((anomaly, format!("{value} was read from {key}")));
                        continue;
                    };
                    place + 1
                }
            };
            let writer = |place: usize| {
                let value = order.get(place)?;
                self.writers.get(&(*key, *value))
            };
            if version > 0 && writer(version) == writer(version - 1) && writer(version).is_some() {
                let text = format!("{key} was read at version {version}: {seen:?}");
                found.push((Anomaly::Intermediate, text));
                continue;
            }
            reads.push(Read {
                reader: *reader,
                key: *key,
                version,
            });
        }
        for (anomaly, text) in found {
            self.find(anomaly, text);
        }
        reads
    }
}
