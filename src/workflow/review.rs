//! Likely mistakes in a workflow: not errors, but reported as warnings.
//!
//! A transition *can be taken* if it is not disabled and its criterion can hold. A state without
//! transitions is intended as final; a state that has transitions, none of which can be taken,
//! hardly is. A transition from a state to itself counts as one: states in which an entity is
//! edited forever are common.

use std::collections::HashSet;

use super::{Entry, Location, Mode, State, Task, Transition, Workflow, WorkflowSet};
use crate::condition::{Condition, Finding};
use crate::entity::Path;
use crate::id::{StateName, WorkflowName};
use crate::model::{Model, Schema};

impl Workflow {
    /// The warnings, each with its place and a remedy. Those that depend on the model are reported
    /// if it is known.
    pub fn review(&self, schema: Option<&Schema>) -> Vec<String> {
        let unknown = Schema::default();
        let mut review = Review {
            workflow: self,
            schema: schema.unwrap_or(&unknown),
            never: HashSet::new(),
            warnings: Vec::new(),
        };
        review.criteria();
        review.states();
        review.warnings
    }

    /// Warnings about fields in criteria that the documents of the model cannot have; `most` of them
    /// at most.
    pub fn review_fields(&self, model: &Model, most: usize) -> Vec<String> {
        if !model.has_all_fields() {
            return Vec::new();
        }
        let schema = &model.schema;
        let unknown = self.criteria().flat_map(|(place, criterion)| {
            let unknown = criterion.unknown_paths(schema).into_iter();
            unknown.map(move |path| (place.clone(), path))
        });
        let warning = |(place, path): (Location, Path)| {
            let meant = schema.nearest(&path);
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            format!(
                "{place}: in the criterion, {path} is a field that the model does not have, so it counts as missing{meant}"
            )
        };
        unknown.take(most).map(warning).collect()
    }

    /// The criteria and what each of them guards.
    pub(super) fn criteria(&self) -> impl Iterator<Item = (Location, &Condition)> {
        let place = Location::workflow(self.name.as_str());
        let own = self.criterion.iter().map({
            let place = place.clone();
            move |criterion| (place.clone(), criterion)
        });
        let of_transitions = self.states.iter().flat_map(move |(name, state)| {
            let place = place.state(name.as_str());
            state.transitions.iter().filter_map(move |transition| {
                let place = place.transition(transition.name.as_str());
                Some((place, transition.criterion.as_ref()?))
            })
        });
        own.chain(of_transitions)
    }
}

impl WorkflowSet {
    /// Warnings about named workflows that no new entity gets, because a preceding one matches
    /// every entity.
    pub fn review_choice<'a>(
        &self,
        names: impl IntoIterator<Item = &'a WorkflowName>,
    ) -> Vec<String> {
        let names: HashSet<_> = names.into_iter().collect();
        let is_for_all = |entry: &&Entry| {
            let criterion = entry.workflow.criterion.as_ref();
            criterion.is_none_or(Condition::is_always)
        };
        let active = || self.entries.iter().filter(|entry| entry.active);
        let Some(first) = active().find(is_for_all) else {
            return Vec::new();
        };
        let first = &first.workflow.name;
        let behind = active().skip_while(|entry| entry.workflow.name != *first);
        behind
            .skip(1)
            .filter(|entry| names.contains(&entry.workflow.name))
            .map(|entry| {
                let place = Location::workflow(entry.workflow.name.as_str());
                format!(
                    "{place}: no new entity gets it, because \"{first}\" precedes it and matches every entity; give \"{first}\" a criterion, or import with the mode ACTIVATE or REPLACE"
                )
            })
            .collect()
    }
}

struct Review<'a> {
    workflow: &'a Workflow,
    schema: &'a Schema,
    /// The transitions whose criterion never holds, by state and position.
    never: HashSet<(&'a StateName, usize)>,
    warnings: Vec<String>,
}

impl<'a> Review<'a> {
    fn warn(&mut self, place: &Location, text: &str) {
        self.warnings.push(format!("{place}: {text}"));
    }

    fn place(&self) -> Location {
        Location::workflow(self.workflow.name.as_str())
    }

    fn criteria(&mut self) {
        let workflow = self.workflow;
        let chosen = workflow.criterion.as_ref();
        self.criterion(&self.place(), chosen, "no entity gets this workflow");
        for (name, state) in &workflow.states {
            let place = self.place().state(name.as_str());
            for (at, transition) in state.transitions.iter().enumerate() {
                let place = place.transition(transition.name.as_str());
                let criterion = transition.criterion.as_ref();
                if self.criterion(&place, criterion, "the transition is never taken") {
                    self.never.insert((name, at));
                }
            }
        }
    }

    /// Whether the criterion never holds.
    fn criterion(
        &mut self,
        place: &Location,
        criterion: Option<&Condition>,
        consequence: &str,
    ) -> bool {
        let mut is_never = false;
        for finding in criterion.map_or_else(Vec::new, |it| it.findings(self.schema)) {
            let text = match finding {
                Finding::Never(reason) => {
                    is_never = true;
                    format!("the criterion can never hold, so {consequence}: {reason}")
                }
                Finding::PartNever(part) => {
                    format!("a part of the criterion can never hold: {part}")
                }
                Finding::Stray(part) => format!("in the criterion, {part}"),
            };
            self.warn(place, &text);
        }
        is_never
    }

    fn states(&mut self) {
        let workflow = self.workflow;
        let reached = self.reached();
        for (name, state) in &workflow.states {
            let place = self.place().state(name.as_str());
            if !reached.contains(name) {
                let initial = &workflow.initial;
                let text = format!(
                    "no transition that can be taken leads here from the initial state \"{initial}\"; add one, or remove the state"
                );
                self.warn(&place, &text);
            }
            let is_dead = (0..state.transitions.len()).all(|at| !self.can_be_taken(name, at));
            if is_dead && !state.transitions.is_empty() {
                self.warn(
                    &place,
                    "none of its transitions can be taken, so entities remain in this state forever; fix or enable one, or remove them if the state is final",
                );
            }
            self.shadows(&place, name, state);
            self.timers(&place, state);
        }
    }

    fn can_be_taken(&self, state: &'a StateName, at: usize) -> bool {
        let transitions = self.workflow.state(state).map(|state| &state.transitions);
        let transition = transitions.and_then(|transitions| transitions.get(at));
        transition.is_some_and(|transition| !transition.is_disabled())
            && !self.never.contains(&(state, at))
    }

    /// The states that an entity can reach.
    fn reached(&self) -> HashSet<&'a StateName> {
        let mut reached = HashSet::from([&self.workflow.initial]);
        let mut pending = vec![&self.workflow.initial];
        while let Some(name) = pending.pop() {
            let Some((name, state)) = self.workflow.states.get_key_value(name) else {
                continue;
            };
            for (at, transition) in state.transitions.iter().enumerate() {
                if self.can_be_taken(name, at) && reached.insert(&transition.next) {
                    pending.push(&transition.next);
                }
            }
        }
        reached
    }

    /// Transitions that rarely fire because an automated transition without a criterion does.
    fn shadows(&mut self, place: &Location, name: &'a StateName, state: &State) {
        let is_always = |transition: &Transition| {
            let criterion = transition.criterion.as_ref();
            transition.is_automated() && criterion.is_none_or(Condition::is_always)
        };
        let Some(first) = state.transitions.iter().position(is_always) else {
            return;
        };
        let winner = &state.transitions[first];
        for (at, transition) in state.transitions.iter().enumerate() {
            let is_shadowed = if transition.is_automated() {
                at > first
            } else {
                !commits_here(winner)
            };
            if at == first || !is_shadowed || !self.can_be_taken(name, at) {
                continue;
            }
            let winner = &winner.name;
            let text = if transition.is_automated() {
                format!(
                    "it never fires by itself, because \"{winner}\" precedes it and has no criterion; give \"{winner}\" one, or put it last"
                )
            } else {
                format!(
                    "it is rarely taken, because entities do not stay in this state: the automated transition \"{winner}\" has no criterion; give \"{winner}\" one, or make it manual"
                )
            };
            self.warn(&place.transition(transition.name.as_str()), &text);
        }
    }

    /// `workflow-engine.md` §9.6: a timer should take a transition of the state in which it is
    /// armed.
    fn timers(&mut self, place: &Location, state: &State) {
        for transition in &state.transitions {
            let target = self.workflow.state(&transition.next);
            for processor in &transition.processors {
                let Task::Timer {
                    transition: timed, ..
                } = &processor.task
                else {
                    continue;
                };
                if target.is_some_and(|target| target.transition(timed).is_none()) {
                    let place = place
                        .transition(transition.name.as_str())
                        .processor(processor.name.as_str());
                    let text = format!(
                        "`config.transition` is `{timed}`, which the state \"{}\" does not have; name one of its transitions",
                        transition.next
                    );
                    self.warn(&place, &text);
                }
            }
        }
    }
}

/// Whether entities are committed in the source state while the transition runs.
fn commits_here(transition: &Transition) -> bool {
    transition.processors.iter().any(|processor| {
        matches!(
            processor.task,
            Task::Call {
                mode: Mode::CommitBeforeDispatch { .. } | Mode::Crossover { .. },
                ..
            }
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::entity::Document;
    use crate::workflow::ImportMode;

    const NOTHING: [&str; 0] = [];

    fn parsed(json: &str) -> Workflow {
        let parsed = Workflow::parse(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(parsed.warnings, NOTHING, "{json}");
        parsed.workflow
    }

    fn schema() -> Schema {
        Schema::infer(&Document::parse(r#"{"n":1,"s":"a"}"#).expect("JSON"))
    }

    /// The warnings about a workflow `w` with these states; `A` is the first.
    fn warnings(states: &[String]) -> Vec<String> {
        let states = states.join(",");
        let json = format!(r#"{{"name":"w","initialState":"A","states":{{{states}}}}}"#);
        parsed(&json).review(Some(&schema()))
    }

    /// A transition to `next`, with further members.
    fn transition(name: &str, next: &str, manual: bool, more: &str) -> String {
        format!(r#"{{"name":"{name}","next":"{next}","manual":{manual}{more}}}"#)
    }

    fn by_hand(name: &str, next: &str, more: &str) -> String {
        transition(name, next, true, more)
    }

    fn automated(name: &str, next: &str, more: &str) -> String {
        transition(name, next, false, more)
    }

    fn state(name: &str, transitions: &[String]) -> String {
        format!(r#""{name}":{{"transitions":[{}]}}"#, transitions.join(","))
    }

    const NEVER: &str = r#","criterion":{"type":"group","operator":"AND","conditions":[
        {"type":"simple","jsonPath":"$.n","operatorType":"GREATER_THAN","value":5},
        {"type":"simple","jsonPath":"$.n","operatorType":"LESS_THAN","value":3}]}"#;
    const SOMETIMES: &str =
        r#","criterion":{"type":"simple","jsonPath":"$.n","operatorType":"NOT_NULL"}"#;
    const ALWAYS: &str = r#","criterion":{"type":"group","operator":"AND","conditions":[]}"#;
    const DISABLED: &str = r#","disabled":true"#;

    #[test]
    fn a_usual_workflow_is_not_warned_of() {
        let first = [
            automated("guarded", "B", SOMETIMES),
            automated("else", "C", ""),
        ];
        let states = [
            state("A", &first),
            state("B", &[by_hand("edit", "B", ""), by_hand("end", "C", "")]),
            state("C", &[]),
        ];
        assert_eq!(warnings(&states), NOTHING);
        let edited_for_ever = state("A", &[by_hand("edit", "A", "")]);
        assert_eq!(warnings(&[edited_for_ever]), NOTHING);
        assert_eq!(Workflow::built_in().review(None), NOTHING);
    }

    #[test]
    fn states_that_nothing_leads_to_are_reported() {
        let expected = r#"workflow "w", state "B": no transition that can be taken leads here from the initial state "A"; add one, or remove the state"#;
        let edit = || by_hand("edit", "A", "");
        for (from_a, from_b) in [
            (vec![], vec![]),
            (vec![edit()], vec![by_hand("u", "A", "")]),
            (vec![edit(), by_hand("t", "B", DISABLED)], vec![]),
            (vec![edit(), by_hand("t", "B", NEVER)], vec![]),
        ] {
            let warnings = warnings(&[state("A", &from_a), state("B", &from_b)]);
            assert!(warnings.contains(&expected.to_owned()), "{warnings:?}");
        }
    }

    #[test]
    fn what_an_unguarded_automated_transition_shadows_is_reported() {
        let commits = r#","processors":[{"name":"p","executionMode":"COMMIT_BEFORE_DISPATCH"}]"#;
        let late = r#","schedule":{"delayMs":5}"#;
        let automated = |name: &str, more: &str| automated(name, "B", more);
        let hand = || by_hand("hand", "B", "");
        for (transitions, expected) in [
            (
                vec![automated("one", ""), automated("two", "")],
                vec![
                    r#"workflow "w", state "A", transition "two": it never fires by itself, because "one" precedes it and has no criterion; give "one" one, or put it last"#,
                ],
            ),
            (
                vec![automated("one", ALWAYS), automated("two", SOMETIMES)],
                vec![r#"transition "two": it never fires by itself"#],
            ),
            (
                vec![automated("one", SOMETIMES), automated("two", "")],
                vec![],
            ),
            (
                vec![automated("one", DISABLED), automated("two", "")],
                vec![],
            ),
            (
                vec![automated("one", ""), automated("two", DISABLED)],
                vec![],
            ),
            (
                vec![hand(), automated("one", ""), automated("late", late)],
                vec![
                    r#"transition "hand": it is rarely taken, because entities do not stay in this state: the automated transition "one" has no criterion"#,
                    r#"transition "late": it is rarely taken"#,
                ],
            ),
            // During the call the entity is visible to others.
            (vec![automated("one", commits), hand()], vec![]),
        ] {
            let warnings = warnings(&[state("A", &transitions), state("B", &[])]);
            assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
            for (warning, expected) in warnings.iter().zip(expected) {
                assert!(warning.contains(expected), "{warning}");
            }
        }
    }

    #[test]
    fn dead_ends_and_criteria_that_never_hold_are_reported() {
        assert_eq!(
            warnings(&[state("A", &[by_hand("t", "A", NEVER)])]),
            [
                r#"workflow "w", state "A", transition "t": the criterion can never hold, so the transition is never taken: $.n > 5 and $.n < 3 exclude each other"#,
                r#"workflow "w", state "A": none of its transitions can be taken, so entities remain in this state forever; fix or enable one, or remove them if the state is final"#,
            ]
        );
        let disabled = warnings(&[state("A", &[by_hand("t", "A", DISABLED)])]);
        assert_eq!(disabled.len(), 1, "{disabled:?}");
        let chosen = parsed(&format!(
            r#"{{"name":"w","initialState":"A","states":{{"A":{{}}}}{NEVER}}}"#
        ));
        let expected = chosen.review(Some(&schema()));
        let begins =
            r#"workflow "w": the criterion can never hold, so no entity gets this workflow: "#;
        assert!(
            expected.len() == 1 && expected[0].starts_with(begins),
            "{expected:?}"
        );
        // Without a model nothing is known about `$.n`.
        assert_eq!(chosen.review(None), NOTHING);
    }

    #[test]
    fn a_timer_that_takes_nothing_is_reported() {
        let timer = r#","processors":[{"name":"p","type":"scheduled","config":{"delayMs":5,"transition":"x"}}]"#;
        let with = |name: &str| {
            let first = state("A", &[by_hand("t", "B", timer)]);
            warnings(&[first, state("B", &[by_hand(name, "B", "")])])
        };
        assert_eq!(with("x"), NOTHING);
        assert_eq!(
            with("y"),
            [
                r#"workflow "w", state "A", transition "t", processor "p": `config.transition` is `x`, which the state "B" does not have; name one of its transitions"#
            ]
        );
    }

    #[test]
    fn a_workflow_that_no_entity_gets_is_reported() {
        let workflow = |name: &str, criterion: &str| Entry {
            workflow: Arc::new(parsed(&format!(
                r#"{{"name":"{name}","initialState":"A","states":{{"A":{{}}}}{criterion}}}"#
            ))),
            active: true,
        };
        let stored = WorkflowSet {
            entries: vec![workflow("a", ""), workflow("b", "")],
        };
        for (mode, incoming, expected) in [
            (ImportMode::Merge, vec![workflow("c", "")], Some("c")),
            (ImportMode::Merge, vec![workflow("a", "")], None),
            (ImportMode::Merge, vec![workflow("a", SOMETIMES)], None),
            (ImportMode::Activate, vec![workflow("c", "")], None),
            (
                ImportMode::Replace,
                vec![workflow("c", SOMETIMES), workflow("d", "")],
                None,
            ),
            (
                ImportMode::Replace,
                vec![workflow("c", ALWAYS), workflow("d", "")],
                Some("d"),
            ),
        ] {
            let set = stored.import(mode, incoming.clone());
            let warnings = set.review_choice(incoming.iter().map(|entry| &entry.workflow.name));
            assert_eq!(warnings.len(), expected.iter().count(), "{warnings:?}");
            for (warning, name) in warnings.iter().zip(expected) {
                let begins = format!("workflow \"{name}\": no new entity gets it, because");
                assert!(warning.starts_with(&begins), "{warning}");
            }
        }
    }
}
