use std::collections::BTreeSet;

use super::{
    super::{page::PAGES, spelling::SPELLINGS},
    entry::names_in,
    *,
};
use crate::error::Code;

#[test]
fn every_part_of_a_path_is_described() {
    for entry in entries(Compat::Documented) {
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
    } in entries(Compat::Documented)
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
    let written = document(
        SchemaSettings::draft2020_12().for_serialize(),
        Compat::Documented,
    );
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

/// Codes of failures that no path answers as a problem: they are of streams and of events.
const ELSEWHERE: &[Code] = &[Code::AlreadyJoined, Code::Cancelled, Code::UnknownEventType];

#[test]
fn every_code_is_answered_by_a_path() {
    let answered: BTreeSet<_> = entries(Compat::Documented)
        .into_iter()
        .flat_map(|entry| entry.codes)
        .map(|(_, code)| code.as_str())
        .collect();
    let elsewhere: BTreeSet<_> = ELSEWHERE.iter().map(|code| code.as_str()).collect();
    let all: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(&all - &answered, elsewhere);
}

#[test]
fn a_body_may_come_too_slowly() {
    for entry in entries(Compat::Documented) {
        let is_declared = entry.codes.iter().any(|(status, _)| *status == 408);
        let speaks_oauth = entry.description.name == "getToken";
        let has_body = !entry.body.is_empty();
        assert_eq!(is_declared, has_body && !speaks_oauth, "{}", entry.path);
    }
}

/// Generators of clients refuse a default that its own schema rejects, and `true` for a schema; that
/// of Python writes a default null as `null`, which is not Python.
#[test]
fn generators_of_clients_accept_the_schemas() {
    fn check(schema: &Value, place: &str) {
        assert_ne!(schema, true, "{place}");
        assert_ne!(schema.get("default"), Some(&Value::Null), "{place}");
        if let Some(default) = schema.get("default")
            && !schema.to_string().contains("$ref")
        {
            let validator = jsonschema::validator_for(schema).expect("a schema");
            assert!(validator.is_valid(default), "{place}: {schema}");
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            check(schema, &format!("{place}.{name}"));
        }
        for word in ["items", "contentSchema"] {
            if let Some(schema) = schema.get(word) {
                check(schema, &format!("{place}.{word}"));
            }
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            for schema in schema[word].as_array().into_iter().flatten() {
                check(schema, &format!("{place}.{word}"));
            }
        }
    }
    let shapes = DOCUMENT["components"]["schemas"].as_object();
    for (name, schema) in shapes.expect("an object") {
        check(schema, name);
    }
    let token = &DOCUMENT["components"]["schemas"]["TokenRequest"];
    assert_eq!(token["required"], json!(["grant_type"]));
}

#[test]
fn what_is_there_is_declared() {
    let answer = |path: &str, method: &str, status: &str| {
        DOCUMENT["paths"][path][method]["responses"][status].clone()
    };
    for (path, method, media) in [
        ("/entity/{entityId}/explain", "get", "application/json"),
        (
            "/search/direct/{entityName}/{modelVersion}",
            "post",
            "application/json",
        ),
    ] {
        let explained = &answer(path, method, "200")["content"][media]["schema"]["properties"];
        assert!(explained["success"].is_object(), "{path}");
    }
    for path in ["/files/{path}", "/managers/{manager}"] {
        assert!(answer(path, "get", "200")["headers"]["ETag"].is_object());
    }
    assert!(answer("/health", "get", "503").is_object());
    let token = answer("/oauth/token", "post", "503");
    assert_eq!(token["content"].as_object().map(Map::len), Some(2));
    let limited = answer("/runs", "get", "429");
    assert!(limited["headers"]["Retry-After"].is_object());
    for (path, name, kind) in [
        ("/runs", "status", "array"),
        ("/runs", "attribute", "array"),
        ("/tasks", "status", "array"),
        ("/runs/stream", "Last-Event-ID", "string"),
        ("/runs/{runId}/history/stream", "Last-Event-ID", "string"),
    ] {
        let parameters = DOCUMENT["paths"][path]["get"]["parameters"].as_array();
        let mut parameters = parameters.into_iter().flatten();
        let found = parameters.find(|parameter| parameter["name"] == name);
        assert_eq!(found.expect(name)["schema"]["type"], kind, "{path} {name}");
    }
}
