//! `saga "NAME" { … }` (`orchestration.md` 2.1).

use super::{
    call::{Kinds, call},
    fields::{Fields, Report, label},
    model::{Call, Saga, Step},
    route::route,
    syntax::{Block, SourcePosition},
};
use crate::expr::Scope;

/// A saga that is being read.
struct Reading<'a, 'r> {
    kinds: &'a Kinds<'a>,
    /// The names of all its steps, in their order.
    names: Vec<&'a str>,
    report: &'r mut Report,
}

pub(super) fn saga(block: &Block, kinds: &Kinds<'_>, report: &mut Report) -> Option<Saga> {
    let name = label(block, report);
    if matches!(name, Some("." | "..")) {
        // Clients leave dots out of paths.
        let message = format!("{block} has a reserved name; choose another");
        report.error("S103", block.place, message);
    }
    let mut fields = Fields::of(block);
    let timeout = fields.duration("timeout", report);
    let from = fields.block("from", report);
    if from.is_none() {
        let message = format!(
            "{block} has no from, so no request starts it; it can be started by its name, or add \
             from {{ connector = … operation = \"POST /…\" }}"
        );
        report.warning("S301", block.place, message);
    }
    let route = from.and_then(|from| route(from, kinds, report));
    let steps = fields.blocks("step");
    if steps.is_empty() {
        let message = format!("{block} has no step; add step \"NAME\" {{ … }}");
        report.error("S103", block.place, message);
    }
    let callbacks = ["on_complete", "on_failure"].map(|kind| fields.block(kind, report));
    fields.finish(report);
    let names = steps.iter().filter_map(|step| match &*step.labels {
        [name] => Some(&**name),
        _ => None,
    });
    let mut reading = Reading {
        kinds,
        names: names.collect(),
        report,
    };
    let steps: Vec<_> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| reading.step(at, step))
        .collect();
    let [on_complete, on_failure] = callbacks;
    let on_complete = on_complete.and_then(|callback| reading.callback(callback, false));
    let on_failure = on_failure.and_then(|callback| reading.callback(callback, true));
    Some(Saga {
        name: name?.to_owned(),
        timeout,
        route,
        steps: steps.into_iter().collect::<Option<_>>()?,
        on_complete,
        on_failure,
        text: block.text.clone(),
        place: block.place,
    })
}

impl<'a> Reading<'a, '_> {
    fn step(&mut self, at: usize, block: &'a Block) -> Option<Step> {
        let name = label(block, self.report);
        if let Some(name) = name
            && self.names[..at.min(self.names.len())].contains(&name)
        {
            let message = format!("{block} is given twice; choose another name");
            self.report.error("S104", block.place, message);
        }
        let mut fields = Fields::of(block);
        let action = fields.block("action", self.report);
        let undo = fields.block("compensate", self.report);
        let on_error = fields.text("on_error", self.report);
        let skips_failure = match on_error {
            None | Some(("fail", _)) => false,
            Some(("skip", _)) => true,
            Some((other, place)) => {
                let message = format!("on_error is \"{other}\"; use \"fail\" or \"skip\"");
                self.report.error("S103", place, message);
                false
            }
        };
        let has_delay = fields.is_given("delay");
        let delay = fields.duration("delay", self.report);
        let timeout = fields.duration("timeout", self.report);
        let awaits = fields
            .is_given("await")
            .then(|| fields.required("await", self.report));
        let awaits = awaits.flatten();
        self.check(block, has_delay, awaits, action);
        if let Some(timeout) = timeout
            && timeout.is_zero()
        {
            let message = format!("the timeout of {block} is 0; write a longer one");
            self.report.error("S107", block.place, message);
        }
        fields.finish(self.report);
        let earlier: Vec<&str> = self.names.iter().take(at).copied().collect();
        let is_earlier = |name: &str| earlier.contains(&name);
        let action = action.map(|action| {
            let scope = Scope {
                steps: Some(&is_earlier),
                has_error: false,
                has_columns: false,
            };
            self.call(action, &scope, format!("the action of {block}"))
        });
        let names = self.names.clone();
        let is_step = |name: &str| names.contains(&name);
        let undo = undo.map(|undo| {
            let scope = Scope {
                steps: Some(&is_step),
                has_error: true,
                has_columns: false,
            };
            self.call(undo, &scope, format!("the compensation of {block}"))
        });
        Some(Step {
            name: name?.to_owned(),
            action: action.flatten(),
            undo: undo.flatten(),
            skips_failure,
            delay,
            awaits: awaits.map(|(event, _)| event.to_owned()),
            timeout,
        })
    }

    /// What a step is, of which it must be one.
    fn check(
        &mut self,
        block: &Block,
        has_delay: bool,
        awaits: Option<(&str, SourcePosition)>,
        action: Option<&Block>,
    ) {
        match (has_delay, awaits, action) {
            (true, Some((_, place)), _) => {
                let message = format!("{block} has delay and await; make two steps of it");
                self.report.error("S103", place, message);
            }
            (false, None, None) => {
                let message = format!("{block} does nothing; add action, delay or await");
                self.report.error("S103", block.place, message);
            }
            _ => {}
        }
    }

    fn callback(&mut self, block: &'a Block, has_error: bool) -> Option<Call> {
        let names = self.names.clone();
        let is_step = |name: &str| names.contains(&name);
        let scope = Scope {
            steps: Some(&is_step),
            has_error,
            has_columns: false,
        };
        self.call(block, &scope, block.kind.clone())
    }

    fn call(&mut self, block: &Block, scope: &Scope<'_>, what: String) -> Option<Call> {
        super::fields::no_labels(block, self.report);
        call(
            &block.body,
            what,
            block.place,
            self.kinds,
            scope,
            self.report,
        )
    }
}
