//! One tenant cannot tell whether another is there: a fuzzer.
//!
//! Two tenants share a server, where the second tries everything that the first learns, in
//! every place of every request, at every API. At the same time it does the very same on a server
//! that it has for itself, where nothing of that is there. Whatever it is answered must be the same
//! on both: so neither what it tries nor what the other does can be learnt, whether by an answer, a
//! count, a conflict or a feed. What differs from one server to the next (its own identifiers,
//! instants, positions) has to differ in the same way all the time.
//!
//! `INTERLOCK_ISOLATION_SEED` decides what happens, `INTERLOCK_ISOLATION_STEPS` for how long.

mod acts;
mod deck;
mod mirrored;
mod trust;

use std::{collections::BTreeSet, io::Write as _};

use interlock::event::Event;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use acts::{Actor, place_of};
use deck::{Card, deck, doors_alone};
use mirrored::{Api, Asked, MirroredClient, reported_until};

use crate::support::{
    Call, Connection, Member, Random, Reply, Rest, Server, code, get, payload_of, request,
    token::{TAKES_TOKENS, bearer},
};

/// How many places are tried in one step.
const TRIED_AT_ONCE: usize = 8;

/// How many steps go by between two looks at whether the victim has what it had.
const LOOKED_AFTER: usize = 5;

/// After how many steps tokens of transactions are tried at every API.
const TOKENS_EVERY: usize = 400;

const ROLES: &[&str] = &["ROLE_ADMIN", "ROLE_M2M"];

fn server() -> Server {
    // What is searched for must not decide by itself how the next search is served.
    let indexes = ("INTERLOCK_SEARCH_INDEXES", "declared");
    // Members here say nothing unless they are called.
    let silence = ("CYODA_KEEPALIVE_TIMEOUT", "86400");
    Server::with(&[&TAKES_TOKENS[..], &[indexes, silence]].concat())
}

fn number_of(setting: &str) -> Option<u64> {
    let text = std::env::var(setting).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{setting} is a number")),
    )
}

/// Says how a failure is repeated.
struct Repeat(u64);

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(
                std::io::stderr(),
                "\nisolation: INTERLOCK_ISOLATION_SEED={} repeats it",
                self.0
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_can_tell_what_is_anothers_from_what_is_not_there() {
    let seed = number_of("INTERLOCK_ISOLATION_SEED").unwrap_or(1);
    let _repeat = Repeat(seed);
    let mut random = Random::new(seed);
    let mut stage = Stage::set().await;
    let document = stage.shared.rest().get("/openapi.json").await.ok();
    let cards = deck(&document);
    let apis = doors_alone();
    let once = cards.len().div_ceil(TRIED_AT_ONCE);
    let steps = number_of("INTERLOCK_ISOLATION_STEPS").map_or(once, |steps| {
        usize::try_from(steps).expect("a number of steps")
    });
    let begun = std::time::Instant::now();
    let mut order: Vec<usize> = Vec::new();
    let mut tried = BTreeSet::new();
    let mut refused = 0;
    let mut before = stage.victim.everything().await;
    for step in 0..steps {
        if step % LOOKED_AFTER == 0 {
            assert_eq!(stage.victim.everything().await, before, "it was changed");
            for _ in 0..2 * LOOKED_AFTER {
                stage.victim.act(&mut random).await;
            }
            before = stage.victim.everything().await;
        }
        stage.mallory.act(&mut random).await;
        for _ in 0..TRIED_AT_ONCE {
            if order.is_empty() {
                order = (0..cards.len()).collect();
                random.shuffle(&mut order);
            }
            let at = order.pop().expect("a card");
            stage.try_card(&cards[at], &mut random).await;
            tried.insert(at);
        }
        if step % TOKENS_EVERY == TOKENS_EVERY / 4 {
            refused += stage.steal(&apis, &mut random).await;
            before = stage.victim.everything().await;
        }
    }
    stage.end(&mut random).await;
    let _ = writeln!(
        std::io::stderr(),
        "\nisolation: seed {seed}, {steps} steps: {} of {} places at apis tried, {refused} apis closed to a token, {:.0} s",
        tried.len(),
        cards.len(),
        begun.elapsed().as_secs_f64(),
    );
}

/// Two tenants on one server, and the second on another of its own.
struct Stage {
    shared: Server,
    _lone: Server,
    victim: Actor,
    mallory: Actor,
    /// The victim's, which answers on request.
    held: Member,
    /// One of the other's, known to be there.
    entity: Option<String>,
    /// Everything that members were sent: the victim's, then the other's.
    calls: [Vec<mpsc::UnboundedReceiver<Call>>; 2],
    feeds: [Vec<mpsc::UnboundedReceiver<Event>>; 2],
    searches: Vec<mpsc::UnboundedReceiver<Event>>,
}

impl Stage {
    async fn set() -> Self {
        let (shared, lone) = (server(), server());
        let victim = MirroredClient::of("victim", &[&shared]).await;
        let mallory = MirroredClient::of("mallory", &[&shared, &lone]).await;
        let mut calls = [Vec::new(), Vec::new()];
        for (mirrored, calls) in [&victim, &mallory].into_iter().zip(&mut calls) {
            for seat in &mirrored.seats {
                calls.push(seat.member.record(|_| Reply::Nothing));
            }
        }
        // The same tag in both tenants.
        let held = member(&shared, "victim").await;
        for server in [&shared, &lone] {
            let member = member(server, "mallory").await;
            calls[1].push(member.record(|_| Reply::Nothing));
        }
        let all = json!({"fromSequence": 0, "includeData": true});
        let feeds = [
            follow(&victim, "EntityChangesSubscribeRequest", &all).await,
            follow(&mallory, "EntityChangesSubscribeRequest", &all).await,
        ];
        let (victim, mallory) = (Actor::of(victim).await, Actor::of(mallory).await);
        let everything = json!({"type": "group", "operator": "AND", "conditions": []});
        let own = json!({"name": mallory.model, "version": 1});
        let search = json!({"model": own, "condition": everything, "includeData": true});
        let searches = follow(&mallory.mirrored, "EntitySearchSubscribeRequest", &search).await;
        Self {
            shared,
            _lone: lone,
            victim,
            mallory,
            held,
            entity: None,
            calls,
            feeds,
            searches,
        }
    }

    /// An entity that the other has; what was written last may have taken it away.
    async fn entity(&mut self, random: &mut Random) -> String {
        match self.entity.take() {
            Some(entity) => entity,
            None => self.mallory.ensure(random).await,
        }
    }

    /// Puts something of the victim's into one place.
    async fn try_card(&mut self, card: &Card, random: &mut Random) {
        let entity = self.entity(random).await;
        // Or something of its own, which is there on both servers, but not by the same name.
        let tried = if random.chance(15) && !card.names_something() {
            MirroredClient::sign(random.below(self.mallory.mirrored.count()))
        } else {
            self.victim.any_thing(random, card.takes_key())
        };
        self.mallory
            .mirrored
            .ask(&card.asked(&entity, &tried))
            .await;
        self.entity = (!card.writes()).then_some(entity);
    }

    /// While the victim's transaction is open, its token gives another tenant no access, its call is
    /// nobody else's to answer, and its request nobody else's to cancel. How many APIs rejected it.
    async fn steal(&mut self, apis: &[Card], random: &mut Random) -> usize {
        let model = json!({"name": "held", "version": 1});
        let data = json!({"n": 1, "code": "c", "word": "victim-held"});
        let payload = json!({"dataFormat": "JSON", "payload": {"model": model, "data": data}});
        let create = request("EntityCreateRequest", "held", payload);
        let mut answers = self.victim.mirrored.seats[0].connection.begin(create).await;
        let call = self.held.next().await;
        let token = call.token().to_owned();
        let mut refused = 0;
        for card in apis {
            let entity = self.entity(random).await;
            let mirrored = &mut self.mallory.mirrored;
            let id = mirrored.next_id();
            let asked = card.asked_with_token(&entity, &token);
            let (status, reported) = mirrored.ask_on(0, &asked, &id).await;
            if reported.iter().any(|text| text.contains("FORBIDDEN: ")) {
                refused += 1;
                self.entity = Some(entity);
                continue;
            }
            // It takes no tokens: then it is answered as if there were none.
            let without = mirrored.ask_on(1, &card.asked(&entity, ""), &id).await;
            mirrored
                .agree(&asked, vec![(status, reported), without])
                .await;
        }
        assert!(refused > 0, "a token is taken somewhere");
        let thief = &self.mallory.mirrored.seats[0].member.connection;
        let stolen = json!({"requestId": call.payload["requestId"], "entityId": call.payload["entityId"],
            "success": true, "payload": {"type": "JSON", "data": {"word": "stolen"}}});
        let answer = request("EntityProcessorCalculationResponse", "steal", stolen);
        thief.send(answer).await;
        let cancel = json!({"requestId": "held"});
        let cancelled = thief.call("EventCancelRequest", cancel).await;
        assert_eq!(code(&cancelled), "NOT_FOUND");
        self.held.reply(&call, Reply::Nothing).await;
        let made = payload_of(&answers.recv().await.expect("an answer"));
        assert_eq!(made["success"], true, "{made}");
        let id = made["transactionInfo"]["entityIds"][0].as_str();
        let entity = get(
            &self.victim.mirrored.seats[0].connection,
            id.expect("an id"),
        )
        .await;
        assert_eq!(entity["data"], data, "{entity}");
        // Now that it is over, it is not there for anyone.
        let late = thief
            .call_with(
                "EntityGetRequest",
                json!({"entityId": id}),
                &[("cyodatxtoken", token.as_str())],
            )
            .await;
        assert_eq!(code(&late), "TRANSACTION_NOT_FOUND");
        refused
    }

    /// Looks at everything that came without being asked for.
    async fn end(mut self, random: &mut Random) {
        let (last_of_victim, positions) = self.end_victim().await;
        let last = self.last_of_mallory().await;
        let names = self.mallory.mirrored.names(last);
        let [_, feeds] = &mut self.feeds;
        let mut reported = Vec::new();
        for (feed, name) in feeds.iter_mut().zip(&names) {
            reported.push(json!(reported_until(feed, name).await));
        }
        let pair: Vec<&Value> = reported.iter().collect();
        let agreed = self.mallory.mirrored.unify("feed", &pair);
        let agreed = agreed.unwrap_or_else(|place| panic!("{place} differs"));
        assert!(!agreed.to_string().contains("victim"));
        let mut found = Vec::new();
        for (search, name) in self.searches.iter_mut().zip(&names) {
            found.push(json!(reported_until(search, name).await));
        }
        let pair: Vec<&Value> = found.iter().collect();
        let agreed = self.mallory.mirrored.unify("live search", &pair);
        let agreed = agreed.unwrap_or_else(|place| panic!("{place} differs"));
        assert!(!agreed.to_string().contains("victim"));
        let reported = reported[0].as_array().expect("changes").clone();
        for _ in 0..5 {
            let after = *random.pick(&positions);
            self.resume(after, &reported, &names[0]).await;
        }
        for (calls, other) in self.calls.iter_mut().zip(["mallory", "victim"]) {
            for calls in calls {
                while let Ok(call) = calls.try_recv() {
                    let reported = call.payload.to_string();
                    assert!(
                        !reported.contains(other),
                        "a member of another was called: {reported}"
                    );
                }
            }
        }
        let metrics = Rest::new(self.shared.admin).get("/metrics").await.text;
        for name in ["victim", "mallory", &names[0], &last_of_victim] {
            assert!(!metrics.contains(name), "{name} is in the metrics");
        }
    }

    /// The victim's feed is its own; where it was, and the last entity in it.
    async fn end_victim(&mut self) -> (String, Vec<i64>) {
        let asked = new_entity(&self.victim.model, "victim-last");
        let made = self.victim.mirrored.ask(&asked).await;
        let last = place_of(&made["reported"][0]["transactionInfo"]["entityIds"][0]);
        let last = self.victim.mirrored.name(last).to_owned();
        let reported = reported_until(&mut self.feeds[0][0], &last).await;
        for change in &reported {
            assert!(!change.to_string().contains("mallory"), "{change}");
        }
        let positions = reported
            .iter()
            .map(|change| change["sequence"].as_i64().expect("a position"));
        (last, positions.collect())
    }

    async fn last_of_mallory(&mut self) -> usize {
        let asked = new_entity(&self.mallory.model, "mallory-last");
        let made = self.mallory.mirrored.ask(&asked).await;
        place_of(&made["reported"][0]["transactionInfo"]["entityIds"][0])
    }

    /// Goes on after a position of the victim's, on the stream and over REST: what follows is what
    /// has learnt already, of its own.
    async fn resume(&self, after: i64, reported: &[Value], last: &str) {
        let seat = &self.mallory.mirrored.seats[0];
        let position = |change: &Value| change["sequence"].as_i64().expect("a position");
        let wanted: Vec<i64> = reported
            .iter()
            .map(position)
            .filter(|at| *at > after)
            .collect();
        let resume = json!({"fromSequence": after});
        let id = format!("resume-{after}-{}", seat.connection.fresh_id());
        let resume = request("EntityChangesSubscribeRequest", &id, resume);
        let mut answers = seat.connection.begin(resume).await;
        let resumed = reported_until(&mut answers, last).await;
        assert_eq!(resumed.iter().map(position).collect::<Vec<_>>(), wanted);
        seat.connection.cancel(&id).await;
        let path = "/api/entity/changes/stream";
        let rest = seat.rest.with("last-event-id", &after.to_string());
        let mut coming = rest.open("GET", path, "").await;
        for at in wanted {
            let change = coming.sent().await.expect("a change");
            assert_eq!(change.id.as_deref(), Some(at.to_string().as_str()));
        }
    }
}

fn new_entity(model: &str, word: &str) -> Asked {
    let model = json!({"name": model, "version": 1});
    let data = json!({"n": 1, "code": "c", "word": word});
    Asked {
        api: Api::Stream,
        kind: interlock::event::EventType::EntityCreateRequest,
        payload: json!({"dataFormat": "JSON", "payload": {"model": model, "data": data}}),
        beside: Vec::new(),
    }
}

/// A member for the work that is tagged `held`.
async fn member(server: &Server, tenant: &str) -> Member {
    let authorization = bearer(tenant, ROLES);
    let metadata = [("authorization", authorization.as_str())];
    let connection: Connection = server.connect_as(&metadata).await;
    Member::join_on(connection, &["held"]).await
}

/// Subscribes on every seat.
async fn follow(
    mirrored: &MirroredClient,
    kind: &str,
    payload: &Value,
) -> Vec<mpsc::UnboundedReceiver<Event>> {
    let mut all = Vec::new();
    for seat in &mirrored.seats {
        let event = request(kind, kind, payload.clone());
        all.push(seat.connection.begin(event).await);
    }
    all
}
