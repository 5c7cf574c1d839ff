//! Idempotency keys: requests that are performed once (`stream.md` §2).
//!
//! [`begin`] is a step of dispatch for every request that writes. The first request with a key owns
//! it; a repeat waits for its end, and receives the outcome that its commit stored. A failure
//! stores nothing, so the next request with the key is the first again. Two requests are the same
//! if their type and payload are equal, apart from the payload's `id`: a repeat may come from
//! another user of the tenant and through another API.
//!
//! * A run that commits in segments stores what is known then with its first commit: its
//!   transaction and the entities so far. That is provisional: no repeat receives it while the rest
//!   is in flight, here or at another process. The last commit stores what is answered in the end; a
//!   rest that is resumed after a crash leaves what was known, or frees the key if items of the
//!   request were not begun; one that fails frees the key.
//! * A collection in windows has one outcome per window. A repeat resumes with the first
//!   window that was not done, so one that failed in its middle can be completed.
//! * What workers report is committed by the runs that it concerns; the answer is stored afterwards,
//!   in a commit of its own. After a crash in between a repeat is late.
//! * So is the answer to an event for a row of a foreign database: after a crash in between a repeat
//!   finds the row where the event has left it.
//! * The start of a run whose end is waited for stores what is known when the run is committed. A
//!   repeat waits for the end again.
//! * What commits nothing else stores nothing: settings of the process are set again by a repeat.
//! * What may call is not a commit either, and its answers hold secrets that are stored nowhere, so
//!   requests that change it refuse a key.
//! * A request that joins a transaction leaves its outcome in that transaction, which stores it
//!   if it commits, and gives it to a repeat within the same transaction before. A repeat from
//!   elsewhere does not wait for that transaction; of the two, who commits last gets `CONFLICT`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::{Access, Answer, Context, Family, Route, Success};
use crate::auth::{Permission, Roles};
use crate::error::{Code, Failure};
use crate::event::{Event, EventType, IDEMPOTENCY_ATTRIBUTE, payload};
use crate::id::Tenant;
use crate::runtime::{COMMITTED, Lines, Place, Turn};
use crate::storage::{Once, Print, Remembered, StoredOutcome};

/// How many characters a key has at most.
const KEY_CHARS_MAX: usize = 255;

/// How long a repeat waits for the rest of a request that is in flight at another process, or that
/// is resumed after a crash, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// The part of a request that has no others.
pub(super) const WHOLE: u32 = 0;

/// The keys of requests in flight.
#[derive(Debug, Clone)]
pub struct Keys {
    /// How long outcomes are kept.
    life: Duration,
    in_flight: Lines<Print>,
}

impl Keys {
    pub fn new(life: Duration) -> Self {
        Self {
            life,
            in_flight: Lines::default(),
        }
    }

    /// Gets in line behind those that have the same key, who must be the same request.
    fn line_up(&self, tenant: &Tenant, key: &str, print: Print) -> Result<Place<Print>, Failure> {
        let place = self.in_flight.join((tenant, key), print);
        if place.value == print {
            Ok(place)
        } else {
            Err(conflict(key))
        }
    }
}

/// A request that is to be done once, and what was done of it already.
#[derive(Debug)]
pub(super) struct Promised {
    key: Arc<str>,
    print: Print,
    life: Duration,
    done: Vec<Remembered>,
}

impl Promised {
    /// What became of a part earlier.
    pub(super) fn done(&self, part: u32) -> Option<&str> {
        let done = self.done.iter().find(|done| done.part == part);
        done.map(|done| &*done.answer)
    }

    pub(super) fn part(&self, cx: &Context, part: u32) -> Once {
        Once {
            key: Arc::clone(&self.key),
            part,
            print: self.print,
            expires: cx.storage().now().after(self.life),
        }
    }

    /// What is stored with a change that is one commit.
    pub(super) fn outcome(&self, cx: &Context, answer: &str) -> StoredOutcome {
        StoredOutcome {
            once: self.part(cx, WHOLE),
            answer: answer.into(),
            again: false,
        }
    }
}

/// How a request begins.
pub(super) enum Begun {
    /// It is to be done; a turn, if it has a key.
    Now(Option<Turn<Print>>),
    /// It was done, and this was stored.
    Before(Success),
}

/// Waits for the turn of a request that has a key, and finds out whether it was done.
pub(super) async fn begin(
    cx: &mut Context,
    route: &Route,
    event: &Event,
) -> Result<Begun, Failure> {
    if route.access == Access::Read || cx.runtime().compat().idempotency_keys_are_ignored() {
        return Ok(Begun::Now(None));
    }
    let Some(key) = key(event)? else {
        return Ok(Begun::Now(None));
    };
    if !route.once {
        return Err(Failure::new(
            Code::BadRequest,
            "this request accepts no idempotency key, because its outcome is not stored",
        ));
    }
    let print = print(event, route.needs, &cx.caller().roles)?;
    let place = cx.keys().line_up(&cx.caller().tenant, &key, print)?;
    let turn = cx.cancel().run_until_cancelled(place.turn()).await;
    let turn = turn.ok_or_else(Failure::cancelled)?;
    let done = ended(cx, Some(route), &key, print).await?;
    let promised = Promised {
        key,
        print,
        life: cx.keys().life,
        done,
    };
    if let Some(answer) = promised.done(WHOLE) {
        return Ok(Begun::Before(replay(cx, answer)?));
    }
    cx.promise(promised);
    Ok(Begun::Now(Some(turn)))
}

/// The outcome that another commit has stored meanwhile, where that may be why this one failed. If
/// another process has done it, what this one has read may be what the other has made of it, and
/// the failure any.
pub(super) async fn met(cx: &Context, failure: Failure) -> Result<Answer, Failure> {
    let code = failure.code();
    let is_open = matches!(code, Code::StorageUnavailable | Code::OutcomeUnknown);
    let may_be_why = code == Code::Conflict
        || (cx.storage().is_shared() && !is_open && failure.internal_cause().is_none());
    // Of what this request has committed, its own failure is the outcome.
    let has_committed = failure
        .properties()
        .iter()
        .any(|(name, _)| *name == COMMITTED);
    let promised = cx.promised().filter(|_| may_be_why && !has_committed);
    let Some(promised) = promised else {
        return Err(failure);
    };
    let Ok(stored) = ended(cx, None, &promised.key, promised.print).await else {
        return Err(failure);
    };
    let is_it = |stored: &&Remembered| stored.part == WHOLE;
    match stored.iter().find(is_it) {
        Some(stored) => replay(cx, &stored.answer).map(Answer::One),
        None => Err(failure),
    }
}

/// The outcomes for a key, none of which is provisional: what is in flight at another process, or at
/// this one since a crash, is waited for.
async fn ended(
    cx: &Context,
    route: Option<&Route>,
    key: &str,
    print: Print,
) -> Result<Vec<Remembered>, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        let done = done(cx, route, key).await?;
        if done.iter().any(|done| done.print != print) {
            return Err(conflict(key));
        }
        if !done.iter().any(Remembered::is_provisional) {
            return Ok(done);
        }
        if Instant::now() >= until {
            return Err(still_in_flight(key));
        }
        let pause = cx.cancel().run_until_cancelled(sleep(LOOK_PAUSE)).await;
        pause.ok_or_else(Failure::cancelled)?;
    }
}

fn replay(cx: &Context, answer: &str) -> Result<Success, Failure> {
    let text = payload::readdressed(answer, cx.request())?;
    Ok(Success::stored(text))
}

/// The outcomes for a key: those that are stored, and at the begin of a request those of the
/// transaction that is joined.
async fn done(cx: &Context, begins: Option<&Route>, key: &str) -> Result<Vec<Remembered>, Failure> {
    let mut done = cx.storage().outcomes(&cx.caller().tenant, key).await?;
    // Models are not part of transactions.
    if cx.has_token() && begins.is_some_and(|route| route.family != Family::Model) {
        let mut session = cx.session().await?;
        done.extend(session.unit()?.remembered(key));
    }
    Ok(done)
}

fn key(event: &Event) -> Result<Option<Arc<str>>, Failure> {
    let Some(value) = event.attributes.get(IDEMPOTENCY_ATTRIBUTE) else {
        return Ok(None);
    };
    let bad = |why: &str| {
        Failure::new(
            Code::BadRequest,
            format!("the idempotency key {why}; use 1 to {KEY_CHARS_MAX} characters"),
        )
    };
    let key = value.text().ok_or_else(|| bad("is not a text"))?;
    if key.is_empty() {
        return Err(bad("is empty"));
    }
    if key.chars().count() > KEY_CHARS_MAX {
        return Err(bad("is too long"));
    }
    Ok(Some(key.into()))
}

/// The member that says which entity an event of a state machine is for; if it is absent, `id` does.
const ENTITY_ID: &str = "entityId";

/// A fingerprint of a request's type and payload, in which the order of members and the id do not
/// matter: an API may make the latter itself. Where some things need a role, which is found out only
/// when the request is performed, a repeat without the role is another request.
fn print(event: &Event, needs: Permission, roles: &Roles) -> Result<Print, Failure> {
    let members: BTreeMap<String, &RawValue> = payload::decode(event.text()?)?;
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    };
    add(event.kind.as_str());
    if let Permission::RoleForSome(role) = needs
        && !roles.contain(role)
    {
        add("without ");
        add(role);
    }
    let is_id_counted =
        event.kind == EventType::MachineTransitionRequest && !members.contains_key(ENTITY_ID);
    for (name, value) in members
        .iter()
        .filter(|(name, _)| is_id_counted || *name != "id")
    {
        add(name);
        add(value.get());
    }
    Ok(hash.finalize().into())
}

fn conflict(key: &str) -> Failure {
    Failure::new(
        Code::IdempotencyConflict,
        format!("the idempotency key `{key}` was used for another request; use a new one"),
    )
}

fn still_in_flight(key: &str) -> Failure {
    Failure::new(
        Code::Conflict,
        format!(
            "the first request with the idempotency key `{key}` has committed a part and is still \
             in flight; repeat it later to receive its answer"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::ROLE_ADMIN;
    use crate::event::AttributeValue;

    fn event(kind: EventType, payload: &str) -> Event {
        Event::ours(kind, payload.to_owned())
    }

    #[test]
    fn requests_are_distinguished_by_type_and_payload() {
        let create = EventType::EntityCreateRequest;
        let print = |event: &Event, roles: &[&str]| {
            let needs = Route::of(event.kind).expect("a request").needs;
            print(event, needs, &Roles::of(roles.iter().copied()))
        };
        let of = |payload: &str| print(&event(create, payload), &[]).expect(payload);
        let one = of(r#"{"id":"1","a":{"x":1},"b":2}"#);
        assert_eq!(one, of(r#"{"b": 2, "id": "2", "a": {"x":1}}"#));
        for other in [
            r#"{"a":{"x":2},"b":2}"#,
            r#"{"a":{"x":1}}"#,
            r#"{"a":{"x":1},"b":2,"c":null}"#,
            r#"{"a":{"x":1},"bb":2}"#,
        ] {
            assert_ne!(one, of(other), "{other}");
        }
        let update = event(EventType::EntityUpdateRequest, r#"{"a":{"x":1},"b":2}"#);
        assert_ne!(one, print(&update, &[]).expect("a print"));
        assert!(print(&event(create, "[]"), &[]).is_err());
        assert!(print(&event(create, "{"), &[]).is_err());
        for (kind, is_same) in [
            (create, true),
            (EventType::RunDefinitionSetEnabledRequest, false),
        ] {
            let event = event(kind, r#"{"a":1}"#);
            let [by_administrator, by_another] =
                [&[ROLE_ADMIN][..], &[]].map(|roles| print(&event, roles).expect("a print"));
            assert_eq!(by_administrator == by_another, is_same, "{kind}");
        }
    }

    #[test]
    fn a_key_is_a_text_of_some_characters() {
        let with = |value| {
            key(&event(EventType::EntityCreateRequest, "{}").with(IDEMPOTENCY_ATTRIBUTE, value))
        };
        let text = |text: String| AttributeValue::String(text.into());
        assert_eq!(
            key(&event(EventType::EntityCreateRequest, "{}")).expect("none"),
            None
        );
        assert!(with(text("é".repeat(255))).is_ok());
        for bad in [
            text("é".repeat(256)),
            text(String::new()),
            AttributeValue::Integer(1),
        ] {
            assert_eq!(with(bad).expect_err("bad").code(), Code::BadRequest);
        }
    }

    #[test]
    fn the_table_of_keys_in_flight_forgets_those_that_ended() {
        let keys = Keys::new(Duration::from_secs(1));
        let line_up = |tenant: &str, print| keys.line_up(&tenant.into(), "k", [print; 32]);
        let one = line_up("t", 1).expect("first");
        let two = line_up("t", 1).expect("the same");
        assert!(line_up("t", 2).is_err(), "another");
        assert!(line_up("other", 2).is_ok(), "another tenant's");
        drop(one);
        assert!(line_up("t", 2).is_err(), "another");
        drop(two);
        assert!(line_up("t", 2).is_ok());
    }
}
