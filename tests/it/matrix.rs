//! Who may not is not let in: every operation, through every API, with everything that is no
//! token, or one without the role, or another tenant's (`errors.md` §1, `config-and-cli.md` §9).
//!
//! Operations and paths are taken from the tables that the APIs use themselves, so that a new one
//! is asked for here without a word; it needs an example in [`crate::parity`].

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::{StreamExt as _, stream};
use interlock::{
    event::{
        Event, EventType,
        frame::Frame,
        proto::{DESCRIPTORS, service::cloud_events_service_client::CloudEventsServiceClient},
    },
    operation::{Answers, Family, ROUTES, Route},
    rest::{SPELLINGS, Spelling},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use prost::Message as _;
use rsa::pkcs8::{DecodePrivateKey as _, EncodePublicKey as _};
use serde_json::{Value, json};
use tonic::{Request, Status, Streaming, transport::Channel};

use crate::{
    openapi::fits,
    parity::{DOCUMENT, NIL, asked_of, example},
    support::{
        Connection, PATIENCE, Rest, Server,
        alike::alike,
        client, create, get, locked_model, payload_of, request,
        token::{KEY, KID, STRANGE_KEY, TAKES_TOKENS, claims_of, seconds, signed},
    },
};

const AUDIENCE: &str = "interlock";

/// How many questions are out at once.
const AT_ONCE: usize = 16;

fn server() -> Server {
    let audience = ("CYODA_JWT_AUDIENCE", AUDIENCE);
    Server::with(&[&TAKES_TOKENS[..], &[audience]].concat())
}

/// What a header says of whoever has that token.
fn bearing(token: impl AsRef<str>) -> String {
    format!("Bearer {}", token.as_ref())
}

/// Claims that are taken.
fn claims(tenant: &str, roles: &[&str]) -> Value {
    let mut claims = claims_of(tenant, roles);
    claims["aud"] = json!(AUDIENCE);
    claims
}

fn bearer(tenant: &str, roles: &[&str]) -> String {
    bearing(signed(&claims(tenant, roles), Some(&KID), KEY))
}

/// What people send who are nobody, and what is wrong with it.
fn strangers() -> Vec<(&'static str, Option<String>)> {
    let with = |member: &str, value: Value| {
        let mut claims = claims("acme", &["ROLE_ADMIN", "ROLE_M2M"]);
        claims[member] = value;
        claims
    };
    let good = claims("acme", &["ROLE_ADMIN", "ROLE_M2M"]);
    let ours = |claims: &Value| signed(claims, Some(&KID), KEY);
    let part = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let none = json!({"alg": "none", "typ": "JWT", "kid": *KID});
    // What everyone can know, taken for a secret that two share.
    let public = rsa::RsaPrivateKey::from_pkcs8_pem(KEY).expect("a key");
    let public = public
        .to_public_key()
        .to_public_key_pem(rsa::pkcs8::LineEnding::LF);
    let shared = EncodingKey::from_secret(public.expect("a key").as_bytes());
    let shared_header = Header {
        kid: Some(KID.clone()),
        ..Header::new(Algorithm::HS256)
    };
    let tokens = [
        ("garbage", "garbage".to_owned()),
        ("expired", ours(&with("exp", json!(seconds(-40))))),
        ("wrong signature", signed(&good, Some(&KID), STRANGE_KEY)),
        ("wrong audience", ours(&with("aud", json!("other")))),
        ("alg:none", format!("{}.{}.", part(&none), part(&good))),
        (
            "HS256 with the public key",
            encode(&shared_header, &good, &shared).expect("signed"),
        ),
        ("unknown kid", signed(&good, Some("unknown"), KEY)),
        ("no tenant", ours(&with("caas_org_id", Value::Null))),
    ];
    let tokens = tokens.map(|(what, token)| (what, Some(bearing(token))));
    let mut strangers = vec![("no token", None)];
    strangers.extend(tokens);
    strangers
}

/// Where an operation can be asked for.
#[derive(Clone, Copy)]
enum Api {
    Method(&'static str),
    Stream,
    Events,
    Path(&'static Spelling),
}

impl Api {
    const fn kind(self) -> &'static str {
        match self {
            Self::Method(_) => "methods",
            Self::Stream => "the stream",
            Self::Events => "/events",
            Self::Path(_) => "REST",
        }
    }
}

impl std::fmt::Display for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Method(name) => f.write_str(name),
            Self::Path(spelling) => write!(f, "{} {}", spelling.method, spelling.path),
            Self::Stream | Self::Events => f.write_str(self.kind()),
        }
    }
}

/// Every API of an operation.
fn apis(route: &Route) -> Vec<Api> {
    let methods: &[&str] = match (route.family, route.answers) {
        (Family::Model, _) => &["entityModelManage"],
        (Family::Entity, _) => &["entityManage", "entityManageCollection"],
        (Family::Search, Answers::One) => &["entitySearch", "entitySearchCollection"],
        (Family::Search, Answers::Many | Answers::Live) => &["entitySearchCollection"],
    };
    let spelled = SPELLINGS
        .iter()
        .filter(|spelling| spelling.request == route.request);
    methods
        .iter()
        .map(|method| Api::Method(method))
        .chain([Api::Stream, Api::Events])
        .chain(spelled.map(Api::Path))
        .collect()
}

/// What requests name.
#[derive(Clone)]
struct Named {
    model: Value,
    entity: String,
    job: String,
    message: String,
}

impl Named {
    /// Something of each kind that is not there.
    fn nothing() -> Self {
        let fresh = || uuid::Uuid::now_v7().to_string();
        Self {
            model: json!({"name": "nowhere", "version": 1}),
            entity: fresh(),
            job: fresh(),
            message: fresh(),
        }
    }

    /// A text that speaks of it where examples speak of nothing.
    fn put_into(&self, kind: &str, text: &str) -> String {
        let id = if kind.starts_with("Message") {
            &self.message
        } else if kind.starts_with("Snapshot") {
            &self.job
        } else {
            &self.entity
        };
        let name = self.model["name"].as_str().expect("a name");
        let text = text.replace(NIL, id);
        text.replace(r#""none""#, &json!(name).to_string())
            .replace("/none/", &format!("/{name}/"))
    }
}

/// What was answered at an API.
#[derive(Debug)]
struct Answered {
    status: String,
    payloads: Vec<Value>,
}

impl Answered {
    /// The code of the failure that it is, if it is one.
    fn code(&self) -> &str {
        let Some(payload) = self.payloads.first() else {
            return "";
        };
        let text = payload["error"]["message"].as_str();
        let text = text.or_else(|| payload["detail"].as_str()).unwrap_or("");
        text.split(':').next().unwrap_or("")
    }
}

/// A server, spoken to by whoever likes.
struct Ground {
    grpc: CloudEventsServiceClient<Channel>,
    rest: Rest,
}

/// One question of someone.
#[derive(Clone, Copy)]
struct Question<'a> {
    route: &'static Route,
    api: Api,
    named: &'a Named,
    /// Whether what would take the stage away is tried on what is asked for all the same.
    in_earnest: bool,
    authorization: Option<&'a str>,
}

impl Ground {
    async fn of(server: &Server) -> Self {
        Self {
            grpc: client(server.grpc).await,
            rest: server.rest(),
        }
    }

    async fn ask(&self, question: Question<'_>) -> Answered {
        let asking = async {
            match question.api {
                Api::Method(name) => of_call(self.call(question, name).await),
                Api::Stream => of_call(self.stream(question).await),
                Api::Events => self.events(question).await,
                Api::Path(spelling) => self.path(question, spelling).await,
            }
        };
        let answered = tokio::time::timeout(PATIENCE, asking).await;
        answered.unwrap_or_else(|_| panic!("{} at {}", question.route.request, question.api))
    }

    async fn call(&self, question: Question<'_>, method: &str) -> Result<Vec<Event>, Status> {
        let mut grpc = self.grpc.clone();
        let asked = question.with_token(Frame::from(question.event()));
        let one = match method {
            "entityModelManage" => grpc.entity_model_manage(asked).await,
            "entityManage" => grpc.entity_manage(asked).await,
            "entitySearch" => grpc.entity_search(asked).await,
            "entityManageCollection" => {
                let answers = grpc.entity_manage_collection(asked).await?;
                return question.collect(answers.into_inner()).await;
            }
            "entitySearchCollection" => {
                let answers = grpc.entity_search_collection(asked).await?;
                return question.collect(answers.into_inner()).await;
            }
            other => panic!("{other} is no method"),
        };
        Ok(vec![one?.into_inner().event().expect("an event")])
    }

    async fn stream(&self, question: Question<'_>) -> Result<Vec<Event>, Status> {
        let frames = stream::iter([Frame::from(question.event())]).chain(stream::pending());
        let opened = self
            .grpc
            .clone()
            .start_streaming(question.with_token(frames))
            .await?;
        question.collect(opened.into_inner()).await
    }

    async fn events(&self, question: Question<'_>) -> Answered {
        let event = json!([{"specversion": "1.0", "id": "1", "source": "/",
            "type": question.route.request.as_str(), "data": question.payload()}]);
        let rest = self
            .rest
            .with("content-type", "application/cloudevents-batch+json");
        let said = question
            .send(&rest, "POST", "/events", &event.to_string())
            .await;
        let events = |events: Value| {
            let events = events.as_array().expect("a list").clone();
            events.into_iter().map(|event| event["data"].clone())
        };
        Answered {
            payloads: if said.payloads.first().is_some_and(Value::is_array) {
                said.payloads.into_iter().flat_map(events).collect()
            } else {
                said.payloads
            },
            ..said
        }
    }

    async fn path(&self, question: Question<'_>, spelling: &Spelling) -> Answered {
        let Named { model, entity, .. } = question.named;
        let (mut path, mut body) = asked_of(spelling, model, entity);
        if question.in_earnest {
            let kind = question.route.request.as_str();
            path = question.named.put_into(kind, &path);
            body = question.named.put_into(kind, &body);
        }
        let rest = if spelling.method == "PATCH" {
            self.rest
                .with("content-type", "application/merge-patch+json")
                .with("if-match", "*")
        } else {
            self.rest.with("content-type", "application/json")
        };
        question
            .send(&rest, spelling.method.as_str(), &path, &body)
            .await
    }
}

impl Question<'_> {
    fn payload(&self) -> Value {
        let Named { model, entity, .. } = self.named;
        let kind = self.route.request.as_str();
        let mut payload = example(kind, model, entity);
        if self.in_earnest {
            let text = self.named.put_into(kind, &payload.to_string());
            payload = serde_json::from_str(&text).expect("JSON");
        }
        payload["id"] = json!("1");
        payload
    }

    fn event(&self) -> Event {
        request(self.route.request.as_str(), "1", self.payload())
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(value) = self.authorization {
            let value = value.parse().expect("text");
            request.metadata_mut().insert("authorization", value);
        }
        request
    }

    /// Every event that answers; the first of an answer without an end.
    async fn collect(&self, mut answers: Streaming<Frame>) -> Result<Vec<Event>, Status> {
        let is_stream = matches!(self.api, Api::Stream);
        let mut events = Vec::new();
        while let Some(frame) = answers.message().await? {
            let event = frame.event().expect("an event");
            let is_last = self.route.answers == Answers::Live
                || is_stream
                    && (event.kind == EventType::EventStreamEnd
                        || !event.attributes.contains_key("sequence"));
            events.push(event);
            if is_last {
                break;
            }
        }
        Ok(events)
    }

    /// Sends it to a path below the context.
    async fn send(&self, rest: &Rest, method: &str, path: &str, body: &str) -> Answered {
        let rest = match self.authorization {
            Some(value) => rest.with("authorization", value),
            None => rest.clone(),
        };
        let path = match (self.route.answers, self.api) {
            (Answers::Live, Api::Path(_)) => format!("/api{path}?fromSequence=0"),
            _ => format!("/api{path}"),
        };
        let mut coming = rest.open(method, &path, body).await;
        let is_well = coming.status == 200;
        let text = match (is_well && self.route.answers == Answers::Live, self.api) {
            (true, Api::Events) => json!([coming.first().await]).to_string(),
            (true, _) => coming.sent().await.expect("an event").data,
            (false, _) => coming.rest().await,
        };
        if coming.status == 401 {
            assert!(!coming.headers.contains_key("www-authenticate"), "{path}");
        }
        let payloads = match serde_json::from_str(&text) {
            Ok(value) => vec![value],
            Err(_) => text.lines().map(|line| json!(line)).collect(),
        };
        Answered {
            status: coming.status.as_u16().to_string(),
            payloads,
        }
    }
}

fn of_call(answered: Result<Vec<Event>, Status>) -> Answered {
    match answered {
        Ok(events) => Answered {
            status: "OK".to_owned(),
            payloads: events.iter().map(payload_of).collect(),
        },
        Err(status) => Answered {
            status: format!("{:?}: {}", status.code(), status.message()),
            payloads: Vec::new(),
        },
    }
}

/// The one answer to whoever could be nobody.
fn is_nobody(question: &Question<'_>, answered: &Answered) -> bool {
    let path = match question.api {
        Api::Method(_) | Api::Stream => {
            return answered.status == "Unauthenticated: authentication failed"
                && answered.payloads.is_empty();
        }
        Api::Events => "/events".to_owned(),
        Api::Path(spelling) => {
            let Named { model, entity, .. } = question.named;
            let (path, _) = asked_of(spelling, model, entity);
            path.split('?').next().unwrap_or("").to_owned()
        }
    };
    answered.status == "401" && answered.payloads == [nobody_at(&path)]
}

fn nobody_at(path: &str) -> Value {
    json!({"type": "about:blank", "title": "Unauthorized", "status": 401,
        "detail": "UNAUTHORIZED: authentication failed", "instance": path,
        "properties": {"errorCode": "UNAUTHORIZED"}})
}

/// The things of one tenant.
async fn stage(connection: &Connection, name: &str) -> Named {
    let model = locked_model(connection, name, json!({"n": 1})).await;
    let entity = create(connection, &model, json!({"n": 1})).await;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let search = json!({"model": model, "condition": everything});
    let job = connection.ok("EntitySnapshotSearchRequest", search).await;
    let said = json!({"header": {"subject": "s"}, "payload": {"n": 1}});
    let message = connection.ok("MessageCreateRequest", said).await;
    let definition = json!({"document": DOCUMENT});
    connection
        .ok("RunDefinitionCreateRequest", definition)
        .await;
    let run = json!({"definition": "flow"});
    connection.ok("RunStartRequest", run).await;
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    Named {
        model,
        entity,
        job: text(&job["status"]["snapshotId"]),
        message: text(&message["entityIds"][0]),
    }
}

/// How often each kind of API was asked, and by whom.
#[derive(Default)]
struct Tally(Vec<(&'static str, BTreeMap<&'static str, usize>)>);

impl Tally {
    fn count(&mut self, api: Api, by: &'static str) {
        let known = self.0.iter().position(|(known, _)| *known == by);
        let at = known.unwrap_or_else(|| {
            self.0.push((by, BTreeMap::new()));
            self.0.len() - 1
        });
        *self.0[at].1.entry(api.kind()).or_default() += 1;
    }

    /// Said past the capture of output, so that the suite shows it.
    fn print(&self) {
        let (operations, paths) = (ROUTES.len(), SPELLINGS.len());
        let line = |(by, counts): &(&str, BTreeMap<_, _>)| {
            let counts = counts.iter().map(|(kind, count)| format!("{kind} {count}"));
            format!("  {by:26} {}\n", counts.collect::<Vec<_>>().join(", "))
        };
        let lines: String = self.0.iter().map(line).collect();
        let table =
            format!("\nclosed to who may not: {operations} operations, {paths} paths\n{lines}");
        let _ = write!(std::io::stderr(), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_is_closed_to_who_may_not_through_every_door() {
    let server = server();
    let ground = Ground::of(&server).await;
    let admin = bearer("acme", &["ROLE_ADMIN", "ROLE_M2M"]);
    let owner = server.connect_as(&[("authorization", &admin)]).await;
    let named = stage(&owner, "doc").await;
    let strangers = strangers();
    let mut tally = Tally::default();
    let reader = bearer("acme", &["ROLE_READER"]);
    let someone = [
        ("missing role", Some(reader)),
        ("every role", Some(admin.clone())),
    ];
    let mut questions = Vec::new();
    for (by, authorization) in strangers.iter().chain(&someone) {
        for route in ROUTES {
            for api in apis(route) {
                tally.count(api, by);
                let question = Question {
                    route,
                    api,
                    named: &named,
                    in_earnest: false,
                    authorization: authorization.as_deref(),
                };
                questions.push((*by, question));
            }
        }
    }
    let asked = stream::iter(questions).map(|(by, question)| {
        let ground = &ground;
        async move { (by, question, ground.ask(question).await) }
    });
    let mut answered = asked.buffer_unordered(AT_ONCE);
    while let Some((by, question, answered)) = answered.next().await {
        let what = format!(
            "{by}: {} at {}: {answered:?}",
            question.route.request, question.api
        );
        let lacks = by == "missing role" && !question.route.role().is_empty();
        if lacks {
            assert_eq!(answered.code(), "FORBIDDEN", "{what}");
            let fits = match question.api {
                Api::Path(_) => "403",
                Api::Events => "200",
                Api::Method(_) | Api::Stream => "OK",
            };
            assert_eq!(answered.status, fits, "{what}");
        } else if someone.iter().any(|(known, _)| *known == by) {
            assert!(!is_nobody(&question, &answered), "{what}");
            assert!(
                !["FORBIDDEN", "UNAUTHORIZED"].contains(&answered.code()),
                "{what}"
            );
        } else {
            assert!(is_nobody(&question, &answered), "{what}");
        }
    }
    drop(answered);
    tally.others(&server, &ground, &named).await;
    get(&owner, &named.entity).await;
    tally.print();
}

impl Tally {
    /// Another tenant gets the same answer for what exists and what does not.
    async fn others(&mut self, server: &Server, ground: &Ground, named: &Named) {
        let other = bearer("other", &["ROLE_ADMIN", "ROLE_M2M"]);
        let connection = server.connect_as(&[("authorization", &other)]).await;
        // Something of its own, so that no answer without an end is silent.
        stage(&connection, "theirs").await;
        // What is created again is answered otherwise than what is new.
        for kind in ["RunDefinitionCreateRequest", "ActionRegisterRequest"] {
            let created = example(kind, &named.model, &named.entity);
            connection.ok(kind, created).await;
        }
        let nothing = Named::nothing();
        for route in ROUTES {
            for api in apis(route) {
                self.count(api, "other tenant");
                let question = |named| Question {
                    route,
                    api,
                    named,
                    in_earnest: true,
                    authorization: Some(&other),
                };
                let there = ground.ask(question(named)).await;
                let not_there = ground.ask(question(&nothing)).await;
                let what = format!("{} at {api}", route.request);
                let renamed = |answered: &Answered| {
                    let mut payloads = answered.payloads.clone();
                    // Each registration is another version, and only the first is of a new name.
                    if route.request == EventType::ActionRegisterRequest {
                        for payload in &mut payloads {
                            payload["version"] = json!(0);
                            payload["created"] = json!(false);
                        }
                    }
                    // The name of a manager has its second, and a tick ends what was made before it.
                    for payload in &mut payloads {
                        if route.request == EventType::ManagerCreateRequest {
                            payload["manager"] = json!("");
                        }
                        if route.request == EventType::ManagerTickRequest {
                            payload["processed"] = json!([]);
                        }
                        // A node counts the milliseconds since its beat.
                        let nodes = payload.get_mut("nodes").and_then(Value::as_array_mut);
                        for node in nodes.into_iter().flatten() {
                            node["beatAgeMs"] = json!(0);
                        }
                    }
                    let text = serde_json::to_string(&payloads).expect("JSON");
                    let text = text.replace("nowhere", "doc");
                    alike(&serde_json::from_str(&text).expect("JSON"))
                };
                assert_eq!(there.status, not_there.status, "{what}");
                assert_eq!(renamed(&there), renamed(&not_there), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn the_matrix_knows_every_path_and_every_method() {
    let server = server();
    let rest = server.rest();
    let document = rest.get("/openapi.json").await.ok();
    for (path, methods) in document["paths"].as_object().expect("an object") {
        for (method, reported) in methods.as_object().expect("an object") {
            let method = method.to_ascii_uppercase();
            let is_spelled = SPELLINGS.iter().any(|spelling| {
                spelling.method.as_str() == method && fits(path, spelling.place().0)
            });
            let is_public = PUBLIC.contains(&(method.as_str(), path));
            let is_closed = CLOSED.contains(&(method.as_str(), path));
            assert!(
                is_spelled || is_public || is_closed,
                "{method} {path} spells no event: say here who may ask for it"
            );
            assert_eq!(
                reported["security"] == json!([]),
                is_public,
                "{method} {path}"
            );
        }
    }
    for (method, path) in PUBLIC {
        let path = path
            .replace("{topic}", "config")
            .replace("{type}", "EntityResponse");
        let said = rest.send(method, &format!("/api{path}"), "").await;
        assert!(said.status != 401, "{method} {path}: {said:?}");
    }
    for (method, path) in CLOSED {
        for (by, authorization) in strangers() {
            let rest = match &authorization {
                Some(value) => rest.with("authorization", value),
                None => rest.clone(),
            };
            let said = rest.send(method, &format!("/api{path}"), "").await;
            assert_eq!(said.status, 401, "{by}: {method} {path}");
            assert_eq!(said.json(), nobody_at(path), "{by}: {method} {path}");
        }
    }
    let described = prost_types::FileDescriptorSet::decode(DESCRIPTORS).expect("descriptors");
    let methods: BTreeSet<_> = described
        .file
        .iter()
        .flat_map(|file| &file.service)
        .flat_map(|service| &service.method)
        .map(|method| method.name().to_owned())
        .collect();
    let knocked: BTreeSet<_> = ROUTES
        .iter()
        .flat_map(apis)
        .filter_map(|api| match api {
            Api::Method(name) => Some(name.to_owned()),
            Api::Stream => Some("startStreaming".to_owned()),
            Api::Events | Api::Path(_) => None,
        })
        .collect();
    assert_eq!(knocked, methods);
}

/// The paths that spell no event and are everyone's (`rest.md` §1).
const PUBLIC: &[(&str, &str)] = &[
    ("GET", "/events/{type}/schema"),
    ("GET", "/health"),
    ("POST", "/oauth/token"),
    ("GET", "/.well-known/jwks.json"),
    ("GET", "/help"),
    ("GET", "/help/{topic}"),
];

/// Those that ask who is calling.
const CLOSED: &[(&str, &str)] = &[("POST", "/events"), ("GET", "/account/subscriptions")];

#[tokio::test]
async fn an_unauthenticated_caller_does_not_learn_what_is_served() {
    let server = server();
    let nobody = server.rest();
    let reader = bearer("acme", &["ROLE_READER"]);
    let someone = nobody.with("authorization", &reader);
    // Neither where nothing is, nor what is for operators, nor another method than is served.
    for (method, path, instance, status) in [
        ("GET", "/api/nothing/here", "/nothing/here", 404),
        ("GET", "/api", "", 404),
        ("GET", "/nothing", "/nothing", 404),
        ("GET", "/docs/nothing", "/docs/nothing", 404),
        ("GET", "/metrics", "/metrics", 404),
        ("GET", "/readyz", "/readyz", 404),
        ("GET", "/livez", "/livez", 404),
        ("GET", "/api/metrics", "/metrics", 404),
        ("PUT", "/api/model/", "/model/", 405),
        ("DELETE", "/api/account", "/account", 405),
        ("GET", "/api/events", "/events", 405),
    ] {
        let said = nobody.send(method, path, "").await;
        assert_eq!(
            (said.status.as_u16(), said.json()),
            (401, nobody_at(instance)),
            "{method} {path}"
        );
        assert_eq!(
            someone.send(method, path, "").await.status,
            status,
            "{path}"
        );
    }
    for (method, path, status) in [
        ("GET", "/docs", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/api/oauth/token", 405),
        ("POST", "/api/health", 405),
        ("POST", "/api/help", 405),
    ] {
        assert_eq!(nobody.send(method, path, "").await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_stream_becomes_a_members_only_by_role_and_in_its_own_tenant() {
    let server = server();
    for (roles, tenant, refused) in [
        (
            &["ROLE_ADMIN"][..],
            None,
            Some("ROLE_M2M required for streaming"),
        ),
        (&[][..], None, Some("ROLE_M2M required for streaming")),
        (&["ROLE_M2M"][..], Some("other"), Some("tenant mismatch")),
        (&["ROLE_M2M"][..], Some("acme"), None),
        (&["ROLE_M2M"][..], None, None),
    ] {
        let bearer = bearer("acme", roles);
        let connection = server.connect_as(&[("authorization", &bearer)]).await;
        // A caller that may not join may ask.
        connection.ok("AccountGetRequest", json!({})).await;
        let mut join = json!({"tags": ["t"]});
        if let Some(tenant) = tenant {
            join["joinedLegalEntityId"] = json!(tenant);
        }
        let join = request("CalculationMemberJoinEvent", "join", join);
        connection.send(join).await;
        let Some(refused) = refused else {
            let greeting = connection.unasked().await.expect("a greeting");
            assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
            continue;
        };
        let status = connection.end().await.expect_err("refused");
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::PermissionDenied, refused),
            "{roles:?}"
        );
    }
}

#[tokio::test]
async fn nothing_listens_but_the_documented_ports_and_what_is_for_operators_is_theirs_alone() {
    let server = server();
    let listening: BTreeSet<_> = server.listening().into_iter().collect();
    let ports: BTreeSet<_> = listening.iter().map(std::net::SocketAddr::port).collect();
    let documented = [server.http, server.grpc, server.admin].map(|address| address.port());
    assert_eq!(ports, documented.into(), "{listening:?}");
    assert_eq!(listening.len(), documented.len(), "{listening:?}");
    for address in listening {
        let is_admin = address.port() == server.admin.port();
        assert_eq!(address.ip().is_loopback(), is_admin, "{address}");
    }
    let admin = Rest::new(server.admin);
    for (path, text) in [("/livez", "ok"), ("/readyz", "ready")] {
        let said = admin.get(path).await;
        assert_eq!((said.status.as_u16(), said.text.as_str()), (200, text));
    }
    assert!(admin.get("/metrics").await.text.contains("interlock_"));
    for path in ["/api/account", "/api/health", "/openapi.json", "/docs"] {
        assert_eq!(admin.get(path).await.status, 404, "{path}");
    }
}
