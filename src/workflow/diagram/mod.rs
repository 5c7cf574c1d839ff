//! Diagrams of workflows, in the languages of Mermaid and Graphviz.
//!
//! Both draw the same [`Frame`]s: what is shown of a workflow, and in which words, is decided once;
//! a language only decides the syntax. Names are arbitrary text, so all text is escaped for its
//! language, and states get identifiers that need no escaping.

mod dot;
mod mermaid;

use std::collections::{BTreeMap, HashSet};

use humantime::format_duration;

use super::{
    Entry, Mode, OnRuns, Processor, Schedule, State, Task, Timing, Transition, Trigger, Workflow,
};
use crate::dispatch::CallSettings;
use crate::id::StateName;

/// How much of a guard is shown, in characters.
const GUARD_MAX: usize = 120;

/// The language of a diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A `stateDiagram-v2`.
    Mermaid,
    /// A directed graph of Graphviz.
    Dot,
}

/// Draws the workflows of a model, in the order in which they are tried.
pub fn draw(entries: &[Entry], language: Language) -> String {
    let several = entries.len() > 1;
    let frames: Vec<_> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| Frame::new(entry, at + 1, several))
        .collect();
    match language {
        Language::Mermaid => mermaid::write(&frames),
        Language::Dot => dot::write(&frames),
    }
}

/// One workflow, as it is drawn.
struct Frame<'a> {
    id: String,
    title: String,
    /// The identifier of the initial state.
    initial: String,
    states: Vec<Node<'a>>,
    arrows: Vec<Arrow>,
}

struct Node<'a> {
    id: String,
    name: &'a str,
    is_terminal: bool,
}

struct Arrow {
    from: String,
    to: String,
    kind: Kind,
    /// Its name, guard and processors.
    lines: Vec<String>,
}

/// What the drawing distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Automated,
    Manual,
    Scheduled,
    Disabled,
}

impl<'a> Frame<'a> {
    fn new(entry: &'a Entry, number: usize, several: bool) -> Self {
        let workflow: &'a Workflow = &entry.workflow;
        let ids = Ids::new(workflow, several.then_some(number));
        let states = in_order(workflow);
        let arrows = states.iter().flat_map(|(name, state)| {
            let triggers = triggers(state);
            let arrows = state.transitions.iter().zip(triggers);
            arrows.map(|(transition, trigger)| Arrow {
                from: ids.of(name),
                to: ids.of(&transition.next),
                kind: Kind::of(transition),
                lines: lines(transition, &trigger),
            })
        });
        Self {
            id: format!("w{number}"),
            title: title(entry),
            initial: ids.of(&workflow.initial),
            arrows: arrows.collect(),
            states: states
                .iter()
                .map(|(name, state)| Node {
                    id: ids.of(name),
                    name: name.as_str(),
                    is_terminal: state.is_terminal(),
                })
                .collect(),
        }
    }
}

impl State {
    /// Whether no transition leads out of this state.
    pub fn is_terminal(&self) -> bool {
        let mut transitions = self.transitions.iter();
        transitions.all(|transition| Kind::of(transition) == Kind::Disabled)
    }
}

impl Kind {
    const fn of(transition: &Transition) -> Self {
        match transition.trigger {
            Trigger::Automated => Self::Automated,
            Trigger::Manual => Self::Manual,
            Trigger::Scheduled(_) => Self::Scheduled,
            Trigger::Disabled => Self::Disabled,
        }
    }
}

/// The states in the order in which they are reached from the initial one, then those that are not
/// reachable.
fn in_order(workflow: &Workflow) -> Vec<(&StateName, &State)> {
    let mut met = HashSet::from([&workflow.initial]);
    let mut order = vec![&workflow.initial];
    let mut at = 0;
    while let Some(name) = order.get(at) {
        let state = workflow.states.get(*name);
        let nexts = state.iter().flat_map(|state| &state.transitions);
        order.extend(
            nexts
                .map(|transition| &transition.next)
                .filter(|next| met.insert(next)),
        );
        at += 1;
    }
    let others = workflow.states.keys().filter(|name| !met.contains(name));
    order
        .iter()
        .copied()
        .chain(others)
        .filter_map(|name| workflow.states.get_key_value(name))
        .collect()
}

fn title(entry: &Entry) -> String {
    let mut title = entry.workflow.name.to_string();
    if !entry.active {
        title.push_str(" (inactive)");
    }
    if let Some(criterion) = &entry.workflow.criterion {
        title = format!("{title} if {}", criterion.in_words(GUARD_MAX));
    }
    title
}

fn lines(transition: &Transition, trigger: &str) -> Vec<String> {
    let mut lines = vec![format!("{} ({trigger})", transition.name)];
    if let Some(criterion) = &transition.criterion {
        lines.push(format!("if {}", criterion.in_words(GUARD_MAX)));
    }
    lines.extend(transition.processors.iter().map(processor));
    lines
}

/// What makes each transition of a state fire. If a cascade tries several, they are numbered in
/// that order.
fn triggers(state: &State) -> Vec<String> {
    let automated = || {
        state
            .transitions
            .iter()
            .filter(|transition| transition.is_automated())
    };
    let are_several = automated().count() > 1;
    let mut number = 0;
    let trigger = |transition: &Transition| match &transition.trigger {
        Trigger::Automated if are_several => {
            number += 1;
            format!("automated {number}")
        }
        Trigger::Automated => "automated".to_owned(),
        Trigger::Manual => "manual".to_owned(),
        Trigger::Scheduled(schedule) => schedule_in_words(schedule),
        Trigger::Disabled => "disabled".to_owned(),
    };
    state.transitions.iter().map(trigger).collect()
}

fn schedule_in_words(schedule: &Schedule) -> String {
    let when = match &schedule.timing {
        Timing::After(delay) => format!("scheduled after {}", format_duration(*delay)),
        Timing::Asked { function, call } => {
            format!("scheduled by function {function}{}", tags(call))
        }
    };
    match schedule.timeout {
        Some(timeout) => format!("{when}, at most {} late", format_duration(timeout)),
        None => when,
    }
}

fn processor(processor: &Processor) -> String {
    let how = match &processor.task {
        Task::Call { mode, call } => {
            let detail = match mode {
                Mode::CommitBeforeDispatch { joins: true } => " in a new transaction".to_owned(),
                Mode::Crossover { after } => {
                    format!(", asynchronous after {}", format_duration(*after))
                }
                Mode::Sync
                | Mode::AsyncSameTx
                | Mode::AsyncNewTx
                | Mode::CommitBeforeDispatch { joins: false } => String::new(),
            };
            format!("{}{detail}{}", mode.as_str(), tags(call))
        }
        Task::Internalized => "internalized, which fails".to_owned(),
        Task::Timer {
            transition, delay, ..
        } => format!(
            "scheduled, takes {transition} after {}",
            format_duration(*delay)
        ),
        Task::OnRuns(on_runs) => match &**on_runs {
            OnRuns::Start(start) => format!("starts a run of {}", start.definition),
            OnRuns::Signal(signals) => format!("signals {} to its runs", signals.signal),
        },
    };
    format!("run {} ({how})", processor.name)
}

fn tags(call: &CallSettings) -> String {
    match call.tags.to_string() {
        none if none.is_empty() => none,
        tags => format!(", tags {tags}"),
    }
}

/// The identifiers of the states of one workflow: their names if every language accepts them
/// unchanged, otherwise numbers.
struct Ids<'a>(BTreeMap<&'a StateName, String>);

impl<'a> Ids<'a> {
    /// If there are several workflows, the identifiers end with the number of theirs.
    fn new(workflow: &'a Workflow, number: Option<usize>) -> Self {
        let suffix = number.map_or_else(String::new, |number| format!("_{number}"));
        let ids = workflow.states.keys().enumerate().map(|(at, name)| {
            let id = if is_plain(name.as_str()) {
                format!("{name}{suffix}")
            } else {
                format!("s{}{suffix}", at + 1)
            };
            (name, id)
        });
        Self(ids.collect())
    }

    fn of(&self, name: &StateName) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// Words that Mermaid or Graphviz reserve, in lower case.
const RESERVED: &[&str] = &[
    "accdescr",
    "acctitle",
    "as",
    "choice",
    "class",
    "classdef",
    "click",
    "constructor",
    "default",
    "digraph",
    "direction",
    "edge",
    "end",
    "fork",
    "graph",
    "hasownproperty",
    "hide",
    "history",
    "href",
    "join",
    "node",
    "note",
    "scale",
    "state",
    "statediagram",
    "strict",
    "style",
    "subgraph",
    "title",
    "tostring",
    "valueof",
];

/// Whether a name can be an identifier. Names that begin like ours or Mermaid's own cannot.
fn is_plain(name: &str) -> bool {
    let numbered = |first: char| {
        name.strip_prefix(first)
            .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
    };
    name.starts_with(|char: char| char.is_ascii_alphabetic())
        && name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !numbered('s')
        && !numbered('w')
        && !name.starts_with("root")
        && !RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// Replaces characters that are invisible or change the writing direction by visible ones.
const fn visible(char: char) -> char {
    match char {
        '\u{0}'..='\u{1f}' => match char::from_u32(char as u32 + 0x2400) {
            Some(picture) => picture,
            None => char::REPLACEMENT_CHARACTER,
        },
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const ORDER: &str = r#"{"name":"order","initialState":"NEW",
        "criterion":{"type":"simple","jsonPath":"$.country","operatorType":"EQUALS","value":"GB"},
        "states":{
            "NEW":{"transitions":[
                {"name":"hold","next":"IN-REVIEW","manual":false,
                 "criterion":{"type":"simple","jsonPath":"$.total","operatorType":"GREATER_THAN","value":100}},
                {"name":"accept","next":"DONE","manual":false,"processors":[
                    {"name":"add-tax","executionMode":"SYNC","config":{"calculationNodesTags":"billing,eu"}},
                    {"name":"log","executionMode":"ASYNC_NEW_TX"},
                    {"name":"pay","executionMode":"COMMIT_BEFORE_DISPATCH","startNewTxOnDispatch":true},
                    {"name":"wait","executionMode":"SYNC","config":{"asyncResult":true,"crossoverToAsyncMs":2000}},
                    {"name":"remind","type":"scheduled","config":{"delayMs":1500,"transition":"reopen"}}]}]},
            "IN-REVIEW":{"transitions":[{"name":"approve: \"yes\"","next":"DONE","manual":true},
                {"name":"expire","next":"DONE","manual":false,"schedule":{"delayMs":259200000,"timeoutMs":60000}},
                {"name":"ask","next":"DONE","manual":false,"schedule":{"function":{"name":"due","resultKind":"Schedule","calculationNodesTags":"clock"}}}]},
            "DONE":{"transitions":[{"name":"reopen","next":"NEW","manual":true,"disabled":true}]}}}"#;

    const NOTE: &str = r#"{"name":"note","initialState":"NEW","states":{"NEW":{"transitions":[
        {"name":"edit","next":"NEW","manual":true},{"name":"file","next":"end","manual":false,
         "criterion":{"type":"lifecycle","field":"state","operatorType":"NOT_NULL"}}]},"end":{}}}"#;

    fn drawn(workflows: &[(&str, bool)], language: Language) -> String {
        let entries: Vec<_> = workflows
            .iter()
            .map(|(json, active)| Entry {
                workflow: Arc::new(Workflow::parse(json).expect("valid").workflow),
                active: *active,
            })
            .collect();
        draw(&entries, language)
    }

    const ORDER_IN_MERMAID: &str = r#"
stateDiagram-v2
    state "order if $.country = #quot;GB#quot;" as w1 {
        state "IN-REVIEW" as s2
        [*] --> NEW
        NEW --> s2 : hold (automated 1)<br/>if $.total > 100
        NEW --> DONE : accept (automated 2)<br/>run add-tax (SYNC, tags billing,eu)<br/>run log (ASYNC_NEW_TX)<br/>run pay (COMMIT_BEFORE_DISPATCH in a new transaction)<br/>run wait (SYNC, asynchronous after 2s)<br/>run remind (scheduled, takes reopen after 1s 500ms)
        s2 --> DONE : approve#58; #quot;yes#quot; (manual)
        s2 --> DONE : expire (scheduled after 3days, at most 1m late)
        s2 --> DONE : ask (scheduled by function due, tags clock)
        DONE --> NEW : reopen (disabled)
        DONE --> [*]
    }
"#;

    const NOTES_IN_MERMAID: &str = r#"
stateDiagram-v2
    state "note" as w1 {
        state "NEW" as NEW_1
        state "end" as s2_1
        [*] --> NEW_1
        NEW_1 --> NEW_1 : edit (manual)
        NEW_1 --> s2_1 : file (automated)<br/>if state is not null
        s2_1 --> [*]
    }
    state "note (inactive)" as w2 {
        state "NEW" as NEW_2
        state "end" as s2_2
        [*] --> NEW_2
        NEW_2 --> NEW_2 : edit (manual)
        NEW_2 --> s2_2 : file (automated)<br/>if state is not null
        s2_2 --> [*]
    }
"#;

    const ORDER_IN_DOT: &str = r#"
digraph workflows {
    graph [fontname="Helvetica", compound=true];
    node [fontname="Helvetica", shape=box, style=rounded];
    edge [fontname="Helvetica", fontsize=10];
    subgraph "cluster_w1" {
        label="order (inactive) if $.country = \"GB\"";
        "w1" [shape=point, width=0.15, label=""];
        "NEW" [label="NEW"];
        "s2" [label="IN-REVIEW"];
        "DONE" [label="DONE", peripheries=2];
        "w1" -> "NEW";
        "NEW" -> "s2" [label="hold (automated 1)\nif $.total > 100"];
        "NEW" -> "DONE" [label="accept (automated 2)\nrun add-tax (SYNC, tags billing,eu)\nrun log (ASYNC_NEW_TX)\nrun pay (COMMIT_BEFORE_DISPATCH in a new transaction)\nrun wait (SYNC, asynchronous after 2s)\nrun remind (scheduled, takes reopen after 1s 500ms)"];
        "s2" -> "DONE" [label="approve: \"yes\" (manual)", style=dashed];
        "s2" -> "DONE" [label="expire (scheduled after 3days, at most 1m late)", color=blue, fontcolor=blue];
        "s2" -> "DONE" [label="ask (scheduled by function due, tags clock)", color=blue, fontcolor=blue];
        "DONE" -> "NEW" [label="reopen (disabled)", style=dotted, color=gray, fontcolor=gray];
    }
}
"#;

    #[test]
    fn a_picture_shows_everything_that_decides_where_an_entity_goes() {
        for (workflows, language, text) in [
            (&[(ORDER, true)][..], Language::Mermaid, ORDER_IN_MERMAID),
            (
                &[(NOTE, true), (NOTE, false)],
                Language::Mermaid,
                NOTES_IN_MERMAID,
            ),
            (&[(ORDER, false)], Language::Dot, ORDER_IN_DOT),
        ] {
            assert_eq!(drawn(workflows, language), text.trim_start());
        }
    }

    #[test]
    fn only_names_that_every_language_takes_are_identifiers() {
        for (name, plain) in [
            ("NEW", true),
            ("in_review2", true),
            ("IN-REVIEW", false),
            ("PRÜFUNG", false),
            ("_x", false),
            ("End", false),
            ("s1", false),
            ("w2_x", false),
            ("sent", true),
            ("root_start", false),
        ] {
            assert_eq!(is_plain(name), plain, "{name}");
        }
    }
}
