//! The `OpenAPI` 3.1 document: made of the tables of paths, the table of operations, the types of
//! payloads and the table of codes (`rest.md` §8).

mod entry;

use std::{collections::BTreeMap, sync::LazyLock};

use axum::{extract::Request, http::header, response::Response};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    described::{
        Body, Parameter, Tag,
        parameter::{KEY, ParameterLocation, TOKEN},
    },
    json,
    problem::Problem,
};
use crate::compat::Compat;
use crate::event::payload::ErrorMember;
use entry::{Amount, Entry, entries};

/// Where components are that schemas refer to.
const COMPONENTS: &str = "/components/schemas";

/// The document of a profile, but for where it is served.
static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| document(SchemaSettings::draft2020_12(), Compat::Documented));
static DOCUMENT_OF_CYODA: LazyLock<Value> =
    LazyLock::new(|| document(SchemaSettings::draft2020_12(), Compat::Cyoda08));

/// The document of a service that is reached there.
pub fn openapi(server: &str) -> Value {
    openapi_of(Compat::Documented, server)
}

/// The document of a service with that profile.
fn openapi_of(compat: Compat, server: &str) -> Value {
    let mut document = match compat {
        Compat::Documented => DOCUMENT.clone(),
        Compat::Cyoda08 => DOCUMENT_OF_CYODA.clone(),
    };
    document["servers"] = json!([{"url": server}]);
    document
}

/// Returns the document. Its server is the address that the client used.
pub(super) fn serve(request: &Request, context: &str, is_tls: bool, compat: Compat) -> Response {
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
    json(openapi_of(compat, &server).to_string())
}

fn document(settings: SchemaSettings, compat: Compat) -> Value {
    let settings = settings.with(|settings| {
        settings.definitions_path = COMPONENTS.into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    generator.subschema_for::<Problem<'_>>();
    let entries = entries(compat);
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
    let mut document = json!({
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
    });
    tidy(&mut document);
    document
}

/// Makes schemas what generators of clients read: without the default null, which some write into
/// their code as it is and others reject, and with an empty schema in place of `true`.
fn tidy(value: &mut Value) {
    if let Value::Object(members) = value {
        if members.get("default").is_some_and(Value::is_null) {
            members.remove("default");
        }
        for (name, member) in members {
            if name == "items" && *member == true {
                *member = json!({});
            } else if let ("properties", Some(properties)) = (&**name, member.as_object_mut()) {
                for property in properties.values_mut().filter(|one| **one == true) {
                    *property = json!({});
                }
                properties.values_mut().for_each(tidy);
            } else if name != "examples" && name != "default" {
                // Those are not schemas, but what documents are like.
                tidy(member);
            }
        }
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(tidy);
    }
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
    let key = entry.takes_key.then_some(&KEY);
    let given = entry.parameters.iter().copied();
    for given in given.chain(token).chain(key) {
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
    if !entry.body.is_empty() {
        let shapes = entry.body.iter();
        let content = shapes.map(|(name, shape)| {
            let schema = shape(generator);
            ((*name).to_owned(), json!({"schema": schema}))
        });
        object["requestBody"] = json!({
            "required": !matches!(described.body, Body::OptionalJson(_)),
            "content": content.collect::<Map<_, _>>()
        });
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
        paragraphs.extend(route.needs.sentence());
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
                Amount::Events => {
                    let failure = generator.subschema_for::<ErrorMember<'_>>();
                    json!({"schema": {
                        "description": "Server-sent events with such values as data; that of an event `failure` is an error.",
                        "contentSchema": {"anyOf": [schema, failure]}
                    }})
                }
            };
            ((*media).to_owned(), schema)
        })
        .collect();
    let mut responses = Map::new();
    let mut done = json!({"description": entry.description.summary, "content": content});
    if entry.is_tagged {
        done["headers"] = json!({"ETag": {
            "required": true, "description": "The version, for `If-Match`.", "schema": {"type": "string"}
        }});
    }
    responses.insert("200".to_owned(), done);
    if entry
        .media
        .iter()
        .any(|(_, _, amount)| *amount == Amount::Events)
    {
        let nothing = json!({"description": "Nothing follows."});
        responses.insert("204".to_owned(), nothing);
    }
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
        let refusal = responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": "Refused.", "content": {}}));
        refusal["content"]["application/json"] = json!({"schema": shape(generator)});
    }
    Value::Object(responses)
}

/// A failure with one of those codes.
fn problem(status: u16, codes: &[&str]) -> Value {
    let listed: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
    let mut problem = json!({
        "description": listed.join(", "),
        "content": {"application/problem+json": {"schema": {
            "allOf": [{"$ref": format!("#{COMPONENTS}/Problem")}],
            "properties": {
                "status": {"const": status},
                "properties": {"properties": {"errorCode": {"enum": codes}}}
            }
        }}}
    });
    if status == 429 {
        problem["headers"] = json!({"Retry-After": {
            "description": "The seconds after which to retry, where that is known.",
            "schema": {"type": "integer", "minimum": 0}
        }});
    }
    problem
}

#[cfg(test)]
mod tests;
