//! Steps: what runs, how often, and what follows.

use std::time::Duration;

use super::fields::{DURATION_MAX, Fields, check_free, join, named, text, whole, wrong_kind};
use crate::dialect::{Findings, Tree};
use crate::program::{Backoff, Kind, Mapping, Name, Poll, Retry, Step, Target, Wait};

const BACKOFFS: [(&str, Backoff); 5] = [
    ("constant", Backoff::Constant),
    ("linear", Backoff::Linear),
    ("exponential", Backoff::Exponential),
    ("exponential_jitter", Backoff::ExponentialJitter),
    ("exponential-jitter", Backoff::ExponentialJitter),
];

/// What other parts of the document have to know of a step, even of one with errors.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) run: Option<Target>,
    /// Every target that may follow, with its place below the step.
    pub(super) targets: Vec<(String, Name)>,
}

impl Step {
    /// Reads a step; there is none if it neither runs nor waits.
    pub(super) fn read(
        tree: &Tree,
        path: &str,
        findings: &mut Findings,
    ) -> (Option<Self>, Outline) {
        let mut outline = Outline::default();
        let Some(mut fields) = Fields::of(tree, path, findings) else {
            return (None, outline);
        };
        let run = fields.take("run", findings);
        let wait = fields.take("waitForSignal", findings);
        let choices = (run.is_some(), wait.is_some());
        let run = (choices != (false, true)).then(|| read_run(run, &mut fields, findings));
        let run = run.flatten();
        let wait = wait.and_then(|(wait, at)| Wait::read(wait, &at, &mut outline, findings));
        let kind = match choices {
            (true, false) => run,
            (false, true) => wait.map(Kind::Wait),
            (true, true) => {
                let message = "a step has either `run` or `waitForSignal`, not both";
                findings.error("E103", path, message);
                None
            }
            (false, false) => {
                findings.error("E103", path, "a step needs `run` or `waitForSignal`");
                None
            }
        };
        let transitions = match fields.take("transitions", findings) {
            Some((tree, at)) => read_transitions(tree, &at, findings),
            None => Vec::new(),
        };
        if transitions.is_empty() {
            let message = "the step has no transitions; the run fails after it";
            findings.warning("E502", path, message);
        }
        fields.finish(findings);
        let targets = transitions.iter().map(|(outcome, target)| {
            let place = join("transitions", outcome);
            (place, target.clone())
        });
        outline.targets.splice(0..0, targets);
        if let Some(Kind::Run { target, .. }) = &kind {
            outline.run = Some(target.clone());
        }
        (kind.map(|kind| Self { kind, transitions }), outline)
    }
}

/// The members of a step that runs something, all of which are read whatever is wrong with one.
fn read_run(
    run: Option<(&Tree, String)>,
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Option<Kind> {
    let target = run.and_then(|(run, at)| match Target::parse(text(run, &at, findings)?) {
        Ok(target) => Some(target),
        Err(message) => {
            findings.error("E202", &at, message);
            None
        }
    });
    let input = fields.take_any(&["inputMapping", "input"], findings);
    let input = input.map(|(tree, at)| Mapping::read(tree, &at, findings));
    let retry = fields.fields("retry", findings);
    let retry = retry.map(|fields| Retry::read(fields, findings));
    let poll = fields.fields("poll", findings);
    let poll = poll.map(|fields| Poll::read(fields, findings));
    Some(Kind::Run {
        target: target?,
        input,
        retry,
        poll,
    })
}

fn read_transitions(tree: &Tree, path: &str, findings: &mut Findings) -> Vec<(Name, Name)> {
    let members = named(tree, path, "E109", "outcome", findings);
    let mut transitions = Vec::with_capacity(members.len());
    for (outcome, target) in members {
        if let Some(target) = text(target, &join(path, outcome), findings) {
            transitions.push((outcome.into(), target.into()));
        }
    }
    transitions
}

impl Mapping {
    pub(super) fn read(tree: &Tree, path: &str, findings: &mut Findings) -> Self {
        if let Tree::Text(text) = tree {
            return Self::Text(text.clone());
        }
        check_free(tree, path, findings);
        Self::Value(tree.to_json().into())
    }
}

impl Wait {
    fn read(
        tree: &Tree,
        path: &str,
        outline: &mut Outline,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut fields = Fields::of(tree, path, findings)?;
        let signal = fields.take("type", findings);
        let missing = signal.is_none();
        let signal = signal.and_then(|(tree, at)| text(tree, &at, findings));
        if missing || signal == Some("") {
            findings.error("E103", path, "a wait needs the `type` of its signal");
        }
        if signal.is_some_and(|signal| signal.starts_with('_')) {
            let message =
                "the type of a signal must not begin with `_`: no such signal can be sent";
            findings.error("E109", &join(path, "type"), message);
        }
        let timeout_given = fields.take("timeoutMs", findings);
        if timeout_given.is_none() {
            let message = "without `timeoutMs` the run may wait for ever";
            findings.warning("E503", path, message);
        }
        let timeout = timeout_given.and_then(|(tree, at)| milliseconds(tree, &at, 1, findings));
        let on_timeout: Option<Name> = fields.text("onTimeout", findings).map(Into::into);
        if let Some(target) = &on_timeout {
            let place = "waitForSignal.onTimeout".to_owned();
            outline.targets.push((place, target.clone()));
        }
        fields.finish(findings);
        Some(Self {
            signal: signal.filter(|signal| !signal.is_empty())?.into(),
            timeout,
            on_timeout,
        })
    }
}

impl Retry {
    pub(super) fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let executions_max = fields.count("maxAttempts", findings).unwrap_or(3);
        let backoff = fields.word("backoff", &BACKOFFS, findings);
        let initial = fields.count("initialDelayMs", findings).unwrap_or(1_000);
        let most = fields.count("maxDelayMs", findings).unwrap_or(30_000);
        let within = fields.duration("withinMs", findings);
        if executions_max == 0 {
            let message = "`max_attempts` counts the first execution; it is at least 1";
            findings.error("E401", &fields.at("max_attempts"), message);
        }
        if initial > most {
            let message =
                format!("`initial_delay_ms` ({initial}) is larger than `max_delay_ms` ({most})");
            findings.error("E401", &fields.at("initial_delay_ms"), message);
        }
        fields.finish(findings);
        Self {
            executions_max,
            backoff: backoff.unwrap_or(Backoff::Exponential),
            initial_delay: Duration::from_millis(initial.into()),
            delay_max: Duration::from_millis(most.into()),
            within,
        }
    }
}

impl Poll {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let initial = fields.duration("initialDelayMs", findings);
        let polls_max = fields.count("maxAttempts", findings);
        let backoff = fields.word("backoff", &BACKOFFS, findings);
        let base = fields.count("baseDelayMs", findings);
        let most = fields.count("maxDelayMs", findings);
        fields.finish(findings);
        Self {
            initial_delay: initial.unwrap_or(Duration::ZERO),
            polls_max: polls_max.unwrap_or(10),
            backoff: backoff.unwrap_or(Backoff::Exponential),
            base_delay: Duration::from_millis(base.unwrap_or(1_000).into()),
            delay_max: Duration::from_millis(most.unwrap_or(60_000).into()),
        }
    }
}

/// A duration of at least `least` milliseconds, and of a hundred years at most.
pub(super) fn milliseconds(
    tree: &Tree,
    path: &str,
    least: u64,
    findings: &mut Findings,
) -> Option<Duration> {
    let number = whole(tree, path, findings)?;
    match u64::try_from(number) {
        Ok(number) if (least..=DURATION_MAX).contains(&number) => {
            Some(Duration::from_millis(number))
        }
        _ => {
            let wanted = format!("{least} to {DURATION_MAX} milliseconds");
            wrong_kind(findings, path, &wanted, tree);
            None
        }
    }
}
