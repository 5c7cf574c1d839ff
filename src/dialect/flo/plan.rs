//! Plans: executors, and what chooses among them.

use std::{collections::HashSet, time::Duration};

use super::{
    fields::{Fields, check_free, text, whole, wrong_kind},
    step::milliseconds,
};
use crate::dialect::{Findings, Tree};
use crate::program::{
    Breaker, Cache, Errors, Executor, Fallback, FallbackOn, Health, Plan, RateLimit, Retry,
    Selection, Target, Tracking,
};

const SELECTIONS: [(&str, Selection); 7] = [
    ("static-order", Selection::StaticOrder),
    ("round-robin", Selection::RoundRobin),
    ("random", Selection::Random),
    ("health-weighted", Selection::HealthWeighted),
    ("static_order", Selection::StaticOrder),
    ("round_robin", Selection::RoundRobin),
    ("health_weighted", Selection::HealthWeighted),
];

impl Plan {
    pub(super) fn read(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(tree, path, findings)?;
        let selection = fields.word("selection", &SELECTIONS, findings);
        let selection = selection.unwrap_or(Selection::StaticOrder);
        let executors = if let Some((tree, at)) = fields.take("executors", findings) {
            read_executors(tree, &at, findings)
        } else {
            findings.error("E104", path, "a plan needs at least one executor");
            Vec::new()
        };
        let health = fields.fields("health", findings);
        if health.is_none() && selection == Selection::HealthWeighted {
            let message = "`health-weighted` without `health`: the defaults are used";
            findings.warning("E405", path, message);
        }
        let health = health.map_or_else(Health::default, |fields| Health::read(fields, findings));
        let cache = fields.fields("cache", findings);
        let cache = cache.and_then(|fields| Cache::read(fields, findings));
        let fallback = fields.fields("fallback", findings);
        let fallback = fallback.and_then(|fields| Fallback::read(fields, findings));
        let errors = fields.take_any(&["errors", "classifyError"], findings);
        let errors = errors.and_then(|(tree, at)| Fields::of(tree, &at, findings));
        let errors = errors.map_or_else(Errors::default, |mut fields| {
            let errors = Errors {
                retryable: fields.texts("retryable", findings),
                fatal: fields.texts("fatal", findings),
            };
            fields.finish(findings);
            errors
        });
        fields.finish(findings);
        Some(Self {
            selection,
            executors,
            health,
            cache,
            fallback,
            errors,
        })
    }
}

fn read_executors(tree: &Tree, path: &str, findings: &mut Findings) -> Vec<Executor> {
    let Tree::List(items) = tree else {
        wrong_kind(findings, path, "a list", tree);
        return Vec::new();
    };
    if items.is_empty() {
        findings.error("E104", path, "a plan needs at least one executor");
    }
    let mut names = HashSet::new();
    let mut executors = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(executor) = Executor::read(item, &path, findings) else {
            continue;
        };
        if names.insert(executor.name.clone()) {
            executors.push(executor);
        } else {
            let message = format!("duplicate executor \"{}\"", executor.name);
            findings.error("E106", &path, message);
        }
    }
    executors
}

impl Executor {
    fn read(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(tree, path, findings)?;
        let name = fields.take("name", findings);
        let action = fields.take_any(&["action", "run"], findings);
        for (missing, what) in [(name.is_none(), "name"), (action.is_none(), "action")] {
            if missing {
                findings.error("E104", path, format!("an executor needs `{what}`"));
            }
        }
        let name = name.and_then(|(tree, at)| text(tree, &at, findings));
        if name == Some("") {
            findings.error("E104", path, "an executor needs `name`");
        }
        let action = action.and_then(|(tree, at)| {
            let given = text(tree, &at, findings)?;
            if let Ok(Target::Action(name)) = Target::parse(given) {
                return Some(name);
            }
            let message = format!("\"{given}\" is not an action; an executor runs @actions/<name>");
            findings.error("E202", &at, message);
            None
        });
        let priority = fields.take("priority", findings).and_then(|(tree, at)| {
            let number = whole(tree, &at, findings)?;
            let priority = i32::try_from(number);
            if priority.is_err() {
                wrong_kind(findings, &at, "a number of 32 bits", tree);
            }
            priority.ok()
        });
        let retry = fields.fields("retry", findings);
        let retry = retry.map(|fields| Retry::read(fields, findings));
        let breaker = fields.fields("breaker", findings);
        let breaker = breaker.map(|fields| Breaker::read(fields, findings));
        let rate_limit = fields.fields("rateLimit", findings);
        let rate_limit = rate_limit.map(|fields| RateLimit::read(fields, findings));
        let tracking = fields.fields("tracking", findings);
        let tracking = tracking.map(|fields| Tracking::read(fields, findings));
        fields.finish(findings);
        Some(Self {
            name: name.filter(|name| !name.is_empty())?.into(),
            action: action?,
            priority: priority.unwrap_or(100),
            retry,
            breaker: breaker.unwrap_or_default(),
            rate_limit: rate_limit.unwrap_or_default(),
            tracking: tracking.unwrap_or(Tracking::Sync),
        })
    }
}

impl Breaker {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let default = Self::default();
        let threshold = fields.count("failureThreshold", findings);
        let cooldown = fields.take("cooldownMs", findings);
        let cooldown = cooldown.and_then(|(tree, at)| milliseconds(tree, &at, 1, findings));
        let half_open = fields.count("halfOpenMaxCalls", findings);
        for (key, count) in [
            ("failure_threshold", threshold),
            ("half_open_max_calls", half_open),
        ] {
            if count == Some(0) {
                findings.error("E402", &fields.at(key), format!("`{key}` is at least 1"));
            }
        }
        fields.finish(findings);
        Self {
            failure_threshold: threshold.unwrap_or(default.failure_threshold),
            cooldown: cooldown.unwrap_or(default.cooldown),
            half_open_calls_max: half_open.unwrap_or(default.half_open_calls_max),
        }
    }
}

impl RateLimit {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let limit = Self {
            per_second: fields.count("maxPerSecond", findings),
            per_minute: fields.count("maxPerMinute", findings),
            per_hour: fields.count("maxPerHour", findings),
        };
        if limit == Self::default() {
            findings.warning("E403", &fields.path, "the rate limit has no limit");
        }
        fields.finish(findings);
        limit
    }
}

impl Tracking {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let modes = [("sync", false), ("async", true)];
        let is_async = fields.word("mode", &modes, findings);
        let timeout = fields.take("timeoutMs", findings);
        let timeout = timeout.and_then(|(tree, at)| milliseconds(tree, &at, 1, findings));
        fields.finish(findings);
        if is_async == Some(true) {
            Self::Async { timeout }
        } else {
            Self::Sync
        }
    }
}

impl Health {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Self {
        let default = Self::default();
        let window = positive(&mut fields, "windowMs", "window_ms", "E405", findings);
        let samples = positive(&mut fields, "minSamples", "min_samples", "E405", findings);
        let decay = fields.take("decay", findings).and_then(|(tree, at)| {
            let is_number = matches!(tree, Tree::Number(_));
            let number = is_number.then(|| tree.to_json().parse::<f64>().ok());
            match number.flatten() {
                None => wrong_kind(findings, &at, "a number", tree),
                Some(decay) if decay > 0.0 && decay <= 1.0 => return Some(decay),
                Some(_) => findings.error("E405", &at, "`decay` is above 0 and at most 1"),
            }
            None
        });
        fields.finish(findings);
        Self {
            window: window.map_or(default.window, Duration::from_millis),
            decay: decay.unwrap_or(default.decay),
            samples_min: samples.map_or(default.samples_min, |samples| {
                u32::try_from(samples).unwrap_or(u32::MAX)
            }),
        }
    }
}

impl Cache {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Option<Self> {
        let ttl = positive(&mut fields, "ttlMs", "ttl_ms", "E404", findings);
        let key = fields.take_any(&["key", "keyTemplate"], findings);
        let missing = key.is_none();
        let key = key.and_then(|(tree, at)| text(tree, &at, findings));
        if missing || key == Some("") {
            findings.error("E404", &fields.path, "a cache needs a `key`");
        }
        let invalidate_on = fields.texts("invalidateOn", findings);
        fields.finish(findings);
        Some(Self {
            ttl: Duration::from_millis(ttl.unwrap_or(300_000)),
            key: key.filter(|key| !key.is_empty())?.into(),
            invalidate_on,
        })
    }
}

impl Fallback {
    fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Option<Self> {
        let conditions = [
            ("exhausted", FallbackOn::Exhausted),
            ("any_error", FallbackOn::AnyError),
            ("any-error", FallbackOn::AnyError),
        ];
        let on = fields.word("condition", &conditions, findings);
        let value = fields.take("value", findings);
        if value.is_none() {
            findings.error("E109", &fields.path, "a fallback needs a `value`");
        }
        fields.finish(findings);
        let (tree, at) = value?;
        Some(Self {
            value: json(tree, &at, findings)?,
            on: on.unwrap_or(FallbackOn::Exhausted),
        })
    }
}

/// JSON, given as a text or as the value itself.
pub(super) fn json(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Box<str>> {
    let Tree::Text(text) = tree else {
        check_free(tree, path, findings);
        return Some(tree.to_json().into());
    };
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Some(text.clone()),
        Err(error) => {
            findings.error("E109", path, format!("the text is not valid JSON: {error}"));
            None
        }
    }
}

/// A whole number above 0; anything else is reported under `code`.
fn positive(
    fields: &mut Fields<'_>,
    key: &'static str,
    shown: &str,
    code: &'static str,
    findings: &mut Findings,
) -> Option<u64> {
    let (tree, at) = fields.take(key, findings)?;
    let number = whole(tree, &at, findings)?;
    let number = u64::try_from(number).ok().filter(|number| *number > 0);
    if number.is_none() {
        findings.error(code, &at, format!("`{shown}` is at least 1"));
    }
    number
}
