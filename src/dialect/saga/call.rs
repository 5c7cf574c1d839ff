//! The fields of an action: what is asked of a connector, and with which values (`orchestration.md`
//! 2.2, 2.3).

use std::collections::BTreeMap;

use super::{
    fields::{Fields, Report, wrong_kind},
    model::Call,
    syntax::{Attribute, Body, Content, ENV, SourcePosition, Value},
    typo::root_meant,
};
use crate::expr::{Scope, Template};

/// Members that only the service itself writes.
const OURS: [&str; 4] = ["$column", "$compute", "$values", ENV];

/// Operations that write to the target of any connector.
const WRITES: [&str; 10] = [
    "INSERT",
    "UPDATE",
    "DELETE",
    "UPSERT",
    "PUBLISH",
    "WRITE",
    "SEND",
    "INSERT_ONE",
    "UPDATE_ONE",
    "DELETE_ONE",
];

/// Operations that read from any connector.
const READS: [&str; 2] = ["SELECT", "GET"];

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// What belongs to a declared connector, by name: its type.
pub(super) type Kinds<'a> = BTreeMap<&'a str, &'a str>;

/// The attributes of an action as they are given.
struct Given<'a> {
    what: String,
    place: SourcePosition,
    operation: (&'a str, SourcePosition),
    target: Option<(&'a str, SourcePosition)>,
    query: Option<(&'a str, SourcePosition)>,
    data: Option<&'a Attribute>,
    body: Option<&'a Attribute>,
    set: Option<&'a Attribute>,
    filter: Option<&'a Attribute>,
    params: Option<&'a Attribute>,
    template: Option<(&'a str, SourcePosition)>,
    to: Option<(&'a str, SourcePosition)>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Calls the connector, with a payload.
    Calls,
    Writes(Write),
    Reads,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Insert,
    Update,
    Delete,
    Other,
}

/// The call of a block; none if it has no connector, which does nothing, or is wrong.
pub(super) fn call(
    body: &Body,
    what: String,
    place: SourcePosition,
    kinds: &Kinds<'_>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Call> {
    let mut fields = Fields::of_body(body, what, place);
    let connector = fields.connector("connector", report);
    let operation = fields.text("operation", report);
    let given = Given {
        what: fields.what.clone(),
        place,
        operation: operation.unwrap_or(("", place)),
        target: fields.text("target", report),
        query: fields.text("query", report),
        data: fields.take("data", report),
        body: fields.take("body", report),
        set: fields.take("set", report),
        filter: fields.take("where", report),
        params: fields.take("params", report),
        template: fields.text("template", report),
        to: fields.text("to", report),
    };
    fields.finish(report);
    let (connector, at) = connector?;
    let kind = kinds.get(connector).copied();
    if kind.is_none() {
        let message = format!(
            "the connector {connector} is not declared, so a compute member with the tag \
             connector:{connector} has to serve it; add connector \"{connector}\" {{ type = … }} if \
             that is not intended"
        );
        report.warning_once("S303", at, message);
    }
    let does = given.does(kind, report)?;
    let request = given.request(kind, does, scope, report);
    Some(Call {
        connector: connector.to_owned(),
        request,
        place,
    })
}

impl Given<'_> {
    const fn has_payload(&self) -> bool {
        self.data.is_some() || self.body.is_some()
    }

    /// What the operation does; none if its connector does not have it.
    fn does(&self, kind: Option<&str>, report: &mut Report) -> Option<Does> {
        let (operation, place) = self.operation;
        let word = operation.to_ascii_uppercase();
        if operation.is_empty() && (kind != Some("database") || self.query.is_none()) {
            let message = format!("{} has no operation; add operation = \"…\"", self.what);
            report.error("S103", place, message);
            return None;
        }
        let write = || match &*word {
            "INSERT" | "INSERT_ONE" => Write::Insert,
            "UPDATE" | "UPDATE_ONE" => Write::Update,
            "DELETE" | "DELETE_ONE" => Write::Delete,
            _ => Write::Other,
        };
        let (does, known) = match kind {
            Some("database") => {
                let does = match &*word {
                    "" | "SELECT" | "GET" => Some(Does::Reads),
                    "INSERT" | "UPDATE" | "DELETE" | "UPSERT" | "INSERT_ONE" | "UPDATE_ONE"
                    | "DELETE_ONE" => Some(Does::Writes(write())),
                    _ => None,
                };
                (
                    does,
                    "INSERT, UPDATE, UPSERT, DELETE, UPDATE_ONE, DELETE_ONE, SELECT and GET",
                )
            }
            Some("entity") => {
                let does = match &*word {
                    "SELECT" | "GET" => Some(Does::Reads),
                    "INSERT" | "UPDATE" | "DELETE" => Some(Does::Writes(write())),
                    _ => word
                        .strip_prefix("TRANSITION ")
                        .is_some_and(|name| !name.trim().is_empty())
                        .then_some(Does::Writes(Write::Other)),
                };
                (
                    does,
                    "INSERT, UPDATE, DELETE, GET and TRANSITION with the name of the transition",
                )
            }
            Some("http") => {
                let is_request = operation.split_once(' ').is_some_and(|(method, path)| {
                    METHODS.contains(&method) && path.starts_with('/') && !path.contains(' ')
                });
                (
                    is_request.then_some(Does::Calls),
                    "requests such as POST /charges",
                )
            }
            Some("email") => {
                let is_send = word == "SEND";
                (is_send.then_some(Does::Writes(Write::Other)), "send")
            }
            Some("rest") => (None, "no operations: it receives requests"),
            _ if operation.contains([' ', '/']) => (Some(Does::Calls), ""),
            _ if WRITES.contains(&&*word) || word.ends_with("_MANY") => {
                (Some(Does::Writes(write())), "")
            }
            // A member has operations of its own, which may need what they are given.
            _ if self.has_payload() && !READS.contains(&&*word) => (Some(Does::Calls), ""),
            _ => (Some(Does::Reads), ""),
        };
        if does.is_none() {
            let kind = kind.unwrap_or_default();
            let message = format!(
                "connectors of the type {kind} do not have the operation \"{operation}\"; they have \
                 {known}"
            );
            report.error("S103", place, message);
        }
        does
    }

    fn request(
        &self,
        kind: Option<&str>,
        does: Does,
        scope: &Scope<'_>,
        report: &mut Report,
    ) -> Template {
        self.check(kind, does, report);
        let operation = match self.operation.0 {
            "" => "SELECT",
            operation => operation,
        };
        let mut members: Vec<(Box<str>, Template)> =
            vec![("operation".into(), Template::literal(operation))];
        let mut put = |name: &str, value: Template| members.push((name.into(), value));
        for (name, given) in [("target", self.target), ("query", self.query)] {
            if let Some((text, _)) = given {
                put(name, Template::literal(text));
            }
        }
        let set = map(self.set, kind, scope, report);
        let is_update = does == Does::Writes(Write::Update);
        // Only a database has columns to compute with; for others it is part of the payload.
        let has_set = is_update && matches!(kind, Some("database"));
        if let Some(payload) = self.payload(does, set.clone().filter(|_| !has_set), scope, report) {
            put("payload", payload);
        }
        if let Some(set) = set.filter(|_| has_set) {
            put("set", marked(set));
        }
        if let Some(filter) = plain(self.filter, scope, report) {
            put("where", filter);
        }
        if let Some(params) = plain(self.params, scope, report) {
            put("params", params);
        }
        for (name, given) in [("template", self.template), ("to", self.to)] {
            if let Some((text, place)) = given {
                put(name, texts(text, place, scope, report));
            }
        }
        Template::Object(members)
    }

    /// What is sent or written.
    fn payload(
        &self,
        does: Does,
        set: Option<Template>,
        scope: &Scope<'_>,
        report: &mut Report,
    ) -> Option<Template> {
        let data = plain(self.data, scope, report);
        let body = plain(self.body, scope, report);
        let chosen = match does {
            Does::Calls => body.or(data).or_else(|| {
                // Its findings are reported where it is a member of its own.
                plain(self.params, scope, &mut Report::default())
            }),
            Does::Writes(Write::Insert) => Some(data.or(body).unwrap_or(Template::Body)),
            Does::Writes(Write::Update | Write::Other) => data.or(body),
            Does::Writes(Write::Delete) | Does::Reads => None,
        };
        let mut more = Vec::new();
        if let Some(Template::Object(set)) = set {
            more.extend(set);
        }
        if matches!(does, Does::Calls | Does::Writes(Write::Other)) {
            for (name, given) in [("template", self.template), ("to", self.to)] {
                if let Some((text, place)) = given {
                    let value = texts(text, place, scope, &mut Report::default());
                    more.push((name.into(), value));
                }
            }
        }
        match (chosen, more.is_empty()) {
            (chosen, true) => chosen,
            (Some(Template::Object(mut members)), false) => {
                members.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
                members.extend(more);
                Some(Template::Object(members))
            }
            (_, false) => Some(Template::Object(more)),
        }
    }

    /// What belongs together.
    fn check(&self, kind: Option<&str>, does: Does, report: &mut Report) {
        let operation = self.operation.0;
        let is_empty = |given: Option<&Attribute>| match given.map(|given| &given.value.content) {
            None => true,
            Some(Content::Map(members)) => members.is_empty(),
            Some(_) => false,
        };
        let mut missing = |name: &str, why: &str| {
            let message = format!("{operation} in {} has no {name}; {why}", self.what);
            report.error("S103", self.place, message);
        };
        let is_stored = matches!(kind, Some("database" | "entity"));
        let changes = matches!(does, Does::Writes(Write::Update | Write::Delete));
        if kind == Some("database") && changes && is_empty(self.filter) {
            missing(
                "where",
                "without it every row would be changed: add where = { … }",
            );
        }
        if is_stored && self.target.is_none_or(|(target, _)| target.is_empty()) {
            let is_query = kind == Some("database") && does == Does::Reads && self.query.is_some();
            if !is_query {
                missing("target", "add target = \"…\"");
            }
        }
        if kind == Some("database")
            && does == Does::Writes(Write::Update)
            && is_empty(self.set)
            && is_empty(self.data)
            && is_empty(self.body)
        {
            missing("set", "add set = { … }");
        }
        if let Some((target, place)) = self.target {
            let fits = match kind {
                Some("database") => is_identifier(target),
                Some("entity") => is_model(target),
                _ => true,
            };
            if !fits && !target.is_empty() {
                let message = if kind == Some("entity") {
                    format!(
                        "\"{target}\" is not a model; write \"name/version\", such as \"order/1\""
                    )
                } else {
                    format!("\"{target}\" is not the name of a table: letters, digits and _")
                };
                report.error("S103", place, message);
            }
        }
        if kind == Some("entity") {
            self.check_id(does, report);
        }
        if let Some(filter) = self.filter
            && does == Does::Reads
            && is_stored
        {
            let message = format!("where has no effect on {operation}; write it into params");
            if kind == Some("entity") {
                report.error("S103", filter.place, message);
            } else {
                report.warning("S302", filter.place, message);
            }
        }
        if let Some(set) = self.set
            && does != Does::Writes(Write::Update)
        {
            let message = format!("set has no effect on {operation}; use data or body");
            report.warning("S302", set.place, message);
        }
        if matches!(does, Does::Reads | Does::Writes(Write::Delete)) {
            for unused in [self.data, self.body].into_iter().flatten() {
                let name = &unused.name;
                let message = format!("{name} has no effect on {operation}; use where or params");
                report.warning("S302", unused.place, message);
            }
        }
    }

    /// Reports that a step on an entity does not name it: entities are not looked for.
    fn check_id(&self, does: Does, report: &mut Report) {
        let (name, given) = match does {
            Does::Calls | Does::Writes(Write::Insert) => return,
            Does::Reads => ("params", self.params),
            Does::Writes(Write::Update | Write::Delete | Write::Other) => ("where", self.filter),
        };
        let members = match given.map(|given| &given.value.content) {
            None => &[][..],
            Some(Content::Map(members)) => members,
            // It is reported where it is read.
            Some(_) => return,
        };
        let id = members.iter().find(|(member, _)| member == "id");
        match id.map(|(_, id)| (id, &id.content)) {
            None => {
                let (operation, _) = self.operation;
                let message = format!(
                    "{operation} in {} has no id in {name}, and entities are found by nothing else; \
                     add {name} = {{ id = \"…\" }}",
                    self.what
                );
                report.error("S103", self.place, message);
            }
            Some((id, Content::Null | Content::Bool(_) | Content::Number(_))) => {
                wrong_kind(report, "id", "the id of an entity in double quotes", id);
            }
            Some(_) => {}
        }
    }
}

/// What a column is set to, with values that are only known later marked as such: one may look like
/// an instruction to compute something, and is not to be followed.
fn marked(set: Template) -> Template {
    let Template::Object(members) = set else {
        return set;
    };
    let members = members.into_iter().map(|(name, value)| {
        let is_known_later = matches!(value, Template::Cel(_) | Template::Body);
        let value = if is_known_later {
            Template::Object(vec![("$value".into(), value)])
        } else {
            value
        };
        (name, value)
    });
    Template::Object(members.collect())
}

/// A map, in which other names are columns of the row if a database, or a member that may stand for
/// one, changes it.
fn map(
    given: Option<&Attribute>,
    kind: Option<&str>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Template> {
    let scope = Scope {
        has_columns: !matches!(kind, Some("http" | "email" | "entity" | "rest")),
        ..*scope
    };
    let mapped = plain(given, &scope, report);
    if scope.has_columns
        && let Some(Content::Map(members)) = given.map(|given| &given.value.content)
    {
        for (name, value) in members {
            if let Content::Text(text) = &value.content
                && is_sum_of_columns(text)
            {
                let message = format!(
                    "{name} is set to the text \"{text}\" as it stands: only what reads input, step \
                     or error is an expression, such as \"{name} + input.quantity\""
                );
                report.warning("S305", value.place, message);
            }
        }
    }
    mapped
}

/// Whether a text, which reads nothing, is names and numbers with operators between them.
fn is_sum_of_columns(text: &str) -> bool {
    let spaced = text
        .replace('+', " + ")
        .replace('*', " * ")
        .replace('%', " % ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let is_name = |word: &str| !word.contains('.') && is_identifier(word);
    let has_form = words.iter().enumerate().all(|(place, word)| {
        if place % 2 == 1 {
            // Without spaces, `-` and `/` are parts of a text.
            return ["+", "-", "*", "/", "%"].contains(word);
        }
        is_name(word) || word.parse::<f64>().is_ok()
    });
    has_form && words.len() >= 3 && words.len() % 2 == 1 && words.iter().any(|word| is_name(word))
}

/// A map.
fn plain(given: Option<&Attribute>, scope: &Scope<'_>, report: &mut Report) -> Option<Template> {
    let given = given?;
    if !matches!(given.value.content, Content::Map(_)) {
        wrong_kind(report, &given.name, "a map: { name = value }", &given.value);
        return None;
    }
    Some(template(&given.value, scope, report))
}

/// A value in which texts may be expressions.
pub(super) fn template(value: &Value, scope: &Scope<'_>, report: &mut Report) -> Template {
    match &value.content {
        Content::Text(text) => texts(text, value.place, scope, report),
        Content::List(items) => Template::Array(
            items
                .iter()
                .map(|item| template(item, scope, report))
                .collect(),
        ),
        Content::Map(members) => {
            let members = members.iter().map(|(name, member)| {
                if OURS.contains(&&**name) {
                    let message = format!("{name} is a reserved name; choose another");
                    report.error("S103", member.place, message);
                }
                (name.as_str().into(), template(member, scope, report))
            });
            Template::Object(members.collect())
        }
        Content::Env(_) => {
            let message = "env() stands in connectors only, where its value is kept secret; write \
                           the value, or put it into the connector";
            report.error("S103", value.place, message);
            Template::Literal("null".into())
        }
        Content::Other(what) => {
            let message = format!(
                "{what} cannot be used here; write a plain value, or an expression over input, \
                 step or error in double quotes"
            );
            report.error("S103", value.place, message);
            Template::Literal("null".into())
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => {
            Template::Literal(value.to_json().into())
        }
    }
}

/// A text that may be an expression.
pub(super) fn texts(
    text: &str,
    place: SourcePosition,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Template {
    let template = Template::of_text(text, scope).unwrap_or_else(|error| {
        report.cel(place, text, &error);
        Template::Literal("null".into())
    });
    if matches!(template, Template::Literal(_))
        && let Some((root, rest)) = root_meant(text)
    {
        let message = format!(
            "\"{text}\" is written as it stands, because it reads none of input, step and error; did \
             you mean \"{root}.{rest}\"?"
        );
        report.warning("S306", place, message);
    }
    template
}

/// `name`, or `schema.name`.
fn is_identifier(target: &str) -> bool {
    let mut parts = target.split('.');
    parts.clone().count() <= 2
        && parts.all(|part| {
            part.len() <= 63
                && part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// `name/version`.
fn is_model(target: &str) -> bool {
    target.rsplit_once('/').is_some_and(|(name, version)| {
        !name.is_empty() && version.parse().is_ok_and(|version: u32| version > 0)
    })
}
