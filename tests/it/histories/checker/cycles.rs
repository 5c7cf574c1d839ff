//! Cycles of a graph that snapshot isolation does not allow, and which anomaly each is.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt::Write as _,
};

use super::{
    Anomaly, Finding,
    graph::{Edge, Graph, Kind},
    history::History,
    versions::Number,
};

/// A node, and whether it was reached by an edge of a read that missed a write. Two such edges in
/// a row are not followed, so every cycle of states is a forbidden one.
type State = usize;

const fn state(node: Number, missed: bool) -> State {
    2 * node + missed as usize
}

/// The edges that are followed from there.
fn followed(graph: &Graph, at: State) -> impl Iterator<Item = &Edge> {
    let edges = graph.edges[at / 2].iter();
    edges.filter(move |edge| edge.kind != Kind::Missed || at.is_multiple_of(2))
}

/// One cycle of each set of transactions that are in cycles with one another.
pub(super) fn find(graph: &Graph, history: &History) -> Vec<Finding> {
    let next = |at: State| {
        let edges = followed(graph, at);
        edges.map(|edge| state(edge.to, edge.kind == Kind::Missed))
    };
    let sets = components(2 * graph.edges.len(), next);
    sets.iter()
        .map(|set| {
            let nodes: HashSet<Number> = set.iter().map(|state| state / 2).collect();
            let (anomaly, cycle) = classified(graph, &nodes);
            let text = described(graph, history, &cycle);
            Finding { anomaly, text }
        })
        .collect()
}

/// How many sets of transactions are in cycles, of whatever edges.
pub(super) fn skews(graph: &Graph) -> usize {
    let next = |at: Number| graph.edges[at].iter().map(|edge| edge.to);
    components(graph.edges.len(), next).len()
}

/// An edge, and where it begins.
type Step = (Number, Edge);

/// The simplest anomaly among nodes that are in cycles.
fn classified(graph: &Graph, nodes: &HashSet<Number>) -> (Anomaly, Vec<Step>) {
    use Kind::{Missed, Read, Time, Write};
    let within = |kinds: &[Kind]| cycle(graph, nodes, kinds);
    let missing = |kinds: &[Kind]| cycle_with_a_miss(graph, nodes, kinds);
    if let Some(cycle) = within(&[Write]) {
        return (Anomaly::WriteCycle, cycle);
    }
    if let Some(cycle) = within(&[Write, Read]) {
        return (Anomaly::CircularReads, cycle);
    }
    if let Some(cycle) = missing(&[Write]).filter(|cycle| is_lost_update(cycle)) {
        return (Anomaly::LostUpdate, cycle);
    }
    if let Some(cycle) = missing(&[Write, Read]) {
        return (Anomaly::MissedWrite, cycle);
    }
    if let Some(cycle) = within(&[Write, Read, Time]) {
        return (Anomaly::AgainstTime, cycle);
    }
    if let Some(cycle) = missing(&[Write, Read, Time]) {
        return (Anomaly::Stale, cycle);
    }
    let cycle = within(&[Write, Read, Missed, Time]).expect("nodes that are in a cycle");
    (Anomaly::MissedWrites, cycle)
}

/// Whether all edges are about one key.
fn is_lost_update(cycle: &[Step]) -> bool {
    cycle.iter().all(|(_, edge)| edge.key == cycle[0].1.key)
}

/// A shortest cycle through some node.
fn cycle(graph: &Graph, nodes: &HashSet<Number>, kinds: &[Kind]) -> Option<Vec<Step>> {
    let mut sorted: Vec<_> = nodes.iter().copied().collect();
    sorted.sort_unstable();
    let of = |node: &Number| path(graph, nodes, kinds, *node, *node);
    sorted.iter().find_map(of)
}

/// A shortest cycle with one edge of a read that missed a write, and others of these kinds.
fn cycle_with_a_miss(graph: &Graph, nodes: &HashSet<Number>, kinds: &[Kind]) -> Option<Vec<Step>> {
    let mut shortest: Option<Vec<Step>> = None;
    for node in nodes {
        let edges = graph.edges[*node].iter();
        let misses = edges.filter(|edge| edge.kind == Kind::Missed && nodes.contains(&edge.to));
        for miss in misses {
            let Some(back) = path(graph, nodes, kinds, miss.to, *node) else {
                continue;
            };
            let length = back.len() + 1;
            if shortest.as_ref().is_none_or(|known| length < known.len()) {
                let mut steps = vec![(*node, *miss)];
                steps.extend(back);
                shortest = Some(steps);
            }
        }
    }
    shortest
}

/// A shortest way from a node to another, or back to itself, that does not end with an edge of a
/// read that missed a write.
fn path(
    graph: &Graph,
    nodes: &HashSet<Number>,
    kinds: &[Kind],
    from: Number,
    to: Number,
) -> Option<Vec<Step>> {
    let (from, to) = (state(from, false), state(to, false));
    let mut came_by: HashMap<State, (State, Edge)> = HashMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(at) = waiting.pop_front() {
        for edge in followed(graph, at) {
            let next = state(edge.to, edge.kind == Kind::Missed);
            let is_known = came_by.contains_key(&next);
            if is_known || !kinds.contains(&edge.kind) || !nodes.contains(&edge.to) {
                continue;
            }
            came_by.insert(next, (at, *edge));
            if next == to {
                return Some(way_back(&came_by, from, to));
            }
            waiting.push_back(next);
        }
    }
    None
}

fn way_back(came_by: &HashMap<State, (State, Edge)>, from: State, to: State) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = to;
    loop {
        let (before, edge) = came_by[&at];
        steps.push((before / 2, edge));
        at = before;
        if at == from {
            steps.reverse();
            return steps;
        }
    }
}

fn described(graph: &Graph, history: &History, cycle: &[Step]) -> String {
    let mut text = String::new();
    for (from, edge) in cycle {
        if let Some(transaction) = history.transactions.get(*from) {
            let _ = write!(text, "\n  {from}: {transaction:?}");
        }
        if edge.to < graph.transactions || *from < graph.transactions {
            let key = edge.key.map(|key| format!(" of {key}")).unwrap_or_default();
            let _ = write!(text, "\n  {}{key}", edge.kind);
        }
    }
    text
}

/// The sets of two or more nodes that are reachable from one another (Tarjan).
fn components<I>(count: usize, next: impl Fn(usize) -> I) -> Vec<Vec<usize>>
where
    I: Iterator<Item = usize>,
{
    const UNSEEN: usize = usize::MAX;
    let mut found = Vec::new();
    let mut index = vec![UNSEEN; count];
    let mut low = vec![0; count];
    let mut open = vec![false; count];
    let mut stack = Vec::new();
    let mut counted = 0;
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut calls = vec![(root, next(root))];
        while let Some((node, successors)) = calls.last_mut() {
            let node = *node;
            if index[node] == UNSEEN {
                index[node] = counted;
                low[node] = counted;
                counted += 1;
                open[node] = true;
                stack.push(node);
            }
            if let Some(successor) = successors.next() {
                if index[successor] == UNSEEN {
                    calls.push((successor, next(successor)));
                } else if open[successor] {
                    low[node] = low[node].min(index[successor]);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == index[node] {
                let from = stack.iter().rposition(|one| *one == node);
                let set = stack.split_off(from.expect("it is open"));
                for one in &set {
                    open[*one] = false;
                }
                if set.len() > 1 {
                    found.push(set);
                }
            }
        }
    }
    found
}
