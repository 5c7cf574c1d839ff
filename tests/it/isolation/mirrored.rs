//! A client that sends the same requests to several servers, which must give the same answers.

use std::{collections::HashMap, time::Duration};

use futures_util::future::join_all;
use interlock::{
    event::{AttributeValue, Event, EventType},
    operation::{Answers, Route},
};
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, PATIENCE, Rest, Server,
    alike::{DRAWN, Piece, pieces},
    payload_of, request,
    token::bearer,
};

/// What is drawn of any characters: another server draws others, which other places take, so it is
/// tried nowhere.
const FORMLESS: &[&str] = &["clientSecret", "client_secret", "publicKey"];

/// The name of a manager ends with the second in which it was created.
const NAMED_BY_TIME: &str = "manager";

/// Numbers that differ from one server to the next: positions, which count for everyone, and how
/// long something took.
const COUNTED_ELSEWHERE: &[&str] = &["sequence", "microsTime", "calculationTimeMillis", "micros"];

/// A tenant on one server.
pub(super) struct Seat {
    pub(super) connection: Connection,
    pub(super) rest: Rest,
    /// Who does the work that is tagged `work`.
    pub(super) member: Member,
}

/// A request, in which `⟦n⟧` stands for the n-th thing that is known.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) api: Api,
    pub(super) kind: EventType,
    pub(super) payload: Value,
    /// Extension attributes of an event, metadata of a call, or headers.
    pub(super) beside: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
pub(super) enum Api {
    Stream,
    Method(&'static str),
    Events,
    Path {
        method: &'static str,
        path: String,
        headers: Vec<(String, String)>,
        body: String,
    },
}

/// What is answered: a status, and payloads or bodies as text.
type Answer = (String, Vec<String>);

/// Someone on one server or more.
pub(super) struct MirroredClient {
    pub(super) tenant: &'static str,
    pub(super) seats: Vec<Seat>,
    /// Everything that was reported: what each seat calls it.
    known: Vec<Vec<String>>,
    by_name: Vec<HashMap<String, usize>>,
    /// The things whose names servers draw, but not as UUIDs.
    drawn: Vec<usize>,
    asked: u64,
}

impl Seat {
    async fn of(server: &Server, tenant: &str) -> Self {
        let authorization = bearer(tenant, &["ROLE_ADMIN", "ROLE_M2M"]);
        let metadata = [("authorization", authorization.as_str())];
        let member = Member::join_on(server.connect_as(&metadata).await, &["work"]).await;
        Self {
            connection: server.connect_as(&metadata).await,
            rest: server.rest().with("authorization", &authorization),
            member,
        }
    }

    async fn ask(&self, asked: &Asked, id: &str) -> Answer {
        let is_live = Route::of(asked.kind).is_some_and(|route| route.answers == Answers::Live);
        match &asked.api {
            Api::Stream => {
                let event = event_of(asked, id, &asked.beside);
                let answers = if is_live {
                    let mut all = self.connection.taste(event).await;
                    all.truncate(1);
                    all
                } else {
                    self.connection.ask(event).await
                };
                ("OK".to_owned(), answers.iter().map(text).collect())
            }
            Api::Method(method) => self.call(asked, id, method, is_live).await,
            Api::Events => self.events(asked, id, is_live).await,
            Api::Path {
                method,
                path,
                headers,
                body,
            } => {
                let mut rest = self.rest.clone();
                for (name, value) in headers {
                    rest = rest.with(name, value);
                }
                let mut coming = rest.open(method, &format!("/api{path}"), body).await;
                let bodies = if is_live && coming.status == 200 {
                    vec![coming.sent().await.expect("an event").data]
                } else {
                    let whole = coming.rest().await;
                    let is_lines = coming
                        .headers
                        .get("content-type")
                        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-ndjson"));
                    if is_lines {
                        whole.lines().map(ToOwned::to_owned).collect()
                    } else {
                        vec![whole]
                    }
                };
                (coming.status.as_u16().to_string(), bodies)
            }
        }
    }

    async fn call(&self, asked: &Asked, id: &str, method: &str, is_live: bool) -> Answer {
        // A token is metadata here; other attributes are the event's.
        let of_call = |(name, _): &&(&str, String)| *name == "cyodatxtoken";
        let (tokens, attributes): (Vec<_>, Vec<_>) = asked.beside.iter().partition(of_call);
        let tokens = tokens
            .into_iter()
            .map(|(_, token)| ("tx-token", token.as_str()));
        let metadata: Vec<_> = tokens.collect();
        let attributes: Vec<_> = attributes.into_iter().cloned().collect();
        let event = event_of(asked, id, &attributes);
        let connection = &self.connection;
        let answers = if method.ends_with("Collection") && is_live {
            match connection.live(method, event, &metadata).await {
                Ok(mut answers) => answers
                    .message()
                    .await
                    .map(|frame| vec![frame.expect("an answer").event().expect("an event")]),
                Err(status) => Err(status),
            }
        } else if method.ends_with("Collection") {
            connection.streaming(method, event, &metadata).await
        } else {
            connection
                .unary(method, event, &metadata)
                .await
                .map(|event| vec![event])
        };
        match answers {
            Ok(events) => ("OK".to_owned(), events.iter().map(text).collect()),
            Err(status) => (
                format!("{:?}: {}", status.code(), status.message()),
                Vec::new(),
            ),
        }
    }

    async fn events(&self, asked: &Asked, id: &str, is_live: bool) -> Answer {
        let mut payload = asked.payload.clone();
        payload["id"] = json!(id);
        let mut event = json!({"specversion": "1.0", "id": id, "source": "/",
            "type": asked.kind.as_str(), "data": payload});
        for (name, value) in &asked.beside {
            event[*name] = json!(value);
        }
        let kind = "application/cloudevents-batch+json";
        let rest = self.rest.with("content-type", kind);
        let batch = json!([event]).to_string();
        let mut coming = rest.open("POST", "/api/events", &batch).await;
        let events = if is_live && coming.status == 200 {
            json!([coming.first().await])
        } else {
            serde_json::from_str(&coming.rest().await).expect("JSON")
        };
        let texts = events.as_array().expect("events").iter();
        let texts = texts.map(|event| event["data"].to_string()).collect();
        (coming.status.as_u16().to_string(), texts)
    }
}

fn event_of(asked: &Asked, id: &str, attributes: &[(&'static str, String)]) -> Event {
    let event = request(asked.kind.as_str(), id, asked.payload.clone());
    attributes.iter().fold(event, |event, (name, value)| {
        event.with(name, AttributeValue::String(value.as_str().into()))
    })
}

fn text(event: &Event) -> String {
    event.text().expect("text").to_owned()
}

impl MirroredClient {
    pub(super) async fn of(tenant: &'static str, servers: &[&Server]) -> Self {
        let seats = join_all(servers.iter().map(|server| Seat::of(server, tenant))).await;
        Self {
            tenant,
            known: Vec::new(),
            drawn: Vec::new(),
            by_name: seats.iter().map(|_| HashMap::new()).collect(),
            seats,
            asked: 0,
        }
    }

    /// What stands for a thing in requests.
    pub(super) fn sign(at: usize) -> String {
        format!("⟦{at}⟧")
    }

    /// A thing, as its first seat calls it.
    pub(super) fn name(&self, at: usize) -> &str {
        &self.known[at][0]
    }

    pub(super) fn names(&self, at: usize) -> Vec<String> {
        self.known[at].clone()
    }

    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// Asks everywhere; the answer, which must be one, with signs for what it names.
    pub(super) async fn ask(&mut self, asked: &Asked) -> Value {
        let id = self.next_id();
        let asking = (0..self.seats.len()).map(|seat| self.ask_on(seat, asked, &id));
        let answers = join_all(asking).await;
        self.agree(asked, answers).await
    }

    pub(super) fn next_id(&mut self) -> String {
        self.asked += 1;
        format!("a{}", self.asked)
    }

    /// Asks on one seat.
    pub(super) async fn ask_on(&self, seat: usize, asked: &Asked, id: &str) -> Answer {
        let resolved = self.resolved(asked, seat);
        let asking = self.seats[seat].ask(&resolved, id);
        let answer = tokio::time::timeout(PATIENCE, asking).await;
        answer.unwrap_or_else(|_| panic!("no answer to {resolved:?}"))
    }

    /// The request in the words of a seat.
    fn resolved(&self, asked: &Asked, seat: usize) -> Asked {
        let resolve = |text: &str| {
            let mut resolved = text.to_owned();
            while let Some(start) = resolved.find('⟦') {
                let end = resolved[start..].find('⟧').expect("an end") + start;
                let at = &resolved[start + '⟦'.len_utf8()..end];
                let name = &self.known[at.parse::<usize>().expect("a number")][seat];
                resolved = format!(
                    "{}{name}{}",
                    &resolved[..start],
                    &resolved[end + '⟧'.len_utf8()..]
                );
            }
            resolved
        };
        let payload = resolve(&asked.payload.to_string());
        Asked {
            kind: asked.kind,
            payload: serde_json::from_str(&payload).expect("JSON"),
            beside: asked
                .beside
                .iter()
                .map(|(name, value)| (*name, resolve(value)))
                .collect(),
            api: match &asked.api {
                Api::Path {
                    method,
                    path,
                    headers,
                    body,
                } => Api::Path {
                    method,
                    path: resolve(path),
                    headers: headers
                        .iter()
                        .map(|(name, value)| (name.clone(), resolve(value)))
                        .collect(),
                    body: resolve(body),
                },
                Api::Stream | Api::Method(_) | Api::Events => asked.api.clone(),
            },
        }
    }

    /// The one answer that several are.
    pub(super) async fn agree(&mut self, asked: &Asked, answers: Vec<Answer>) -> Value {
        let values: Vec<Value> = answers
            .iter()
            .map(|(status, texts)| {
                let read =
                    |text: &String| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
                json!({"status": status, "reported": texts.iter().map(read).collect::<Vec<_>>()})
            })
            .collect();
        let reported: Vec<&Value> = values.iter().collect();
        let agreed = self
            .unify("", &reported)
            .unwrap_or_else(|place| panic!("{place} differs: {asked:?} is answered {values:#?}"));
        if asked.kind == EventType::EntitySnapshotSearchRequest {
            let reported = &agreed["reported"][0];
            let job = reported["status"]["snapshotId"]
                .as_str()
                .or_else(|| reported.as_str());
            if let Some(job) = job.filter(|job| job.starts_with('⟦')) {
                self.wait_for(job).await;
            }
        }
        agreed
    }

    /// Waits until a search that runs on its own has ended everywhere, so that it can be compared.
    async fn wait_for(&self, job: &str) {
        for seat in 0..self.seats.len() {
            loop {
                let asked = Asked {
                    api: Api::Stream,
                    kind: EventType::SnapshotGetStatusRequest,
                    payload: json!({"snapshotId": job}),
                    beside: Vec::new(),
                };
                let id = format!("w{}", self.seats[seat].connection.fresh_id());
                let (_, texts) = self.ask_on(seat, &asked, &id).await;
                if !texts[0].contains(r#""status":"RUNNING""#) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }

    /// One value of several that differ only where servers may; else the place where they do not.
    pub(super) fn unify(&mut self, place: &str, values: &[&Value]) -> Result<Value, String> {
        let (first, others) = values.split_first().expect("a seat");
        let differs = || place.to_owned();
        match first {
            // An index is made in its own time.
            Value::String(_) if place.contains("/indexes/") && place.ends_with("/state") => {
                Ok(json!("⟦state⟧"))
            }
            Value::String(_) => {
                let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_str()).collect();
                let texts = texts.ok_or_else(differs)?;
                let is_drawn = |name: &&str| place.ends_with(&format!("/{name}"));
                if FORMLESS.iter().any(is_drawn) {
                    return Ok(json!("⟦drawn⟧"));
                }
                if DRAWN.iter().chain([&NAMED_BY_TIME]).any(is_drawn) {
                    let at = self.drawn_thing(&texts).ok_or_else(differs)?;
                    return Ok(json!(Self::sign(at)));
                }
                self.unify_texts(&texts)
                    .map(Value::String)
                    .ok_or_else(differs)
            }
            Value::Array(items) => {
                let lists: Option<Vec<&Vec<Value>>> =
                    values.iter().map(|value| value.as_array()).collect();
                let lists = lists.ok_or_else(differs)?;
                if lists.iter().any(|list| list.len() != items.len()) {
                    return Err(differs());
                }
                let lists: Vec<Vec<&Value>> = lists
                    .iter()
                    .enumerate()
                    .map(|(seat, list)| self.in_order(seat, list))
                    .collect();
                let unified = (0..items.len()).map(|at| {
                    let items: Vec<&Value> = lists.iter().map(|list| list[at]).collect();
                    self.unify(&format!("{place}/{at}"), &items)
                });
                unified.collect()
            }
            Value::Object(members) => {
                let objects: Option<Vec<_>> =
                    values.iter().map(|value| value.as_object()).collect();
                let objects = objects.ok_or_else(differs)?;
                if objects
                    .iter()
                    .any(|object| !object.keys().eq(members.keys()))
                {
                    return Err(differs());
                }
                let mut unified = serde_json::Map::new();
                for name in members.keys() {
                    let place = format!("{place}/{name}");
                    let parts: Vec<&Value> = objects.iter().map(|object| &object[name]).collect();
                    unified.insert(name.clone(), self.unify(&place, &parts)?);
                }
                Ok(Value::Object(unified))
            }
            Value::Number(_)
                if COUNTED_ELSEWHERE
                    .iter()
                    .any(|name| place.ends_with(&format!("/{name}"))) =>
            {
                Ok(json!(0))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let is_same = others.iter().all(|other| other == first);
                if is_same {
                    Ok((*first).clone())
                } else {
                    Err(differs())
                }
            }
        }
    }

    /// The items in the order in which they were made known, where they are listed in that of names
    /// that are drawn.
    fn in_order<'a>(&self, seat: usize, items: &'a [Value]) -> Vec<&'a Value> {
        let mut items: Vec<&Value> = items.iter().collect();
        items.sort_by_key(|item| {
            let mut names = DRAWN.iter().filter_map(|name| item[*name].as_str());
            names.next().and_then(|name| self.by_name[seat].get(name))
        });
        items
    }

    fn drawn_thing(&mut self, names: &[&str]) -> Option<usize> {
        let known = self.known.len();
        let at = self.thing(names.iter().map(|name| (*name).to_owned()).collect())?;
        // What was asked for by the same name everywhere is a text like any other.
        if at == known && names.iter().any(|name| *name != names[0]) {
            self.drawn.push(at);
        }
        Some(at)
    }

    fn unify_texts(&mut self, texts: &[&str]) -> Option<String> {
        let signed = texts.iter().enumerate().map(|(seat, text)| {
            let known = self.drawn.iter().map(|at| (*at, &self.known[*at][seat]));
            known.fold((*text).to_owned(), |text, (at, name)| {
                text.replace(name.as_str(), &Self::sign(at))
            })
        });
        let texts: Vec<String> = signed.collect();
        let cut: Vec<Vec<Piece<'_>>> = texts.iter().map(|text| pieces(text)).collect();
        if cut.iter().any(|pieces| pieces.len() != cut[0].len()) {
            return None;
        }
        let mut unified = String::new();
        for at in 0..cut[0].len() {
            let pieces: Vec<Piece<'_>> = cut.iter().map(|pieces| pieces[at]).collect();
            match pieces[0] {
                Piece::Identifier(_) => {
                    let names = pieces.iter().map(|piece| match piece {
                        Piece::Identifier(name) => Some((*name).to_owned()),
                        Piece::Instant(_) | Piece::Other(_) => None,
                    });
                    let at = self.thing(names.collect::<Option<_>>()?)?;
                    unified.push_str(&Self::sign(at));
                }
                Piece::Instant(_) => {
                    let all = pieces
                        .iter()
                        .all(|piece| matches!(piece, Piece::Instant(_)));
                    unified.push_str(if all { "⟦instant⟧" } else { return None });
                }
                Piece::Other(text) => {
                    if pieces.iter().any(|piece| *piece != Piece::Other(text)) {
                        return None;
                    }
                    unified.push_str(text);
                }
            }
        }
        Some(unified)
    }

    /// Which thing has these names; none if some have names of another.
    pub(super) fn thing(&mut self, names: Vec<String>) -> Option<usize> {
        let found: Vec<Option<usize>> = names
            .iter()
            .zip(&self.by_name)
            .map(|(name, known)| known.get(name).copied())
            .collect();
        if found.iter().any(|at| *at != found[0]) {
            return None;
        }
        if let Some(at) = found[0] {
            return Some(at);
        }
        let at = self.known.len();
        for (name, known) in names.iter().zip(&mut self.by_name) {
            known.insert(name.clone(), at);
        }
        self.known.push(names);
        Some(at)
    }
}

/// The events of a subscription up to the one that tells of a thing; fewer if it ends before.
pub(super) async fn reported_until(
    answers: &mut tokio::sync::mpsc::UnboundedReceiver<Event>,
    last: &str,
) -> Vec<Value> {
    let mut reported = Vec::new();
    while let Some(event) = tokio::time::timeout(PATIENCE, answers.recv())
        .await
        .expect("an event in time")
    {
        let payload = payload_of(&event);
        let is_last = payload["entityId"] == last;
        reported.push(payload);
        if is_last {
            break;
        }
    }
    reported
}
