//! `connector "NAME" { type = … }`: which attributes each type has (`runs.md` §7).

use super::{
    fields::{Fields, Report, label, wrong_kind},
    model::Connector,
    syntax::{Attribute, Block, Content, SourcePosition, Value},
};
use crate::expr;

/// What an attribute may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// A whole number from the first to the second.
    Number(u32, u32),
    Duration,
    /// A map of texts.
    Texts,
    Word(&'static [&'static str]),
    /// It is there for other programs: S302.
    WithoutEffect,
}

use Form::{Duration, Number, Text, Texts, WithoutEffect, Word};

/// An attribute, what it may be, and whether it must be there.
type Known = (&'static str, Form, bool);

const PORT: Form = Number(1, 65_535);

const HTTP: &[Known] = &[
    ("base_url", Text, true),
    ("timeout", Duration, false),
    ("headers", Texts, false),
    ("tls_ca", Text, false),
];

const DATABASE: &[Known] = &[
    ("driver", Word(&["sqlite", "postgres", "mysql"]), true),
    ("database", Text, true),
    ("host", Text, false),
    ("port", PORT, false),
    ("user", Text, false),
    ("password", Text, false),
    ("timeout", Duration, false),
    ("max_connections", Number(1, 100), false),
    ("tls", Word(&["none", "prefer", "require"]), false),
    ("tls_ca", Text, false),
];

const EMAIL: &[Known] = &[
    ("driver", Word(&["smtp"]), false),
    ("host", Text, true),
    ("port", PORT, false),
    ("username", Text, false),
    ("password", Text, false),
    ("tls", Word(&["none", "starttls", "tls"]), false),
    ("tls_ca", Text, false),
    ("from", Text, true),
    ("to", Text, false),
    ("template", Text, false),
    ("timeout", Duration, false),
];

const REST: &[Known] = &[
    ("port", WithoutEffect, false),
    ("host", WithoutEffect, false),
    ("cors", WithoutEffect, false),
];

const RETRY: &[Known] = &[("attempts", Number(1, 100), true)];

const AUTH: &[(&str, &[Known])] = &[
    ("bearer", &[("token", Text, true)]),
    (
        "basic",
        &[("username", Text, true), ("password", Text, true)],
    ),
    ("api_key", &[("header", Text, false), ("key", Text, true)]),
];

/// The attributes of a block as the members of a JSON object.
#[derive(Default)]
struct BlockMembers {
    written: Vec<(String, String)>,
    variables: Vec<String>,
}

impl BlockMembers {
    fn put(&mut self, name: &str, json: String) {
        self.written.push((name.to_owned(), json));
    }

    fn value(&mut self, name: &str, value: &Value) {
        self.put(name, value.to_json());
        value.each(&mut |value| {
            if let Content::Env(name) = &value.content {
                self.variables.push(name.clone());
            }
        });
    }

    fn json(&self) -> String {
        let members = self.written.iter();
        let members: Vec<_> = members
            .map(|(name, json)| format!("{}:{json}", expr::quoted(name)))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}

pub(super) fn connector(block: &Block, report: &mut Report) -> Option<Connector> {
    let name = label(block, report);
    let mut fields = Fields::of(block);
    let kind = fields.required("type", report);
    let (kind, _) = kind?;
    let mut members = BlockMembers::default();
    members.put("type", expr::quoted(kind));
    match kind {
        "http" => http(&mut fields, &mut members, report),
        "database" => take(&mut fields, &mut members, DATABASE, report),
        "email" => take(&mut fields, &mut members, EMAIL, report),
        "rest" => {
            take(&mut fields, &mut members, REST, report);
            if let Some(block) = fields.blocks("cors").first() {
                unused("cors", block.place, report);
            }
        }
        "entity" => {}
        // A member serves it and is configured where it runs.
        _ => {
            let why = format!("connectors of the type {kind} are served by compute members");
            fields.without_effect(&why, report);
            return Some(of(name?, kind, members, block.place));
        }
    }
    fields.finish(report);
    Some(of(name?, kind, members, block.place))
}

fn of(name: &str, kind: &str, members: BlockMembers, place: SourcePosition) -> Connector {
    Connector {
        name: name.to_owned(),
        kind: kind.to_owned(),
        config: members.json(),
        variables: members.variables,
        place,
    }
}

fn http(fields: &mut Fields<'_>, members: &mut BlockMembers, report: &mut Report) {
    take(fields, members, HTTP, report);
    if let Some(block) = fields.block("retry", report) {
        nested("retry", block, RETRY, members, report);
    }
    let Some(block) = fields.block("auth", report) else {
        return;
    };
    let mut auth = Fields::of(block);
    let Some((kind, place)) = auth.required("type", report) else {
        return;
    };
    let Some((_, known)) = AUTH.iter().find(|(known, _)| *known == kind) else {
        let message = format!("\"{kind}\" is not a type of auth; use bearer, basic or api_key");
        return report.error("S103", place, message);
    };
    let mut within = BlockMembers::default();
    within.put("type", expr::quoted(kind));
    take(&mut auth, &mut within, known, report);
    auth.finish(report);
    members.put("auth", within.json());
    members.variables.append(&mut within.variables);
}

fn nested(
    name: &str,
    block: &Block,
    known: &'static [Known],
    members: &mut BlockMembers,
    report: &mut Report,
) {
    let mut fields = Fields::of(block);
    let mut within = BlockMembers::default();
    take(&mut fields, &mut within, known, report);
    fields.finish(report);
    members.put(name, within.json());
    members.variables.append(&mut within.variables);
}

fn take(
    fields: &mut Fields<'_>,
    members: &mut BlockMembers,
    known: &'static [Known],
    report: &mut Report,
) {
    for (name, form, must) in known {
        if *form == Duration {
            if let Some(found) = fields.time_limit(name, report) {
                members.put(name, found.as_millis().to_string());
            }
            continue;
        }
        let Some(attribute) = fields.take(name, report) else {
            if *must {
                let message = format!("{} has no {name}; add {name} = …", fields.what);
                report.error("S103", fields.place, message);
            }
            continue;
        };
        if fits(attribute, *form, report) {
            members.value(name, &attribute.value);
        }
    }
}

fn fits(attribute: &Attribute, form: Form, report: &mut Report) -> bool {
    let (name, value) = (&*attribute.name, &attribute.value);
    let is_text = |value: &Value| matches!(value.content, Content::Text(_) | Content::Env(_));
    match (form, &value.content) {
        (WithoutEffect, _) => {
            unused(name, attribute.place, report);
            false
        }
        (Text, Content::Text(text)) if text.is_empty() => {
            report.error("S103", value.place, format!("{name} is empty"));
            false
        }
        (Text, _) if is_text(value) => true,
        // Its value is known, and checked, when the bundle is applied.
        (Number(..), Content::Env(_)) => true,
        (Texts, Content::Map(members)) if members.iter().all(|(_, value)| is_text(value)) => true,
        (Number(from, to), Content::Number(number)) => {
            let is_within = number
                .parse()
                .is_ok_and(|number: u32| (from..=to).contains(&number));
            if !is_within {
                let message = format!("{name} is {number}, which is not from {from} to {to}");
                report.error("S103", value.place, message);
            }
            is_within
        }
        (Word(words), Content::Text(text)) => {
            let is_known = words.contains(&&**text);
            if !is_known {
                let message = format!("{name} is \"{text}\"; use {}", words.join(", "));
                report.error("S103", value.place, message);
            }
            is_known
        }
        (form, _) => {
            let expected = match form {
                Text => "a text in double quotes, or env(\"NAME\")",
                Texts => "a map of texts",
                Number(..) => "a whole number, or env(\"NAME\")",
                Word(_) | Duration | WithoutEffect => "a text in double quotes",
            };
            wrong_kind(report, name, expected, value);
            false
        }
    }
}

pub(super) fn unused(name: &str, place: SourcePosition, report: &mut Report) {
    let message = format!("{name} has no effect: requests come to the REST port of the service");
    report.warning("S302", place, message);
}
