//! Validation of definitions; every error names its place (`workflow-engine.md` §4.5 and §4.6).

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

use super::{Error, State, Trigger, Workflow};
use crate::compat::Compat;
use crate::condition;
use crate::id::StateName;

/// The longest name, in bytes.
const NAME_MAX: usize = 256;

/// How many transitions one state may have: each automated one is evaluated, and recorded, whenever
/// an entity enters the state.
const TRANSITIONS_MAX: usize = 1_000;

/// A place in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    workflow: Box<str>,
    state: Option<Box<str>>,
    transition: Option<Box<str>>,
    processor: Option<Box<str>>,
}

impl Location {
    pub(super) fn workflow(name: &str) -> Self {
        Self {
            workflow: name.into(),
            state: None,
            transition: None,
            processor: None,
        }
    }

    pub(super) fn state(&self, name: &str) -> Self {
        Self {
            state: Some(name.into()),
            ..self.clone()
        }
    }

    pub(super) fn transition(&self, name: &str) -> Self {
        Self {
            transition: Some(name.into()),
            ..self.clone()
        }
    }

    pub(super) fn processor(&self, name: &str) -> Self {
        Self {
            processor: Some(name.into()),
            ..self.clone()
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow \"{}\"", self.workflow)?;
        for (kind, name) in [
            ("state", &self.state),
            ("transition", &self.transition),
            ("processor", &self.processor),
        ] {
            if let Some(name) = name {
                write!(f, ", {kind} \"{name}\"")?;
            }
        }
        Ok(())
    }
}

/// An error in a definition.
#[derive(Debug, Clone)]
pub struct Problem {
    place: Location,
    text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

pub(super) fn list(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// All errors and warnings of a definition.
#[derive(Debug)]
pub(super) struct Problems {
    pub(super) compat: Compat,
    /// Whether the definition was imported before, perhaps by an earlier version of the server.
    pub(super) is_stored: bool,
    errors: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

impl Problems {
    pub(super) const fn new(compat: Compat) -> Self {
        Self {
            compat,
            is_stored: false,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Those of a definition that was imported under any profile.
    pub(super) const fn of_stored() -> Self {
        let mut problems = Self::new(Compat::Cyoda08);
        problems.is_stored = true;
        problems
    }

    pub(super) fn add(&mut self, place: &Location, text: String) {
        self.errors.push(Problem {
            place: place.clone(),
            text,
        });
    }

    pub(super) fn warn(&mut self, place: &Location, text: &str) {
        self.warnings.push(format!("{place}: {text}"));
    }

    pub(super) fn name(&mut self, place: &Location, what: &str, name: &str) {
        if name.is_empty() {
            self.add(place, format!("{what} is empty; set it"));
        } else if name.len() > NAME_MAX {
            self.add(
                place,
                format!("{what} has {} bytes; shorten it to {NAME_MAX}", name.len()),
            );
        }
    }

    pub(super) fn state_name(&mut self, place: &Location, name: &str) {
        self.name(place, "the name of the state", name);
        let mut chars = name.chars();
        let starts_well = chars.next().is_none_or(char::is_alphabetic);
        if !starts_well || !chars.all(|char| char.is_alphanumeric() || matches!(char, '_' | '-')) {
            let rule =
                "the name of a state must be a letter followed by letters, digits, `_` and `-`";
            if self.compat.any_state_name() {
                self.warn(place, rule);
            } else {
                self.add(place, format!("{rule}; rename it"));
            }
        }
    }

    /// Returns false if there are too many.
    pub(super) fn transitions(&mut self, place: &Location, count: usize) -> bool {
        let few = count <= TRANSITIONS_MAX;
        if !few {
            self.add(
                place,
                format!(
                    "the state has {count} transitions; {TRANSITIONS_MAX} are allowed, so split it, for instance with intermediate states"
                ),
            );
        }
        few
    }

    pub(super) fn none_or_err(&mut self) -> Result<(), Error> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid(std::mem::take(&mut self.errors)))
        }
    }
}

impl Workflow {
    /// The warning of an import that makes the workflow active although it is not to be.
    pub fn activated(&self) -> String {
        let place = Location::workflow(self.name.as_str());
        format!(
            "{place}: `active: false` is ignored and the workflow is active; to make it inactive, import the other workflows with the mode ACTIVATE"
        )
    }

    /// The error of an import that contains two workflows of this name.
    pub fn doubled(&self) -> Problem {
        Problem {
            place: Location::workflow(self.name.as_str()),
            text: "the import has another workflow of that name; rename one, or remove one"
                .to_owned(),
        }
    }
}

/// How to fix a rejected criterion, if its error does not say so.
pub(super) const fn remedy(error: &condition::Error) -> &'static str {
    use condition::Error as E;
    match error {
        E::Pattern { .. } => "; use RE2 syntax, without look-around and back-references",
        E::TypeMismatch { .. } => "; write times as 2024-01-31T12:00:00Z",
        E::Operand(_) => "; use a string, a number or a boolean, or a list with IN",
        E::Changed { .. } => "; name the field by its path, as in `$.total`",
        E::Syntax(_)
        | E::Unknown { .. }
        | E::Operator { .. }
        | E::Function
        | E::UnknownPaths(_)
        | E::Path(_) => "",
    }
}

/// Whether unguarded cycles are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CyclePolicy {
    Refused,
    Allowed,
}

/// Rejects cycles of automated transitions without criteria, also in inactive workflows.
pub fn check_cycles<'a>(workflows: impl IntoIterator<Item = &'a Workflow>) -> Result<(), Error> {
    let problems: Vec<_> = workflows
        .into_iter()
        .filter_map(|workflow| {
            let path = unguarded_cycle(&workflow.states)?;
            let names: Vec<_> = path.iter().map(|state| state.as_str()).collect();
            Some(Problem {
                place: Location::workflow(workflow.name.as_str()),
                text: format!(
                    "infinite loop detected: {} via unguarded automated transitions; guard one of them, or import with `allowCycles`",
                    names.join(" -> ")
                ),
            })
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Error::Invalid(problems))
    }
}

/// The first cycle found when starting from the states in name order.
fn unguarded_cycle(states: &BTreeMap<StateName, State>) -> Option<Vec<&StateName>> {
    let mut met: HashSet<&StateName> = HashSet::new();
    for start in states.keys() {
        if !met.insert(start) {
            continue;
        }
        let mut on_path = HashSet::from([start]);
        let mut path = vec![(start, nexts(states, start))];
        while let Some((_, pending)) = path.last_mut() {
            let Some(next) = pending.pop() else {
                path.pop().map(|(state, _)| on_path.remove(state));
                continue;
            };
            if on_path.contains(next) {
                let on_cycle = path
                    .iter()
                    .map(|(state, _)| *state)
                    .skip_while(|state| *state != next);
                return Some(on_cycle.chain([next]).collect());
            }
            if met.insert(next) {
                on_path.insert(next);
                path.push((next, nexts(states, next)));
            }
        }
    }
    None
}

fn nexts<'a>(states: &'a BTreeMap<StateName, State>, state: &StateName) -> Vec<&'a StateName> {
    let transitions = states
        .get(state)
        .map_or(&[][..], |state| &state.transitions);
    transitions
        .iter()
        .rev()
        .filter(|transition| {
            matches!(
                transition.trigger,
                Trigger::Automated | Trigger::Scheduled(_)
            ) && transition.criterion.is_none()
        })
        .map(|transition| &transition.next)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of parsing and validating, if any.
    fn refusal(json: &str) -> Option<String> {
        let parsed = Workflow::parse(json).and_then(|parsed| check_cycles([&parsed.workflow]));
        if let Err(Error::Invalid(problems)) = &parsed {
            for Problem { text, .. } in problems {
                // The error of a condition says what is expected.
                let has_remedy = text.contains("; ") || text.contains("invalid condition");
                assert!(has_remedy, "how to remedy it: {text}");
            }
        }
        parsed.err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let long = "x".repeat(257);
        for (workflow, expected) in [
            (r#"{"name":"w","initialState":"A","states":{"A":{}}}"#.to_owned(), None),
            (r#"{"initialState":"A","states":{"A":{}}}"#.to_owned(), Some("workflow \"\": the name of the workflow is empty")),
            (r#"{"name":"w","states":{"A":{}}}"#.to_owned(), Some("`initialState` is ``, which is not among the states")),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[{"name":"t","next":"B","manual":true}]}}}"#.to_owned(),
                Some("workflow \"w\", state \"A\", transition \"t\": `next` is `B`, which is not among the states"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[{"name":"t","next":"A"}]}}}"#.to_owned(),
                Some("`manual` is missing"),
            ),
            (
                r#"{"name":"w","initialState":"1A","states":{"1A":{}}}"#.to_owned(),
                Some("the name of a state must be a letter"),
            ),
            (format!(r#"{{"name":"{long}","initialState":"A","states":{{"A":{{}}}}}}"#), Some("has 257 bytes")),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":true},{"name":"t","next":"A","manual":true}]}}}"#.to_owned(),
                Some("another transition of that name"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":true,"schedule":{"delayMs":5}}]}}}"#.to_owned(),
                Some("manual and scheduled are mutually exclusive"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":false,"schedule":{"delayMs":5,"function":{"name":"f"}}}]}}}"#.to_owned(),
                Some("exactly one of schedule.delayMs or schedule.function is required"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":false,"schedule":{"function":{"name":"f","resultKind":"Schedule"}}}]}}}"#.to_owned(),
                Some("has no `calculationNodesTags`"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":true,"processors":[{"name":"p","type":"scheduled","config":{"delayMs":-1}}]}]}}}"#.to_owned(),
                Some("`config.transition` is missing"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":true,"processors":[{"name":"p","type":"internalized","executionMode":"SYNC"}]}]}}}"#.to_owned(),
                Some("`type` is `internalized`"),
            ),
            (
                r#"{"name":"w","initialState":"A","states":{"A":{"transitions":[
                    {"name":"t","next":"A","manual":true,"criterion":{"type":"function","function":{"config":{}}}}]}}}"#.to_owned(),
                Some("transition \"t\": `criterion`: invalid condition"),
            ),
            (
                r#"{"name":"w","initialState":"A","criterion":{"type":"simple","jsonPath":"$.a","operatorType":"MATCHES_PATTERN","value":"("},
                    "states":{"A":{}}}"#.to_owned(),
                Some("does not compile"),
            ),
            (
                r#"{"name":"w","initialState":"A","criterion":{"type":"lifecycle","field":"creationDate","operatorType":"EQUALS","value":"soon"},
                    "states":{"A":{}}}"#.to_owned(),
                Some("`soon` is not a value of a date-time"),
            ),
            (r#"{"name":"w","initialState":"A","states":{"A":{}},"annotations":[]}"#.to_owned(), Some("`annotations` is not an object")),
            (r#"{"name":5}"#.to_owned(), Some("invalid workflow definition")),
            ("[".to_owned(), Some("invalid workflow definition")),
        ] {
            let refused = refusal(&workflow);
            match expected {
                None => assert_eq!(refused, None, "{workflow}"),
                Some(expected) => assert!(refused.as_deref().is_some_and(|text| text.contains(expected)), "{workflow}: {refused:?}"),
            }
        }
    }

    #[test]
    fn only_unguarded_cycles_are_infinite() {
        let workflow = |a: &str, b: &str| {
            format!(
                r#"{{"name":"W","initialState":"A","states":{{
                    "A":{{"transitions":[{{"name":"t","next":"B","manual":false{a}}}]}},
                    "B":{{"transitions":[{{"name":"u","next":"A","manual":false{b}}},{{"name":"v","next":"C","manual":false}}]}},
                    "C":{{}}}}}}"#
            )
        };
        let guard = r#","criterion":{"type":"simple","jsonPath":"$.x","operatorType":"NOT_NULL"}"#;
        let expected = refusal(&workflow("", "")).expect("a cycle");
        assert!(
            expected
                .starts_with(r#"workflow "W": infinite loop detected: A -> B -> A via unguarded"#),
            "{expected}"
        );
        for (a, b) in [(guard, ""), ("", guard), (r#","disabled":true"#, "")] {
            assert_eq!(refusal(&workflow(a, b)), None);
        }
        let itself = r#"{"name":"W","initialState":"A","states":{"A":{"transitions":[{"name":"t","next":"A","manual":false}]}}}"#;
        assert!(refusal(itself).expect("a cycle").contains("A -> A"));
    }

    #[test]
    fn oddities_are_warned_of() {
        let parsed = Workflow::parse(
            r#"{"name":"w","initialState":"A","colour":"red","states":{"A":{"transitions":[
                {"name":"t","next":"A","manual":true,"processors":[
                    {"name":"p","executionMode":"LATER","config":{"retryPolicy":"HOPEFUL","x":1}}]}]}}}"#,
        )
        .expect("valid");
        assert_eq!(parsed.warnings.len(), 4, "{:?}", parsed.warnings);
        assert!(parsed.warnings[0].contains("unknown member `colour`"));
    }
}
