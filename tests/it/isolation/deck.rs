//! Every place of every request, at every API, into which something of another can be put.

use std::collections::BTreeSet;

use interlock::{
    event::EventType,
    operation::{Access, Answers, Family, ROUTES, Route},
    rest::{SPELLINGS, Spelling},
};
use serde_json::{Value, json};

use super::mirrored::{Api, Asked};
use crate::{
    openapi::fits,
    parity::{asked_of, example},
};

/// One place at one API.
#[derive(Clone)]
pub(super) struct Card {
    pub(super) kind: EventType,
    at: At,
    place: Place,
}

#[derive(Clone)]
enum At {
    Event(Api),
    Path(&'static Spelling),
}

#[derive(Clone)]
enum Place {
    /// Nowhere: only beside the request, or not at all.
    None,
    /// A text in a payload or a body.
    Text(String),
    /// An extension attribute.
    Attribute(&'static str),
    /// A part of a path.
    Part(usize),
    Query(String),
    Header(String),
}

/// Texts that name nothing, whatever is put there.
const NAMELESS: &[&str] = &["/id", "/dataFormat", "/patchFormat", "/converter"];

/// Every card there is. `document` is what the server tells of its paths.
pub(super) fn deck(document: &Value) -> Vec<Card> {
    let model = json!({"name": "doc", "version": 1});
    let mut deck = Vec::new();
    for route in ROUTES {
        let kind = route.request;
        let payload = example(kind.as_str(), &model, "entity");
        let schema = route.payload_schema();
        let mut texts = BTreeSet::new();
        texts_in(&schema, &schema, Some(&payload), "", &mut texts);
        let mut places: Vec<_> = texts.into_iter().map(Place::Text).collect();
        if route.access == Access::Write {
            places.push(Place::Attribute("idempotencykey"));
        }
        places.retain(|place| is_awaited(route, place));
        for api in apis(route) {
            deck.extend(places.iter().map(|place| Card {
                kind,
                at: At::Event(api.clone()),
                place: place.clone(),
            }));
        }
    }
    for spelling in SPELLINGS {
        let route = Route::of(spelling.request).expect("an operation");
        let (path, body) = asked_of(spelling, &model, "entity");
        let mut places = parts_of(spelling.place().0);
        let bare = path.split('?').next().unwrap_or_default();
        assert_eq!(
            bare.split('/').count(),
            spelling.place().0.split('/').count()
        );
        for parameter in parameters(document, spelling) {
            let name = parameter["name"].as_str().expect("a name").to_owned();
            match parameter["in"].as_str() {
                Some("query") => places.push(Place::Query(name)),
                // Tokens are tried elsewhere.
                Some("header") if name != "X-Tx-Token" => places.push(Place::Header(name)),
                _ => {}
            }
        }
        if let Ok(body) = serde_json::from_str(&body) {
            let mut texts = BTreeSet::new();
            leaves(&body, "", &mut texts);
            places.extend(texts.into_iter().map(Place::Text));
        }
        places.retain(|place| is_awaited(route, place));
        deck.extend(places.into_iter().map(|place| Card {
            kind: spelling.request,
            at: At::Path(spelling),
            place,
        }));
    }
    deck
}

/// One card for every API of every operation, with nothing in any place.
pub(super) fn doors_alone() -> Vec<Card> {
    let events = ROUTES.iter().flat_map(|route| {
        apis(route).into_iter().map(|api| Card {
            kind: route.request,
            at: At::Event(api),
            place: Place::None,
        })
    });
    let paths = SPELLINGS.iter().map(|spelling| Card {
        kind: spelling.request,
        at: At::Path(spelling),
        place: Place::None,
    });
    let all = events.chain(paths);
    all.filter(|card| Route::of(card.kind).is_some_and(|route| route.answers != Answers::Live))
        .collect()
}

/// Whether what is put there is answered at once: a feed of what never changes is silent, while a
/// live search begins with what it finds.
fn is_awaited(route: &Route, place: &Place) -> bool {
    route.answers != Answers::Live
        || route.request == EventType::EntitySearchSubscribeRequest
            && match place {
                Place::Text(text) => text.starts_with("/model"),
                Place::Part(_) => true,
                Place::None | Place::Attribute(_) | Place::Query(_) | Place::Header(_) => false,
            }
}

fn apis(route: &Route) -> Vec<Api> {
    let methods: &[&str] = match (route.family, route.answers) {
        (Family::Model, _) => &["entityModelManage"],
        (Family::Entity, _) => &["entityManage", "entityManageCollection"],
        (Family::Search, Answers::One) => &["entitySearch", "entitySearchCollection"],
        (Family::Search, Answers::Many | Answers::Live) => &["entitySearchCollection"],
    };
    let methods = methods.iter().map(|method| Api::Method(method));
    [Api::Stream, Api::Events]
        .into_iter()
        .chain(methods)
        .collect()
}

/// The texts of a payload: those of an example, and those that it may have besides.
fn texts_in(
    root: &Value,
    schema: &Value,
    given: Option<&Value>,
    at: &str,
    found: &mut BTreeSet<String>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        let depth = at.matches('/').count();
        if let Some(schema) = root.pointer(pointer).filter(|_| depth < 6) {
            texts_in(root, schema, given, at, found);
        }
        return;
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[choice].as_array().into_iter().flatten() {
            texts_in(root, schema, given, at, found);
        }
    }
    let kinds = &schema["type"];
    let is = |kind: &str| {
        let mut listed = kinds.as_array().into_iter().flatten();
        kinds == kind || listed.any(|listed| listed == kind)
    };
    if is("string") && schema.get("enum").is_none() {
        found.insert(at.to_owned());
    }
    if is("array") {
        let first = given.and_then(|given| given.get(0));
        texts_in(root, &schema["items"], first, &format!("{at}/0"), found);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let given = given.and_then(|given| given.get(name));
        texts_in(root, schema, given, &format!("{at}/{name}"), found);
    }
    // What may be anything has the texts that the example has.
    if schema.get("type").is_none()
        && let Some(given) = given
    {
        leaves(given, at, found);
    }
    found.retain(|place| !NAMELESS.contains(&place.as_str()));
}

/// The texts of a value.
fn leaves(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::String(_) => {
            found.insert(at.to_owned());
        }
        // A list that is empty is one of names.
        Value::Array(items) if items.is_empty() && at.is_empty() => {
            found.insert("/0".to_owned());
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, &format!("{at}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn parts_of(path: &str) -> Vec<Place> {
    let segments = path.split('/').enumerate();
    let parts = segments.filter(|(_, segment)| segment.starts_with('{'));
    parts.map(|(index, _)| Place::Part(index)).collect()
}

/// What the document says can be given beside the path.
fn parameters<'a>(document: &'a Value, spelling: &Spelling) -> impl Iterator<Item = &'a Value> {
    let method = spelling.method.as_str().to_ascii_lowercase();
    let path = spelling.place().0;
    let paths = document["paths"].as_object().expect("an object").iter();
    paths
        .filter(move |(described, _)| fits(described, path))
        .filter_map(move |(_, methods)| methods[&method]["parameters"].as_array())
        .flatten()
}

/// Puts a text into a value, and what is missing above it.
fn put(value: &mut Value, at: &str, tried: &str) {
    let mut place = value;
    for step in at.split('/').skip(1) {
        place = if let Ok(index) = step.parse::<usize>() {
            if !place.is_array() {
                *place = json!([]);
            }
            let items = place.as_array_mut().expect("a list");
            while items.len() <= index {
                items.push(Value::Null);
            }
            &mut items[index]
        } else {
            if !place.is_object() {
                *place = json!({});
            }
            let members = place.as_object_mut().expect("an object");
            members.entry(step).or_insert(Value::Null)
        };
    }
    *place = json!(tried);
}

impl Card {
    pub(super) fn writes(&self) -> bool {
        Route::of(self.kind).is_some_and(|route| route.access == Access::Write)
    }

    /// Whether it makes something by a name, in whose order it is listed from then on.
    pub(super) fn names_something(&self) -> bool {
        [
            EventType::EntityModelImportRequest,
            EventType::EntityWorkflowImportRequest,
        ]
        .contains(&self.kind)
    }

    /// Whether a key of a request that is done once belongs there.
    pub(super) fn takes_key(&self) -> bool {
        match &self.place {
            Place::Attribute(_) => true,
            Place::Header(name) => name.eq_ignore_ascii_case("idempotency-key"),
            Place::None | Place::Text(_) | Place::Part(_) | Place::Query(_) => false,
        }
    }

    /// The request, about an entity of `doc` where it is not about what is tried.
    pub(super) fn asked(&self, entity: &str, tried: &str) -> Asked {
        let model = json!({"name": "doc", "version": 1});
        let mut payload = example(self.kind.as_str(), &model, entity);
        if let Some(members) = payload.as_object_mut() {
            members.remove("fromSequence");
        }
        let mut beside = Vec::new();
        let api = match &self.at {
            At::Event(api) => {
                match &self.place {
                    Place::Text(at) => put(&mut payload, at, tried),
                    Place::Attribute(name) => beside.push((*name, tried.to_owned())),
                    Place::None | Place::Part(_) | Place::Query(_) | Place::Header(_) => {}
                }
                api.clone()
            }
            At::Path(spelling) => self.spelled(spelling, &model, entity, tried),
        };
        Asked {
            api,
            kind: self.kind,
            payload,
            beside,
        }
    }

    fn spelled(
        &self,
        spelling: &'static Spelling,
        model: &Value,
        entity: &str,
        tried: &str,
    ) -> Api {
        let (mut path, mut body) = asked_of(spelling, model, entity);
        let mut headers = Vec::new();
        let is_patch = spelling.method == "PATCH";
        let kind = if is_patch {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        headers.push(("content-type".to_owned(), kind.to_owned()));
        let is_condition =
            matches!(&self.place, Place::Header(name) if name.eq_ignore_ascii_case("if-match"));
        if is_patch && !is_condition {
            headers.push(("if-match".to_owned(), "*".to_owned()));
        }
        match &self.place {
            Place::Part(index) => {
                let (bare, query) = match path.split_once('?') {
                    Some((bare, query)) => (bare, format!("?{query}")),
                    None => (path.as_str(), String::new()),
                };
                let mut segments: Vec<&str> = bare.split('/').collect();
                segments[*index] = tried;
                path = format!("{}{query}", segments.join("/"));
            }
            Place::Query(name) => path = with_query(&path, name, tried),
            Place::Header(name) => headers.push((name.to_ascii_lowercase(), tried.to_owned())),
            Place::Text(at) => {
                let mut value = serde_json::from_str(&body).expect("JSON");
                put(&mut value, at, tried);
                body = value.to_string();
            }
            Place::None | Place::Attribute(_) => {}
        }
        Api::Path {
            method: spelling.method.as_str(),
            path,
            headers,
            body,
        }
    }

    /// The same with nothing in any place, and the token of a transaction.
    pub(super) fn asked_with_token(&self, entity: &str, token: &str) -> Asked {
        let mut asked = self.asked(entity, "");
        match &mut asked.api {
            Api::Path { headers, .. } => {
                headers.push(("x-tx-token".to_owned(), token.to_owned()));
            }
            Api::Stream | Api::Method(_) | Api::Events => {
                asked.beside.push(("cyodatxtoken", token.to_owned()));
            }
        }
        asked
    }
}

/// The path with a parameter that is tried, in the place of the one that it has.
fn with_query(path: &str, name: &str, tried: &str) -> String {
    let (bare, query) = path.split_once('?').unwrap_or((path, ""));
    let own = format!("{name}=");
    let kept = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with(&own));
    let tried = format!("{name}={tried}");
    let pairs: Vec<&str> = kept.chain([tried.as_str()]).collect();
    format!("{bare}?{}", pairs.join("&"))
}
