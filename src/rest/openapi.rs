//! The `OpenAPI` 3.1 document: made of the tables of paths, the table of operations, the types of
//! payloads and the table of codes (`rest.md` §8).

use std::{collections::BTreeMap, sync::LazyLock};

use axum::{
    extract::Request,
    http::{Method, header},
    response::Response,
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    answer::Answered,
    described::{
        ALWAYS, Body, Description, Parameter, Shape, Tag, WRITES,
        parameter::{KEY, ParameterLocation, TOKEN, part},
    },
    json,
    page::{PAGES, Page},
    problem::Problem,
    spelling::{SPELLINGS, Spelling},
};
use crate::auth::Permission;
use crate::error::{Code, Failure};
use crate::operation::{Access, Route};

/// Where components are that schemas refer to.
const COMPONENTS: &str = "/components/schemas";

/// The document, but for where it is served.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(SchemaSettings::draft2020_12()));

/// The document of a service that is reached there.
pub fn openapi(server: &str) -> Value {
    let mut document = DOCUMENT.clone();
    document["servers"] = json!([{"url": server}]);
    document
}

/// The document of a service that ignores idempotency keys.
pub(super) fn openapi_without_keys(server: &str) -> Value {
    let mut document = openapi(server);
    let within = |value| {
        Value::as_object_mut(value)
            .into_iter()
            .flat_map(Map::values_mut)
    };
    for operation in within(&mut document["paths"]).flat_map(within) {
        if let Some(parameters) = operation["parameters"].as_array_mut() {
            parameters.retain(|parameter| parameter["name"] != KEY.name);
        }
    }
    document
}

/// Returns the document. Its server is the address that the client used.
pub(super) fn serve(
    request: &Request,
    context: &str,
    is_tls: bool,
    document: fn(&str) -> Value,
) -> Response {
    let header = |name: &str| {
        let value = request.headers().get(name)?.to_str().ok()?;
        Some(value.split(',').next()?.trim().to_owned())
    };
    // A proxy may have ended TLS before.
    let is_https = is_tls || header("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let scheme = if is_https { "https" } else { "http" };
    let host = header("x-forwarded-host")
        .or_else(|| header(header::HOST.as_str()))
        .or_else(|| request.uri().authority().map(ToString::to_string));
    let server = match host {
        Some(host) => format!("{scheme}://{host}{context}"),
        None => context.to_owned(),
    };
    json(document(&server).to_string())
}

/// One method of one path, from whichever table it is.
struct Entry {
    path: &'static str,
    method: &'static Method,
    description: &'static Description,
    /// The answers, by media type.
    media: Vec<(&'static str, Shape, Amount)>,
    codes: Vec<(u16, Code)>,
    /// What is answered where it is not a problem document, by status.
    refusals: &'static [(u16, Shape)],
    /// Anyone may ask, without saying who they are.
    is_public: bool,
    takes_token: bool,
    /// What the table of operations says.
    operation: Option<&'static Route>,
    /// What else it is, by its query.
    by_query: Vec<(&'static str, &'static Route)>,
}

/// How many of what a shape describes are in a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    One,
    List,
    Lines,
    Events,
}

impl Entry {
    fn spelled(spelling: &'static Spelling) -> Self {
        let media = match spelling.read {
            Answered::Value(_)
            | Answered::WithStatus(_)
            | Answered::Tagged(_)
            | Answered::First(_)
            | Answered::Page(_) => Some(("application/json", Amount::One)),
            Answered::Empty => None,
            Answered::Text(_) => Some(("text/plain", Amount::One)),
            Answered::List(_) => Some(("application/json", Amount::List)),
            Answered::Lines(_) => Some(("application/x-ndjson", Amount::Lines)),
            Answered::Live(_) => Some(("text/event-stream", Amount::Events)),
        };
        let media = media.map(|(media, amount)| (media, spelling.description.answer, amount));
        let route = Route::of(spelling.request);
        let mut codes = ALWAYS.to_vec();
        if route.is_some_and(|route| route.access == Access::Write) {
            codes.extend(WRITES);
        }
        codes.extend(spelling.description.codes.iter().copied().flatten());
        let mut codes: Vec<_> = codes
            .into_iter()
            .map(|code| {
                let failure = (spelling.fault)(Failure::new(code, ""));
                (failure.status().as_u16(), code)
            })
            .collect();
        if spelling.limit.status != Code::BadRequest.status() {
            codes.push((spelling.limit.status.as_u16(), Code::BadRequest));
        }
        Self {
            path: spelling.place().0,
            method: &spelling.method,
            description: spelling.description,
            media: media.into_iter().collect(),
            codes,
            refusals: &[],
            is_public: false,
            takes_token: true,
            operation: route,
            by_query: Vec::new(),
        }
    }

    fn of_page(page: &'static Page) -> Self {
        let media = page.media.iter();
        Self {
            path: page.path,
            method: &page.method,
            description: page.description,
            media: media
                .map(|(media, shape)| (*media, *shape, Amount::One))
                .collect(),
            codes: with_status(page.description.codes.iter().copied().flatten().copied()),
            refusals: page.refusals,
            is_public: page.is_public,
            takes_token: false,
            operation: None,
            by_query: Vec::new(),
        }
    }

    /// The names in braces in the path, and what they are.
    fn parts(&self) -> Vec<(&'static str, Option<Parameter>)> {
        names_in(self.path)
            .map(|name| {
                let given = self
                    .description
                    .parts
                    .iter()
                    .find(|(given, _)| *given == name);
                (name, given.map(|(_, part)| *part).or_else(|| part(name)))
            })
            .collect()
    }
}

fn with_status(codes: impl IntoIterator<Item = Code>) -> Vec<(u16, Code)> {
    let with = |code: Code| (code.status().as_u16(), code);
    codes.into_iter().map(with).collect()
}

/// The names in braces.
fn names_in(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'))
}

fn entries() -> Vec<Entry> {
    let (plain, by_query): (Vec<_>, Vec<_>) = SPELLINGS
        .iter()
        .partition(|spelling| spelling.place().1.is_none());
    let mut spelled: Vec<_> = plain.into_iter().map(Entry::spelled).collect();
    // To the document it is one method of one path that answers in different ways.
    for spelling in by_query {
        let other = Entry::spelled(spelling);
        let same = |entry: &&mut Entry| entry.path == other.path && entry.method == other.method;
        if let Some(entry) = spelled.iter_mut().find(same) {
            entry.media.extend(other.media);
            entry
                .by_query
                .extend(spelling.place().1.zip(other.operation));
        }
    }
    spelled.extend(PAGES.iter().map(Entry::of_page));
    spelled
}

fn document(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.definitions_path = COMPONENTS.into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    generator.subschema_for::<Problem<'_>>();
    let entries = entries();
    let mut by_path: BTreeMap<&'static str, Vec<&Entry>> = BTreeMap::new();
    for entry in &entries {
        by_path.entry(entry.path).or_default().push(entry);
    }
    let mut paths = Map::new();
    for (path, entries) in by_path {
        let names = shared_names(&entries);
        let plain = path.replace("{*", "{");
        let readable = names.iter().fold(plain, |path, (name, shared)| {
            path.replace(&format!("{{{name}}}"), &format!("{{{shared}}}"))
        });
        let methods = entries.iter().map(|entry| {
            (
                entry.method.as_str().to_ascii_lowercase(),
                operation(entry, &names, &mut generator),
            )
        });
        paths.insert(readable, Value::Object(methods.collect()));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Interlock",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
        },
        "tags": Tag::ALL.iter().map(|tag| json!({"name": tag.name(), "description": tag.meaning()})).collect::<Value>(),
        "paths": paths,
        "security": [{"bearer": []}],
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "An access token, without the word `Bearer`; `POST /oauth/token` issues one to a client. Ignored while authentication is mocked, which is the default."}
            },
            "schemas": generator.take_definitions(true)
        }
    })
}

const DESCRIPTION: &str = "Every record is an *entity* in a *workflow*, and every request is a \
                           CloudEvent: each path corresponds to an event that gRPC accepts as \
                           well. Bodies are JSON, and numbers in documents keep their digits. \
                           Failures are problem documents (RFC 9457) with a code in \
                           `properties.errorCode`. `GET help` below the context path has the \
                           documentation.";

/// What parts of a path are called where methods that share it mean different things by them: one
/// name, because paths that differ in their parts' names are the same path.
fn shared_names(entries: &[&Entry]) -> Vec<(&'static str, String)> {
    let mut shared: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
    for (name, part) in entries.iter().flat_map(|entry| entry.parts()) {
        let meaning = part.map_or(name, |part| part.name);
        match shared.iter_mut().find(|(given, _)| *given == name) {
            Some((_, meanings)) if meanings.contains(&meaning) => {}
            Some((_, meanings)) => meanings.push(meaning),
            None => shared.push((name, vec![meaning])),
        }
    }
    let join = |meanings: Vec<&str>| {
        let mut joined = String::new();
        for meaning in meanings {
            if joined.is_empty() {
                joined.push_str(meaning);
            } else {
                joined.push_str("Or");
                joined.push_str(&meaning[..1].to_ascii_uppercase());
                joined.push_str(&meaning[1..]);
            }
        }
        joined
    };
    shared
        .into_iter()
        .map(|(name, meanings)| (name, join(meanings)))
        .collect()
}

fn operation(
    entry: &Entry,
    names: &[(&'static str, String)],
    generator: &mut SchemaGenerator,
) -> Value {
    let described = entry.description;
    let mut parameters = Vec::new();
    for (name, part) in entry.parts() {
        let shared = names.iter().find(|(given, _)| *given == name);
        if let (Some(part), Some((_, shared))) = (part, shared) {
            parameters.push(parameter(&part, shared, generator));
        }
    }
    let token = entry.takes_token.then_some(&TOKEN);
    let once = |route: &&Route| route.access == Access::Write && route.once;
    let key = entry.operation.filter(once).map(|_| &KEY);
    for given in described.parameters.iter().chain(token).chain(key) {
        parameters.push(parameter(given, given.name, generator));
    }
    let mut object = json!({
        "operationId": described.name,
        "tags": [described.tag.name()],
        "summary": described.summary,
        "description": description(entry),
        "parameters": parameters,
        "responses": responses(entry, generator)
    });
    if let Some(body) = body(&described.body, generator) {
        object["requestBody"] = body;
    }
    if entry.is_public {
        object["security"] = json!([]);
    }
    object
}

fn description(entry: &Entry) -> String {
    let mut paragraphs = Vec::new();
    if !entry.description.text.is_empty() {
        paragraphs.push(entry.description.text.to_owned());
    }
    if let Some(route) = entry.operation {
        paragraphs.push(format!("Event: `{}`.", route.request));
        if let Permission::Role(role) = route.needs {
            paragraphs.push(format!("Requires the role `{role}`."));
        }
    }
    for (query, route) in &entry.by_query {
        paragraphs.push(format!("Event with `{query}`: `{}`.", route.request));
    }
    paragraphs.join("\n\n")
}

fn parameter(parameter: &Parameter, name: &str, generator: &mut SchemaGenerator) -> Value {
    let text = if name == parameter.name || parameter.place != ParameterLocation::Path {
        parameter.text.to_owned()
    } else {
        format!("`{}`. {}", parameter.name, parameter.text)
    };
    json!({
        "name": name,
        "in": parameter.place.as_str(),
        "required": parameter.required,
        "description": text,
        "schema": (parameter.shape)(generator)
    })
}

fn body(body: &Body, generator: &mut SchemaGenerator) -> Option<Value> {
    let json = |shape: &Shape, required: bool, generator: &mut SchemaGenerator| {
        Some(json!({
            "required": required,
            "content": {"application/json": {"schema": shape(generator)}}
        }))
    };
    match body {
        Body::None => None,
        Body::Json(shape) => json(shape, true, generator),
        Body::OptionalJson(shape) => json(shape, false, generator),
        Body::Media(media) => {
            let content: Map<String, Value> = media
                .iter()
                .map(|(name, shape)| ((*name).to_owned(), json!({"schema": shape(generator)})))
                .collect();
            Some(json!({"required": true, "content": content}))
        }
    }
}

fn responses(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let content: Map<String, Value> = entry
        .media
        .iter()
        .map(|(media, shape, amount)| {
            let schema = shape(generator);
            let schema = match amount {
                Amount::One => json!({"schema": schema}),
                Amount::List => json!({"schema": {"type": "array", "items": schema}}),
                // `OpenAPI` 3.1 has no word for one value to a line.
                Amount::Lines => json!({"schema": {"type": "string", "description": "One value per line.", "contentSchema": schema}}),
                Amount::Events => json!({"schema": {"description": "Server-sent events with such values as data.", "contentSchema": schema}}),
            };
            ((*media).to_owned(), schema)
        })
        .collect();
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({"description": entry.description.summary, "content": content}),
    );
    if let Some(shape) = entry.description.accepted {
        let content = json!({"application/json": {"schema": shape(generator)}});
        responses.insert(
            "202".to_owned(),
            json!({"description": "Accepted; the work continues.", "content": content}),
        );
    }
    let mut by_status: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    for (status, code) in &entry.codes {
        let names = by_status.entry(*status).or_default();
        if !names.contains(&code.as_str()) {
            names.push(code.as_str());
        }
    }
    for (status, mut names) in by_status {
        names.sort_unstable();
        responses.insert(status.to_string(), problem(status, &names));
    }
    for (status, shape) in entry.refusals {
        let content = json!({"application/json": {"schema": shape(generator)}});
        responses.insert(
            status.to_string(),
            json!({"description": "Refused.", "content": content}),
        );
    }
    Value::Object(responses)
}

/// A failure with one of those codes.
fn problem(status: u16, codes: &[&str]) -> Value {
    let listed: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
    json!({
        "description": listed.join(", "),
        "content": {"application/problem+json": {"schema": {
            "allOf": [{"$ref": format!("#{COMPONENTS}/Problem")}],
            "properties": {
                "status": {"const": status},
                "properties": {"properties": {"errorCode": {"enum": codes}}}
            }
        }}}
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_part_of_a_path_is_described() {
        for entry in entries() {
            for (name, part) in entry.parts() {
                assert!(part.is_some(), "{} {}: {name}", entry.method, entry.path);
            }
            let numbered = names_in(entry.path)
                .filter(|name| ["first", "second", "third"].contains(name))
                .all(|name| {
                    entry
                        .description
                        .parts
                        .iter()
                        .any(|(given, _)| *given == name)
                });
            assert!(numbered, "{} {}", entry.method, entry.path);
        }
    }

    #[test]
    fn every_method_of_every_path_has_a_name_of_its_own_and_a_summary() {
        let mut names = BTreeSet::new();
        for Entry {
            description: described,
            path,
            ..
        } in entries()
        {
            assert!(
                names.insert(described.name),
                "{path}: {} is taken",
                described.name
            );
            assert!(
                !described.summary.is_empty() && !described.summary.ends_with('.'),
                "{path}"
            );
        }
    }

    #[test]
    fn every_method_of_every_path_is_in_the_document_once() {
        let methods: usize = DOCUMENT["paths"]
            .as_object()
            .expect("an object")
            .values()
            .map(|path| path.as_object().expect("an object").len())
            .sum();
        let plain = SPELLINGS
            .iter()
            .filter(|spelling| spelling.place().1.is_none());
        assert_eq!(methods, plain.count() + PAGES.len());
    }

    #[test]
    fn what_is_left_out_of_an_answer_is_not_required() {
        let written = document(SchemaSettings::draft2020_12().for_serialize());
        let required = |document: &Value, name: &str| {
            let names = &document["components"]["schemas"][name]["required"];
            let names = names.as_array().cloned().unwrap_or_default();
            names.iter().map(Value::to_string).collect::<BTreeSet<_>>()
        };
        let shapes = DOCUMENT["components"]["schemas"].as_object();
        for name in shapes.expect("an object").keys() {
            let always = required(&written, name);
            let extra = &required(&DOCUMENT, name) - &always;
            assert!(extra.is_empty(), "{name}: {extra:?}");
        }
    }

    /// The generator numbers the second shape of a name, and clients make a class of it.
    #[test]
    fn every_shape_has_a_name_of_its_own() {
        let shapes = DOCUMENT["components"]["schemas"].as_object();
        for name in shapes.expect("an object").keys() {
            assert!(
                !name.ends_with(|last: char| last.is_ascii_digit()),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_referred_to_is_there() {
        fn check(value: &Value) {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(reference)) = members.get("$ref") {
                        let pointer = reference.strip_prefix('#').expect("in the document");
                        assert!(DOCUMENT.pointer(pointer).is_some(), "{reference}");
                    }
                    members.values().for_each(check);
                }
                Value::Array(items) => items.iter().for_each(check),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        check(&DOCUMENT);
    }
}
