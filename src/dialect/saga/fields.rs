//! What is in one block, each attribute and block taken by the reader that knows it; and findings
//! with the line that they are about.

use std::time::Duration;

use super::{
    duration::duration,
    syntax::{Attribute, Block, Body, Content, SourcePosition, Value},
};
use crate::dialect::{Findings, Severity};
use crate::expr::CelError;
use crate::text;

/// The longest name, in bytes.
const NAME_MAX: usize = 256;

/// What is wrong with the files of a bundle.
#[derive(Debug, Default)]
pub(super) struct Report {
    found: Vec<(SourcePosition, &'static str, Severity, String)>,
}

impl Report {
    pub(super) fn error(
        &mut self,
        code: &'static str,
        place: SourcePosition,
        message: impl Into<String>,
    ) {
        self.found
            .push((place, code, Severity::Error, message.into()));
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        place: SourcePosition,
        message: impl Into<String>,
    ) {
        self.found
            .push((place, code, Severity::Warning, message.into()));
    }

    /// Adds a warning, unless it was added before for another place.
    pub(super) fn warning_once(
        &mut self,
        code: &'static str,
        place: SourcePosition,
        message: String,
    ) {
        let is_it = |(_, found, _, said): &(_, &str, _, String)| *found == code && *said == message;
        if !self.found.iter().any(is_it) {
            self.warning(code, place, message);
        }
    }

    pub(super) fn cel(&mut self, place: SourcePosition, text: &str, error: &CelError) {
        let text = text::start(text, 200);
        let message = format!(
            "`{text}` cannot be used as an expression: {error}; to write it as a plain text, put \
             single quotes within the double ones"
        );
        self.error("S106", place, message);
    }

    /// Drops all findings of a code.
    pub(super) fn forget(&mut self, code: &str) {
        self.found.retain(|(_, found, ..)| *found != code);
    }

    /// The findings, by file and line.
    pub(super) fn finish(mut self, location: impl Fn(SourcePosition) -> String) -> Findings {
        self.found.sort_by_key(|(place, ..)| *place);
        let mut findings = Findings::default();
        for (place, code, severity, message) in self.found {
            match severity {
                Severity::Error => findings.error(code, &location(place), message),
                Severity::Warning => findings.warning(code, &location(place), message),
            }
        }
        findings
    }
}

/// What is in a block that no reader has taken yet.
pub(super) struct Fields<'a> {
    /// How messages name the block, such as `step "payment"`.
    pub(super) what: String,
    pub(super) place: SourcePosition,
    attributes: Vec<Option<&'a Attribute>>,
    blocks: Vec<Option<&'a Block>>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(block: &'a Block) -> Self {
        Self::of_body(&block.body, block.to_string(), block.place)
    }

    pub(super) fn of_body(body: &'a Body, what: String, place: SourcePosition) -> Self {
        Self {
            what,
            place,
            attributes: body.attributes.iter().map(Some).collect(),
            blocks: body.blocks.iter().map(Some).collect(),
            asked: Vec::new(),
        }
    }

    /// An attribute; others of the name are reported.
    pub(super) fn take(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<&'a Attribute> {
        self.ask(name);
        let mut found: Option<&'a Attribute> = None;
        for slot in &mut self.attributes {
            let Some(attribute) = slot.take_if(|attribute| attribute.name == name) else {
                continue;
            };
            if found.is_none() {
                found = Some(attribute);
            } else {
                let message = format!("{name} is given twice in {}; give it once", self.what);
                report.error("S104", attribute.place, message);
            }
        }
        found.filter(|attribute| !matches!(attribute.value.content, Content::Null))
    }

    /// An attribute that is a text, which `env()` is not.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<(&'a str, SourcePosition)> {
        let attribute = self.take(name, report)?;
        let place = attribute.value.place;
        if let Content::Text(text) = &attribute.value.content {
            return Some((text, place));
        }
        wrong_kind(report, name, "a text in double quotes", &attribute.value);
        None
    }

    /// A name is known.
    fn ask(&mut self, name: &'static str) {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
    }

    /// Whether an attribute is there that nobody has taken yet.
    pub(super) fn is_given(&mut self, name: &'static str) -> bool {
        self.ask(name);
        self.attributes
            .iter()
            .flatten()
            .any(|given| given.name == name)
    }

    /// A text that must be there and not be empty.
    pub(super) fn required(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<(&'a str, SourcePosition)> {
        let is_given = self.is_given(name);
        let found = self.text(name, report);
        match found {
            Some(("", place)) => {
                let message = format!("{name} is empty in {}", self.what);
                report.error("S103", place, message);
                None
            }
            None if !is_given => {
                let message = format!("{} has no {name}; add {name} = \"…\"", self.what);
                report.error("S103", self.place, message);
                None
            }
            found => found,
        }
    }

    /// The name of a connector, with or without `connector.` before it.
    pub(super) fn connector(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<(&'a str, SourcePosition)> {
        let (text, place) = self.text(name, report)?;
        let text = text.strip_prefix("connector.").unwrap_or(text);
        if is_name(text) {
            return Some((text, place));
        }
        report.error(
            "S103",
            place,
            format!("\"{text}\" is not the name of a connector"),
        );
        None
    }

    pub(super) fn truth(&mut self, name: &'static str, report: &mut Report) -> Option<bool> {
        let attribute = self.take(name, report)?;
        if let Content::Bool(truth) = attribute.value.content {
            return Some(truth);
        }
        wrong_kind(report, name, "true or false", &attribute.value);
        None
    }

    pub(super) fn duration(&mut self, name: &'static str, report: &mut Report) -> Option<Duration> {
        let (found, _) = self.placed_duration(name, report)?;
        Some(found)
    }

    /// A duration in which something is to be done.
    pub(super) fn time_limit(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<Duration> {
        let (found, place) = self.placed_duration(name, report)?;
        if found.is_zero() {
            let message = format!(
                "{name} of {} is 0; write a time limit of 1ms or more, or remove it",
                self.what
            );
            report.error("S103", place, message);
            return None;
        }
        Some(found)
    }

    fn placed_duration(
        &mut self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<(Duration, SourcePosition)> {
        let attribute = self.take(name, report)?;
        if let Content::Text(text) = &attribute.value.content
            && let Some(found) = duration(text)
        {
            return Some((found, attribute.value.place));
        }
        let message = format!(
            "{name} of {} is {}, which is not a duration; write \"300ms\", \"30s\", \"5m\", \"24h\", \
             \"7d\" or a sum like \"1d12h\"",
            self.what, attribute.value
        );
        report.error("S107", attribute.value.place, message);
        None
    }

    /// A block without labels; others of the kind are reported.
    pub(super) fn block(&mut self, kind: &'static str, report: &mut Report) -> Option<&'a Block> {
        let mut found: Option<&'a Block> = None;
        for block in self.blocks(kind) {
            if found.is_none() {
                no_labels(block, report);
                found = Some(block);
            } else {
                let message = format!("{kind} is given twice in {}; give it once", self.what);
                report.error("S104", block.place, message);
            }
        }
        found
    }

    /// All blocks of a kind.
    pub(super) fn blocks(&mut self, kind: &'static str) -> Vec<&'a Block> {
        self.asked.push(kind);
        let blocks = self.blocks.iter_mut();
        blocks
            .filter_map(|slot| slot.take_if(|block| block.kind == kind))
            .collect()
    }

    /// Reports that what nobody has taken has no effect.
    pub(super) fn without_effect(self, why: &str, report: &mut Report) {
        let attributes = self.attributes.iter().flatten();
        let attributes = attributes.map(|attribute| (&attribute.name, attribute.place));
        let blocks = self.blocks.iter().flatten();
        for (name, place) in attributes.chain(blocks.map(|block| (&block.kind, block.place))) {
            report.warning("S302", place, format!("{name} has no effect: {why}"));
        }
    }

    /// Reports what nobody has taken.
    pub(super) fn finish(self, report: &mut Report) {
        let known = || self.asked.join(", ");
        for attribute in self.attributes.iter().flatten() {
            let (name, what) = (&attribute.name, &self.what);
            let message = if self.asked.contains(&&**name) {
                format!("{name} is a block in {what}; write {name} {{ … }} without an equals sign")
            } else {
                format!("unknown attribute {name} in {what}; known are {}", known())
            };
            report.error("S102", attribute.place, message);
        }
        for block in self.blocks.iter().flatten() {
            let (kind, what) = (&block.kind, &self.what);
            let message = if self.asked.contains(&&**kind) {
                format!("{kind} is an attribute in {what}; write {kind} = …")
            } else {
                format!("unknown block {kind} in {what}; known are {}", known())
            };
            report.error("S102", block.place, message);
        }
    }
}

pub(super) fn wrong_kind(report: &mut Report, name: &str, expected: &str, value: &Value) {
    report.error(
        "S103",
        value.place,
        format!("{name} is {value}, but must be {expected}"),
    );
}

/// The only label of a block: a name.
pub(super) fn label<'a>(block: &'a Block, report: &mut Report) -> Option<&'a str> {
    match &*block.labels {
        [name] if is_name(name) => Some(name),
        [_] => {
            let message = format!(
                "the name of a {} is empty, longer than {NAME_MAX} bytes or has control characters",
                block.kind
            );
            report.error("S103", block.place, message);
            None
        }
        labels => {
            let (kind, count) = (&block.kind, labels.len());
            let message = format!("{kind} has {count} names; write {kind} \"NAME\" {{ … }}");
            report.error("S103", block.place, message);
            None
        }
    }
}

pub(super) fn no_labels(block: &Block, report: &mut Report) {
    if !block.labels.is_empty() {
        let kind = &block.kind;
        let message = format!("{kind} takes no name; write {kind} {{ … }}");
        report.error("S103", block.place, message);
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_MAX && !text.contains(char::is_control)
}
