//! What a tenant does on its own account, at random.

use interlock::{event::EventType, operation::Route};
use serde_json::{Value, json};

use super::mirrored::{Api, Asked, MirroredClient};
use crate::support::{Random, processed_by, sync_processor};

/// The models that every tenant has, all by the same names.
pub(super) const MODELS: &[&str] = &["doc", "order", "worked", "held"];

/// How many values are shared by all: whoever looked across would find them taken.
const VALUES: usize = 12;

/// How often is tried to make an entity: a key may be another request's already.
const REPAIRS_MAX: usize = 20;

/// A tenant and what it has.
pub(super) struct Actor {
    pub(super) mirrored: MirroredClient,
    pub(super) entities: Vec<usize>,
    messages: Vec<usize>,
    jobs: Vec<usize>,
    /// Texts that nobody else writes.
    pub(super) words: Vec<String>,
    keys: Vec<String>,
    /// A model of its own.
    pub(super) model: String,
}

fn everything() -> Value {
    json!({"type": "group", "operator": "AND", "conditions": []})
}

fn model(name: &str) -> Value {
    json!({"name": name, "version": 1})
}

impl Actor {
    pub(super) async fn of(mirrored: MirroredClient) -> Self {
        let mut actor = Self {
            model: format!("{}-model", mirrored.tenant),
            mirrored,
            entities: Vec::new(),
            messages: Vec::new(),
            jobs: Vec::new(),
            words: Vec::new(),
            keys: Vec::new(),
        };
        let own = actor.model.clone();
        for name in MODELS.iter().copied().chain([own.as_str()]) {
            actor.import(name).await;
        }
        actor.create(&mut Random::new(0), "doc").await;
        actor
    }

    async fn import(&mut self, name: &str) {
        let sample = json!({"n": 1, "code": "code", "word": "word"});
        let import = json!({"model": model(name), "dataFormat": "JSON",
            "converter": "SAMPLE_DATA", "payload": sample});
        self.must("EntityModelImportRequest", import).await;
        if name == "order" {
            let keys = json!([{"id": "by-code", "fields": ["$.code"]}]);
            let keys = json!({"model": model(name), "uniqueKeys": keys});
            self.must("EntityModelSetUniqueKeysRequest", keys).await;
        }
        let lock = json!({"model": model(name), "transition": "LOCK"});
        self.must("EntityModelTransitionRequest", lock).await;
        let tag = match name {
            "worked" => "work",
            "held" => "held",
            _ => return,
        };
        let config = json!({"calculationNodesTags": tag, "responseTimeoutMs": 60_000});
        let workflow = processed_by(json!([sync_processor("p", config)]));
        let workflows = json!({"model": model(name), "workflows": [workflow]});
        self.must("EntityWorkflowImportRequest", workflows).await;
    }

    async fn say(&mut self, api: Api, kind: &str, payload: Value, key: Option<String>) -> Value {
        let asked = Asked {
            api,
            kind: EventType::from_name(kind).expect(kind),
            payload,
            beside: key.map(|key| ("idempotencykey", key)).into_iter().collect(),
        };
        self.mirrored.ask(&asked).await
    }

    async fn must(&mut self, kind: &str, payload: Value) -> Value {
        let answer = self.say(Api::Stream, kind, payload, None).await;
        assert_eq!(answer["reported"][0]["success"], true, "{kind}: {answer}");
        answer
    }

    /// A text that says whose it is.
    fn word(&mut self) -> String {
        let word = format!("{}-word-{}", self.mirrored.tenant, self.words.len());
        self.words.push(word.clone());
        word
    }

    fn data(&mut self, random: &mut Random) -> Value {
        let code = format!("code-{}", random.below(VALUES));
        json!({"n": random.below(5), "code": code, "word": self.word()})
    }

    /// A key that others use as well, or one of its own, or none.
    fn key(&mut self, random: &mut Random) -> Option<String> {
        match random.below(4) {
            0 => Some(format!("key-{}", random.below(VALUES))),
            1 => {
                let key = format!("{}-key-{}", self.mirrored.tenant, self.keys.len());
                self.keys.push(key.clone());
                Some(key)
            }
            _ => None,
        }
    }

    fn any_door(random: &mut Random, kind: &str) -> Api {
        let kind = EventType::from_name(kind).expect(kind);
        let method = Route::of(kind).expect("an operation").method();
        random
            .pick(&[Api::Stream, Api::Events, Api::Method(method)])
            .clone()
    }

    async fn create(&mut self, random: &mut Random, name: &str) -> bool {
        let data = self.data(random);
        let payload =
            json!({"dataFormat": "JSON", "payload": {"model": model(name), "data": data}});
        let (kind, key) = ("EntityCreateRequest", self.key(random));
        let api = Self::any_door(random, kind);
        let answer = self.say(api, kind, payload, key).await;
        let ids = &answer["reported"][0]["transactionInfo"]["entityIds"];
        self.keep(ids);
        answer["reported"][0]["success"] == true
    }

    fn keep(&mut self, ids: &Value) {
        for id in ids.as_array().into_iter().flatten() {
            let at = place_of(id);
            if !self.entities.contains(&at) {
                self.entities.push(at);
            }
        }
    }

    /// An entity of `doc` or so, as requests name it.
    pub(super) fn entity(&self, random: &mut Random) -> String {
        MirroredClient::sign(*random.pick(&self.entities))
    }

    /// What is needed to be asked about something: an entity, and its model.
    pub(super) async fn ensure(&mut self, random: &mut Random) -> String {
        let newest = *self.entities.last().expect("one was made");
        let asked = json!({"entityId": MirroredClient::sign(newest)});
        let found = self.say(Api::Stream, "EntityGetRequest", asked, None).await;
        if found["reported"][0]["success"] == true {
            return MirroredClient::sign(newest);
        }
        for _ in 0..REPAIRS_MAX {
            if self.create(random, "doc").await {
                return MirroredClient::sign(*self.entities.last().expect("one was made"));
            }
            let known = json!({"model": model("doc"), "converter": "SIMPLE_VIEW"});
            let kind = "EntityModelExportRequest";
            let exported = self.say(Api::Stream, kind, known, None).await;
            if exported["reported"][0]["success"] == true {
                let lock = json!({"model": model("doc"), "transition": "LOCK"});
                let kind = "EntityModelTransitionRequest";
                self.say(Api::Stream, kind, lock, None).await;
            } else {
                self.import("doc").await;
            }
        }
        panic!("no entity can be made")
    }

    /// Does one thing.
    pub(super) async fn act(&mut self, random: &mut Random) {
        match random.below(10) {
            0..=3 => {
                let own = self.model.clone();
                let name = *random.pick(&["doc", "order", "order", "worked", own.as_str()]);
                self.create(random, name).await;
            }
            4 => self.write_entity(random).await,
            5 => self.write_message(random).await,
            6 if random.chance(20) => self.make_client().await,
            6 => self.search_later(random).await,
            _ => self.look(random).await,
        }
    }

    async fn write_entity(&mut self, random: &mut Random) {
        let (entity, data) = (self.entity(random), self.data(random));
        let (kind, payload) = match random.below(5) {
            0 => (
                "EntityUpdateRequest",
                json!({"dataFormat": "JSON", "payload": {"entityId": entity, "data": data}}),
            ),
            1 => (
                "EntityPatchRequest",
                json!({"patchFormat": "MERGE_PATCH",
                    "payload": {"entityId": entity, "patch": {"word": data["word"]}, "ifMatch": "*"}}),
            ),
            2 => (
                "EntityTransitionRequest",
                json!({"entityId": entity, "transition": "UPDATE"}),
            ),
            3 if self.entities.len() > 3 => ("EntityDeleteRequest", json!({"entityId": entity})),
            _ => (
                "EntityCreateCollectionRequest",
                json!({"dataFormat": "JSON", "payloads": [
                    {"model": model("doc"), "data": data},
                    {"model": model("doc"), "data": {"n": 1}},
                ]}),
            ),
        };
        let (api, key) = (Self::any_door(random, kind), self.key(random));
        let answer = self.say(api, kind, payload, key).await;
        self.keep(&answer["reported"][0]["transactionInfo"]["entityIds"]);
    }

    async fn write_message(&mut self, random: &mut Random) {
        let (kind, payload) = if self.messages.len() > 2 && random.chance(30) {
            let message = MirroredClient::sign(*random.pick(&self.messages));
            ("MessageDeleteRequest", json!({"messageId": message}))
        } else {
            let said =
                json!({"header": {"subject": self.word()}, "payload": {"word": self.word()}});
            ("MessageCreateRequest", said)
        };
        let (api, key) = (Self::any_door(random, kind), self.key(random));
        let answer = self.say(api, kind, payload, key).await;
        if kind == "MessageCreateRequest" {
            let made = answer["reported"][0]["entityIds"].as_array();
            self.messages
                .extend(made.into_iter().flatten().map(place_of));
        }
    }

    async fn make_client(&mut self) {
        self.must("ClientCreateRequest", json!({})).await;
    }

    async fn search_later(&mut self, random: &mut Random) {
        let kind = "EntitySnapshotSearchRequest";
        let search = json!({"model": model("doc"), "condition": everything()});
        let api = Self::any_door(random, kind);
        let answer = self.say(api, kind, search, None).await;
        let job = &answer["reported"][0]["status"]["snapshotId"];
        if job.as_str().is_some_and(|job| job.starts_with('⟦')) {
            self.jobs.push(place_of(job));
        }
    }

    /// Reads something: nobody else's may be in it.
    async fn look(&mut self, random: &mut Random) {
        let entity = self.entity(random);
        let name = model(MODELS[random.below(MODELS.len())]);
        let code = format!("code-{}", random.below(VALUES));
        let by_code = json!({"type": "simple", "jsonPath": "$.code",
            "operatorType": "EQUALS", "value": code});
        let mut looks = vec![
            ("EntityGetRequest", json!({"entityId": entity})),
            (
                "EntityAuditGetRequest",
                json!({"entityId": entity, "limit": 5}),
            ),
            (
                "EntityChangesMetadataGetRequest",
                json!({"entityId": entity}),
            ),
            (
                "EntityGetAllRequest",
                json!({"model": name, "pageSize": 100}),
            ),
            (
                "EntitySearchRequest",
                json!({"model": name, "condition": everything()}),
            ),
            (
                "EntitySearchRequest",
                json!({"model": name, "condition": by_code}),
            ),
            (
                "EntitySearchExplainRequest",
                json!({"model": name, "condition": by_code}),
            ),
            ("EntityStatsGetRequest", json!({})),
            ("EntityStatsByStateGetRequest", json!({})),
            (
                "EntityStatsQueryRequest",
                json!({"model": name, "groupBy": ["$.code"]}),
            ),
            ("EntityModelGetAllRequest", json!({})),
            ("EntityWorkflowExportRequest", json!({"model": name})),
            ("ComputeMembersGetRequest", json!({})),
            ("AccountGetRequest", json!({})),
            ("ClientsGetRequest", json!({})),
        ];
        if let Some(message) = self.messages.last() {
            let message = MirroredClient::sign(*message);
            looks.push(("MessageGetRequest", json!({"messageId": message})));
        }
        if !self.jobs.is_empty() {
            let job = MirroredClient::sign(*random.pick(&self.jobs));
            looks.push(("SnapshotGetRequest", json!({"snapshotId": job})));
            looks.push(("SnapshotGetStatusRequest", json!({"snapshotId": job})));
        }
        let (kind, payload) = random.pick(&looks).clone();
        let api = Self::any_door(random, kind);
        self.say(api, kind, payload, None).await;
    }

    /// Everything it has, as the answers report it.
    pub(super) async fn everything(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for (kind, payload) in [
            ("EntityModelGetAllRequest", json!({})),
            ("EntityStatsByStateGetRequest", json!({})),
            ("ComputeMembersGetRequest", json!({})),
            ("ClientsGetRequest", json!({})),
        ] {
            all.push(self.say(Api::Stream, kind, payload, None).await);
        }
        let own = self.model.clone();
        for name in MODELS.iter().copied().chain([own.as_str()]) {
            let kind = "EntityGetAllRequest";
            let payload = json!({"model": model(name), "pageSize": 10_000});
            all.push(self.say(Api::Stream, kind, payload, None).await);
            let payload = json!({"model": model(name), "converter": "SIMPLE_VIEW"});
            let kind = "EntityModelExportRequest";
            all.push(self.say(Api::Stream, kind, payload, None).await);
        }
        for message in self.messages.clone() {
            let payload = json!({"messageId": MirroredClient::sign(message)});
            all.push(
                self.say(Api::Stream, "MessageGetRequest", payload, None)
                    .await,
            );
        }
        for job in self.jobs.clone() {
            let payload = json!({"snapshotId": MirroredClient::sign(job)});
            let kind = "SnapshotGetStatusRequest";
            all.push(self.say(Api::Stream, kind, payload, None).await);
        }
        // Each answer quotes its own request.
        all.into_iter().map(without_request).collect()
    }

    /// Something of its own that others would like to know of, as its first seat calls it.
    pub(super) fn any_thing(&self, random: &mut Random, is_key: bool) -> String {
        let named = |list: &[String], random: &mut Random| random.pick(list).clone();
        match random.below(8) {
            _ if is_key && !self.keys.is_empty() => named(&self.keys, random),
            0 => self.model.clone(),
            1 => self.mirrored.tenant.to_owned(),
            2 => named(&self.words, random),
            3 if !self.jobs.is_empty() => self.mirrored.name(*random.pick(&self.jobs)).to_owned(),
            4 if !self.messages.is_empty() => {
                self.mirrored.name(*random.pick(&self.messages)).to_owned()
            }
            5 => self.mirrored.name(*random.pick(&self.entities)).to_owned(),
            // Transactions, models, members, and whatever else the answers named.
            _ => self
                .mirrored
                .name(random.below(self.mirrored.count()))
                .to_owned(),
        }
    }
}

/// Which thing a sign stands for.
pub(super) fn place_of(sign: &Value) -> usize {
    let sign = sign.as_str().expect("a sign");
    let at = sign.trim_matches(['⟦', '⟧']);
    at.parse().unwrap_or_else(|_| panic!("{sign} is no sign"))
}

fn without_request(mut answer: Value) -> Value {
    for reported in answer["reported"].as_array_mut().into_iter().flatten() {
        if let Some(members) = reported.as_object_mut() {
            members.remove("requestId");
            members.remove("id");
        }
    }
    answer
}
