//! `state_machine "NAME" { … }`, and `flow "NAME" { … }` that fires its events (`orchestration.md`
//! 2.6).

use super::{
    call::{Kinds, call, template, texts},
    fields::{Fields, Report, label, no_labels},
    model::{Event, Flow, Machine, State, Transition},
    route::route,
    syntax::{Block, SourcePosition},
};
use crate::expr::{self, Scope, Template};

/// Names of states and events must fit those of entities' workflows.
fn check_name(what: &str, name: &str, place: SourcePosition, report: &mut Report) {
    let fits = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= 128
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !fits {
        let message = format!(
            "\"{name}\" is not a name of a {what}: it begins with a letter, then letters, digits, _ \
             and -"
        );
        report.error("S103", place, message);
    }
}

pub(super) fn machine(block: &Block, kinds: &Kinds<'_>, report: &mut Report) -> Option<Machine> {
    let name = label(block, report);
    let mut fields = Fields::of(block);
    let initial = fields.required("initial", report);
    let blocks = fields.blocks("state");
    fields.finish(report);
    if blocks.is_empty() {
        let message = format!("{block} has no state; add state \"NAME\" {{ … }}");
        report.error("S103", block.place, message);
    }
    let mut states: Vec<State> = Vec::new();
    let mut targets = Vec::new();
    for state_block in &blocks {
        let Some(state) = state(state_block, kinds, &mut targets, report) else {
            continue;
        };
        if states.iter().any(|known| known.name == state.name) {
            let message = format!("{state_block} is given twice; give all its events in one");
            report.error("S104", state_block.place, message);
        }
        states.push(state);
    }
    targets.extend(initial);
    let names: Vec<_> = blocks
        .iter()
        .filter_map(|state| state.labels.first())
        .collect();
    for (target, place) in targets {
        if !names.iter().any(|name| *name == target) {
            let message = format!("{block} has no state \"{target}\"; declare it, or name another");
            report.error("S105", place, message);
        }
    }
    Some(Machine {
        name: name?.to_owned(),
        initial: initial?.0.to_owned(),
        states,
        place: block.place,
    })
}

fn state<'a>(
    block: &'a Block,
    kinds: &Kinds<'_>,
    targets: &mut Vec<(&'a str, SourcePosition)>,
    report: &mut Report,
) -> Option<State> {
    let name = label(block, report);
    if let Some(name) = name {
        check_name("state", name, block.place, report);
    }
    let mut fields = Fields::of(block);
    let is_final = fields.truth("final", report).unwrap_or(false);
    let blocks = fields.blocks("on");
    fields.finish(report);
    if let (true, Some(on)) = (is_final, blocks.first()) {
        let message = format!("{block} is final, so nothing leads out of it; remove {on}");
        report.error("S103", on.place, message);
    }
    let mut events: Vec<Event> = Vec::new();
    for on in blocks {
        let Some(event) = event(on, kinds, targets, report) else {
            continue;
        };
        if events.iter().any(|known| known.name == event.name) {
            report.error("S104", on.place, format!("{on} is given twice in {block}"));
        }
        events.push(event);
    }
    Some(State {
        name: name?.to_owned(),
        is_final,
        events,
    })
}

fn event<'a>(
    block: &'a Block,
    kinds: &Kinds<'_>,
    targets: &mut Vec<(&'a str, SourcePosition)>,
    report: &mut Report,
) -> Option<Event> {
    let name = label(block, report);
    if let Some(name) = name {
        check_name("event", name, block.place, report);
    }
    let mut fields = Fields::of(block);
    let to = fields.required("transition_to", report);
    let guard = fields.text("guard", report);
    let action = fields.block("action", report);
    fields.finish(report);
    targets.extend(to);
    if let Some((guard, place)) = guard
        && let Err(error) = expr::check_condition(guard)
    {
        report.cel(place, guard, &error);
    }
    let action = action.and_then(|action| {
        let what = format!("the action of {block}");
        call(
            &action.body,
            what,
            action.place,
            kinds,
            &Scope::INPUT,
            report,
        )
    });
    Some(Event {
        name: name?.to_owned(),
        to: to?.0.to_owned(),
        guard: guard.map(|(guard, _)| guard.to_owned()),
        action,
    })
}

pub(super) fn flow(block: &Block, kinds: &Kinds<'_>, report: &mut Report) -> Option<Flow> {
    let name = label(block, report);
    let mut fields = Fields::of(block);
    let from = fields.block("from", report);
    let transition = fields.block("state_transition", report);
    let to = fields.block("to", report);
    let place = fields.place;
    fields.finish(report);
    if from.is_none() {
        let message = format!("{block} has no from, so no request starts it; add from {{ … }}");
        report.warning("S301", block.place, message);
    }
    let route = from.and_then(|from| route(from, kinds, report));
    let to = to.and_then(|to| {
        no_labels(to, report);
        let mut fields = Fields::of(to);
        let connector = fields.connector("connector", report);
        fields.text("target", report);
        fields.finish(report);
        connector
    });
    let Some(transition) = transition else {
        let message = format!("{block} has no state_transition; add state_transition {{ … }}");
        report.error("S103", block.place, message);
        return None;
    };
    let mut fields = Fields::of(transition);
    let machine = fields.required("machine", report);
    let [entity, id, event] = ["entity", "id", "event"].map(|name| {
        let (text, place) = fields.required(name, report)?;
        let is_literal = !["input.", "step.", "error."]
            .iter()
            .any(|root| text.contains(root));
        if is_literal && text.starts_with('\'') {
            let message = format!(
                "{name} is written as it stands, with its single quotes, because it reads none of \
                 input, step and error; remove them"
            );
            report.warning("S306", place, message);
        }
        Some(texts(text, place, &Scope::INPUT, report))
    });
    let data = fields.take("data", report);
    let data: Option<Template> = data.map(|data| template(&data.value, &Scope::INPUT, report));
    let connector = fields.connector("connector", report).or(to);
    fields.finish(report);
    if let Some((name, at)) = connector
        && !kinds.contains_key(name)
    {
        let message =
            format!("the connector {name} is not declared; add connector \"{name}\" {{ … }}");
        report.warning("S303", at, message);
    }
    let (machine, machine_place) = machine?;
    Some(Flow {
        name: name?.to_owned(),
        route,
        transition: Transition {
            machine: machine.to_owned(),
            machine_place,
            entity: entity?,
            id: id?,
            event: event?,
            data,
            connector: connector.map(|(name, _)| name.to_owned()),
        },
        place,
    })
}
