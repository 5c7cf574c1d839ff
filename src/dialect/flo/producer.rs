//! What starts runs without a caller, and what runs are found by.

use std::{collections::HashSet, time::Duration};

use super::{
    Cron, Every, Schedule, Trigger, TriggerMode,
    fields::{DURATION_MAX, Fields, text, whole, wrong_kind},
    plan::json,
    read::NAME_BYTES_MAX,
};
use crate::dialect::{Findings, Tree};
use crate::program::{ATTRIBUTES_MAX, AttributeType, SearchAttribute};

impl Schedule {
    pub(super) fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Option<Self> {
        let cron = fields.take("cron", findings);
        let interval = fields.take("interval", findings);
        let every = match (cron, interval) {
            (Some((tree, at)), None) => read_cron(tree, &at, findings).map(Every::Cron),
            (None, Some((tree, at))) => read_interval(tree, &at, findings),
            (Some(_), Some(_)) => {
                let message = "a schedule has either `cron` or `interval`, not both";
                findings.error("E504", &fields.path, message);
                None
            }
            (None, None) => {
                let message = "a schedule needs `cron` or `interval`";
                findings.error("E504", &fields.path, message);
                None
            }
        };
        let concurrent_max = fields.count("maxConcurrent", findings).unwrap_or(1);
        let input = fields.take("input", findings);
        let input = input.and_then(|(tree, at)| json(tree, &at, findings));
        let paused = fields.truth("paused", findings).unwrap_or(false);
        fields.finish(findings);
        Some(Self {
            every: every?,
            concurrent_max,
            input: input.unwrap_or_else(|| "{}".into()),
            paused,
        })
    }
}

fn read_cron(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Cron> {
    let given = text(tree, path, findings)?;
    match Cron::parse(given) {
        Ok(cron) => {
            if !cron.has_a_day() {
                let message =
                    format!("\"{given}\" never comes: no month that it names has such a day");
                findings.warning("E506", path, message);
            }
            Some(cron)
        }
        Err(message) => {
            findings.error("E506", path, message);
            None
        }
    }
}

fn read_interval(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Every> {
    let number = whole(tree, path, findings)?;
    let interval = u64::try_from(number).ok().filter(|number| *number > 0);
    if interval.is_none() {
        let message = format!("an interval of {number} ms is too short; it is at least 1");
        findings.error("E504", path, message);
    }
    if interval.is_some_and(|interval| interval > DURATION_MAX) {
        let message = format!("an interval of {number} ms is too long; at most {DURATION_MAX}");
        findings.error("E109", path, message);
    }
    interval.map(Duration::from_millis).map(Every::Interval)
}

impl Trigger {
    pub(super) fn read(
        mut fields: Fields<'_>,
        workflow: &str,
        findings: &mut Findings,
    ) -> Option<Self> {
        let topic = fields.take("stream", findings);
        let missing = topic.is_none();
        let topic = topic.and_then(|(tree, at)| text(tree, &at, findings));
        if missing || topic == Some("") {
            let message = "a trigger needs a `stream`, the name of a topic";
            findings.error("E508", &fields.path, message);
        }
        let namespace = fields.text("namespace", findings);
        let namespace = namespace.map(Into::into);
        let consumer_group = fields.text("consumerGroup", findings);
        let mode = fields.take("mode", findings);
        let mode = mode.and_then(|(tree, at)| read_mode(tree, &at, findings));
        let batch_size = fields.count("batchSize", findings).unwrap_or(1);
        if batch_size == 0 {
            let message = "`batch_size` is at least 1";
            findings.error("E508", &fields.at("batch_size"), message);
        }
        let batch_timeout = fields.duration("batchTimeoutMs", findings);
        fields.finish(findings);
        Some(Self {
            topic: topic.filter(|topic| !topic.is_empty())?.into(),
            namespace,
            consumer_group: consumer_group
                .map_or_else(|| format!("wf-{workflow}").into(), Into::into),
            mode: mode.unwrap_or(TriggerMode::Shared),
            batch_size,
            batch_timeout: batch_timeout.unwrap_or(Duration::from_secs(5)),
        })
    }
}

fn read_mode(tree: &Tree, path: &str, findings: &mut Findings) -> Option<TriggerMode> {
    match text(tree, path, findings)? {
        "shared" => Some(TriggerMode::Shared),
        "exclusive" => Some(TriggerMode::Exclusive),
        "key_shared" | "key-shared" => Some(TriggerMode::KeyShared),
        given => {
            let message = format!("\"{given}\" is not one of shared, exclusive, key_shared");
            findings.error("E508", path, message);
            None
        }
    }
}

impl SearchAttribute {
    pub(super) fn read_all(tree: &Tree, path: &str, findings: &mut Findings) -> Vec<Self> {
        let Tree::List(items) = tree else {
            wrong_kind(findings, path, "a list", tree);
            return Vec::new();
        };
        if items.len() > ATTRIBUTES_MAX {
            let message = format!(
                "the document has {} search attributes; at most {ATTRIBUTES_MAX}",
                items.len()
            );
            findings.error("E109", path, message);
            return Vec::new();
        }
        let mut names = HashSet::new();
        let mut attributes = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(attribute) = Self::read(item, &path, findings) else {
                continue;
            };
            if names.insert(attribute.name.clone()) {
                attributes.push(attribute);
            } else {
                let message = format!("duplicate search attribute \"{}\"", attribute.name);
                findings.error("E109", &path, message);
            }
        }
        attributes
    }

    fn read(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(tree, path, findings)?;
        let name = fields.text("name", findings);
        let from = fields.text("from", findings);
        let types = [
            ("string", AttributeType::Text),
            ("number", AttributeType::Number),
            ("timestamp", AttributeType::Timestamp),
        ];
        let kind = fields.word("type", &types, findings);
        for (given, what) in [(name, "name"), (from, "from")] {
            if given.is_none_or(str::is_empty) {
                let message = format!("a search attribute needs `{what}`");
                findings.error("E109", path, message);
            }
        }
        if let Some(name) = name.filter(|name| name.len() > NAME_BYTES_MAX) {
            let message = format!(
                "the name has {} bytes; at most {NAME_BYTES_MAX}",
                name.len()
            );
            findings.error("E109", path, message);
        }
        fields.finish(findings);
        Some(Self {
            name: name.filter(|name| !name.is_empty())?.into(),
            from: from.filter(|from| !from.is_empty())?.into(),
            kind: kind.unwrap_or(AttributeType::Text),
        })
    }
}
