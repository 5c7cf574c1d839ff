//! What one part of a document says of another: targets, plans, what can be reached.

use std::collections::{HashMap, HashSet};

use super::{BUILT_IN_TERMINALS, fields::join, step::Outline};
use crate::dialect::Findings;
use crate::program::{START, Target};

/// Looks at a document whose parts have been read one by one.
pub(super) fn check(
    workflow: Option<&str>,
    start: Option<&Outline>,
    steps: &[(&str, &Outline)],
    terminals: &[&str],
    plans: &[&str],
    findings: &mut Findings,
) {
    let places: HashMap<&str, usize> = steps.iter().map(|(name, _)| *name).zip(0..).collect();
    let plans: HashSet<&str> = plans.iter().copied().collect();
    let ends: HashSet<&str> = terminals
        .iter()
        .copied()
        .chain(BUILT_IN_TERMINALS.iter().map(|(name, _)| *name))
        .collect();
    for (name, _) in steps {
        if ends.contains(name) {
            let message = format!("\"{name}\" is both a step and a terminal; rename one");
            findings.error("E501", &join("steps", name), message);
        }
    }
    let entry = start.map(|step| (START.to_owned(), step));
    let read = steps
        .iter()
        .map(|(name, step)| (join("steps", name), *step));
    let mut named = HashSet::new();
    let mut reaches_an_end = false;
    for (path, step) in entry.into_iter().chain(read) {
        check_run(workflow, step, &path, &plans, findings);
        for (place, target) in &step.targets {
            let target = &**target;
            named.insert(target);
            if ends.contains(target) {
                reaches_an_end = true;
            } else if !places.contains_key(target) {
                let message = format!(
                    "\"{target}\" is not a step, a terminal of the document or a built-in terminal"
                );
                findings.error("E201", &format!("{path}.{place}"), message);
            }
        }
    }
    check_reach(start, steps, &places, findings);
    for terminal in terminals {
        if !named.contains(terminal) {
            let message = format!("no transition names the terminal \"{terminal}\"");
            findings.warning("E302", &join("terminals", terminal), message);
        }
    }
    if !reaches_an_end {
        findings.warning("E303", "", "no transition reaches a terminal");
    }
}

fn check_run(
    workflow: Option<&str>,
    step: &Outline,
    path: &str,
    plans: &HashSet<&str>,
    findings: &mut Findings,
) {
    let Some(target) = &step.run else { return };
    let path = join(path, "run");
    match target {
        Target::Plan(name) if !plans.contains(&**name) => {
            let message = format!("the document has no plan \"{name}\"");
            findings.error("E203", &path, message);
        }
        Target::Child(child) => {
            let message = format!("whether \"{child}\" exists is checked when the step runs");
            findings.warning("E507", &path, message);
            let name = child.rsplit_once(':').map_or(&**child, |(name, _)| name);
            if workflow.is_some_and(|workflow| workflow == &**child || workflow == name) {
                let message = "the workflow starts itself; only the depth of children bounds it";
                findings.warning("E204", &path, message);
            }
        }
        Target::Plan(_) | Target::Action(_) | Target::Entity(_) | Target::Tick => {}
    }
}

/// Reports the steps to which no path leads from the entry.
fn check_reach(
    start: Option<&Outline>,
    steps: &[(&str, &Outline)],
    places: &HashMap<&str, usize>,
    findings: &mut Findings,
) {
    let Some(start) = start else { return };
    let mut reached = vec![false; steps.len()];
    let mut open = vec![start];
    while let Some(step) = open.pop() {
        for (_, target) in &step.targets {
            let Some(place) = places.get(&**target) else {
                continue;
            };
            if !std::mem::replace(&mut reached[*place], true) {
                open.push(steps[*place].1);
            }
        }
    }
    for ((name, _), reached) in steps.iter().zip(reached) {
        if !reached {
            let message = format!("no path leads to the step \"{name}\"");
            findings.warning("E301", &join("steps", name), message);
        }
    }
}
