//! Operations: one event type, one file, one row.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::cluster`], [`crate::error`], [`crate::compat`],
//! [`crate::telemetry`], [`crate::entity`], [`crate::model`], [`crate::condition`],
//! [`crate::workflow`], [`crate::storage`], [`crate::audit`], [`crate::auth`], [`crate::compute`],
//! [`crate::runtime`], [`crate::search`], [`crate::event`], [`crate::expr`], [`crate::pool`],
//! [`crate::dialect`], [`crate::registry`], [`crate::program`], [`crate::connector`], [`crate::shares`].
//! Every API calls [`dispatch`] (`architecture.md` §1). To add an operation: its types in
//! [`crate::event`], a file here with `parse` and `run`, a row in [`table`], and its path in REST.

mod actions;
mod ahead;
mod answer;
mod answering;
mod audit_entity;
mod audit_finished;
mod bounds;
mod bundles;
mod cancel_search;
mod carried;
mod conditions;
mod context;
mod count_by_state;
mod count_entities;
mod create_entities;
mod create_entity;
mod create_message;
mod definitions;
mod delete_entities;
mod delete_entity;
mod delete_messages;
mod delete_model;
mod draw_workflows;
mod explain_search;
mod explain_workflow;
mod export_model;
mod export_workflows;
mod files;
mod get_account;
mod get_entity;
mod get_log_level;
mod get_message;
mod get_trace_sampler;
mod group_entities;
mod identity;
mod import_model;
mod import_workflows;
mod incidents;
mod invocations;
mod limits;
mod list_changes;
mod list_entities;
mod list_members;
mod list_models;
mod list_nodes;
mod list_transitions;
mod lock_model;
mod managers;
mod once;
mod paging;
mod patch_entity;
mod receiving;
mod reply;
mod runs;
mod schema;
mod search_entities;
mod search_results;
mod search_status;
mod set_change_level;
mod set_indexes;
mod set_log_level;
mod set_trace_sampler;
mod set_unique_keys;
mod submit_search;
mod subscribe_changes;
mod subscribe_search;
mod table;
mod topics;
mod transition_entity;
mod turn;
mod update_entities;
mod update_entity;
mod validate_model;
mod workers;
mod writing;

use std::{future::ready, panic::AssertUnwindSafe, sync::LazyLock, time::Instant};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use schemars::{JsonSchema, Schema};
use tracing::{Instrument as _, error, info_span};

use crate::auth::{self, Caller, Login, Permission, Rules};
use crate::error::{Failure, panic_text};
use crate::event::{Event, EventType, IDEMPOTENCY_ATTRIBUTE, payload};
use crate::storage::Assumption;
use crate::telemetry::measure::Operations;

pub use crate::runtime::Announced;
pub use answer::{Answer, Events, Output, Success};
pub use answering::{Answering, AnswersTo, Unread};
pub use bundles::{
    DefinitionsError, OwnRoutes, Routed, apply_definitions, is_step_workflow, routed,
};
pub use carried::{CallerMessage, answer_carried, first_answer, unanswered};
pub use context::{Context, Services, stopping};
pub use identity::{Unknown, follow as follow_identities, recall, refresh};
pub use limits::{Limits, Tenants};
pub use once::Keys;
pub use receiving::{Hold, Receiving};
pub use reply::{Reply, acknowledgement, refusal};
pub use schema::{EventSchema, Paths, Sender, schema_files};
pub use table::ROUTES;

/// How large a request may be that is done by what is assumed. Of a larger one, what a pulse takes
/// is the smallest part.
const ASSUMING_BYTES_MAX: usize = 256 << 10;

/// Which methods of the service take an operation (`grpc.md` §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Model,
    Entity,
    Search,
}

/// How many events answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    One,
    Many,
    /// As many as there will be: only the caller ends it.
    Live,
}

/// Whether an operation changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// How a request counts among those that its tenant has in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flight {
    /// It has a place until its answer has ended.
    UntilAnswered,
    /// It lasts while the caller follows something or waits for work: such requests take half of
    /// the places at most.
    Waiting,
    /// It ends work that was admitted before, so it needs no place.
    Ending,
}

/// What of the storage an operation reads, and so what it has to know first of the commits of other
/// processes that write to the database, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Anything,
    /// Only definitions before it commits: it need not ask what was committed.
    Definitions,
    /// It concerns this process only, and is done while the database is away, too.
    Nothing,
}

/// One request event type and the code that answers it.
pub trait Operation: Sized + Send + 'static {
    /// What its requests say, for those who write them.
    type Payload: JsonSchema;
    /// What it answers, beside what every answer says.
    type Answer: payload::Answer;

    const REQUEST: EventType;
    const RESPONSE: EventType;
    const FAMILY: Family;
    const ANSWERS: Answers = Answers::One;
    const ACCESS: Access;
    /// Whether it may add to what is stored. What only deletes, or sets something, is done however
    /// much that is.
    const STORES: bool = matches!(Self::ACCESS, Access::Write);
    const FLIGHT: Flight = match Self::ANSWERS {
        Answers::Live => Flight::Waiting,
        Answers::One | Answers::Many => Flight::UntilAnswered,
    };
    const NEEDS: Permission = Permission::Anyone;
    /// Whether one that writes can be done once, if it brings an idempotency key. One that cannot
    /// refuses the key.
    const ONCE: bool = true;
    const READS: Reads = Reads::Anything;
    /// Whether its requests hold conditions, which may take long to read.
    const HAS_CONDITION: bool = false;

    /// Refuses requests if the settings switch the operation off. This is checked after the
    /// caller's permission and before the payload of the request is read.
    fn offered(_: &Rules) -> Result<(), Failure> {
        Ok(())
    }

    /// Turns an untyped payload into a request that cannot be malformed.
    fn parse(payload: &str) -> Result<Self, Failure>;

    /// Owns its context: a streamed answer outlives the call.
    fn run(self, cx: Context)
    -> impl Future<Output = Result<Output<Self::Answer>, Failure>> + Send;

    /// Answers the repeat of a request whose outcome was stored with its commit.
    fn repeat(
        _: Context,
        _: Event,
        stored: Success,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send {
        ready(Ok(Answer::One(stored)))
    }
}

/// A row of the table of operations.
pub struct Route {
    pub request: EventType,
    pub response: EventType,
    pub family: Family,
    pub answers: Answers,
    pub access: Access,
    stores: bool,
    flight: Flight,
    pub needs: Permission,
    pub once: bool,
    reads: Reads,
    offered: fn(&Rules) -> Result<(), Failure>,
    payload: fn() -> Schema,
    answer: fn() -> Schema,
    failed: fn(&str, &Failure) -> String,
    run: fn(Context, Event) -> BoxFuture<'static, Result<Answer, Failure>>,
    repeat: fn(Context, Event, Success) -> BoxFuture<'static, Result<Answer, Failure>>,
}

impl Route {
    const fn to<O: Operation>() -> Self {
        Self {
            request: O::REQUEST,
            response: O::RESPONSE,
            family: O::FAMILY,
            answers: O::ANSWERS,
            access: O::ACCESS,
            stores: O::STORES,
            flight: O::FLIGHT,
            needs: O::NEEDS,
            once: O::ONCE,
            reads: O::READS,
            offered: O::offered,
            payload: schema::payload::<O::Payload>,
            answer: schema::answer::<O::Answer>,
            failed: payload::answer::failed::<O::Answer>,
            run: |cx, event| {
                // Made where it stays: it is too large to be moved for nothing.
                Box::pin(async move {
                    let operation: O = conditions::read(&cx, event).await?;
                    operation.run(cx).await.map(Into::into)
                })
            },
            repeat: |cx, event, stored| Box::pin(O::repeat(cx, event, stored)),
        }
    }

    /// The row of an operation that administers clients, keys or providers, which there are none of
    /// while authentication is mocked.
    const fn of_identity<O: Operation>() -> Self {
        Self {
            offered: |rules| O::offered(rules).and_then(|()| identity::offered(rules)),
            ..Self::to::<O>()
        }
    }

    /// The method of the service that takes it (`grpc.md` §6).
    pub const fn method(&self) -> &'static str {
        match (self.family, self.answers) {
            (Family::Model, _) => "entityModelManage",
            (Family::Entity, _) => "entityManage",
            (Family::Search, Answers::One) => "entitySearch",
            (Family::Search, Answers::Many | Answers::Live) => "entitySearchCollection",
        }
    }

    /// The row of a request type; none if nobody can ask for it.
    pub fn of(kind: EventType) -> Option<&'static Self> {
        Self::place(kind).map(|place| &ROUTES[place])
    }

    /// Which row of the table is that of a request type.
    fn place(kind: EventType) -> Option<usize> {
        PLACES[kind as usize].map(usize::from)
    }

    /// The answer that says that the operation failed.
    pub fn refuse(&self, request: &str, failure: &Failure) -> Event {
        Event::ours(self.response, (self.failed)(request, failure))
    }
}

/// The row of each event type, if it is a request.
static PLACES: [Option<u8>; EventType::ALL.len()] = {
    let mut places = [None; EventType::ALL.len()];
    let mut place = 0;
    while place < ROUTES.len() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "there are fewer than 256 rows"
        )]
        let row = place as u8;
        places[ROUTES[place].request as usize] = Some(row);
        place += 1;
    }
    places
};

/// How long each operation takes, in the order of the table.
static MEASURED: LazyLock<Vec<Operations>> = LazyLock::new(|| {
    let measured = |route: &Route| Operations::of(route.request.as_str());
    ROUTES.iter().map(measured).collect()
});

/// That a caller may use an operation here: checked once, before anything that the request says.
#[derive(Clone, Copy)]
pub struct Permit {
    place: usize,
}

impl Permit {
    /// Whether a caller may use the operation of a request type.
    pub fn check(kind: EventType, caller: &Caller, rules: &Rules) -> Result<Self, Failure> {
        let place = Route::place(kind).ok_or_else(|| Failure::unknown_type(kind.as_str()))?;
        let route = &ROUTES[place];
        route.needs.check(caller)?;
        (route.offered)(rules)?;
        Ok(Self { place })
    }

    /// Whether the operation changes anything.
    pub fn access(&self) -> Access {
        ROUTES[self.place].access
    }
}

/// The single entry to every operation, for every API.
pub async fn dispatch(cx: Context, event: Event) -> Result<Answer, Failure> {
    let permit = Permit::check(event.kind, cx.caller(), cx.rules())?;
    dispatch_permitted(permit, cx, event).await
}

/// Performs an operation for a caller whose permission was checked already.
pub async fn dispatch_permitted(
    permit: Permit,
    mut cx: Context,
    event: Event,
) -> Result<Answer, Failure> {
    let Permit { place } = permit;
    // The rest of the request, or those before it in a batch, may have taken long.
    cx.login().check()?;
    let (kind, route) = (event.kind, &ROUTES[place]);
    if let Some((cluster, node)) = cx.elsewhere() {
        let login = cx.login().clone();
        return match carried::carry(cluster, node, (&cx, route.access), event).await? {
            Answer::Many(events) => Ok(Answer::Many(guarded(events, kind, None, login))),
            Answer::Page(events, page) => {
                Ok(Answer::Page(guarded(events, kind, None, login), page))
            }
            one @ Answer::One(_) => Ok(one),
        };
    }
    let measured = &MEASURED[place];
    // A token that is not good is refused even where no transaction is looked at (`rest.md` §9).
    let admitted = limits::admit(&cx, route)
        .and_then(|place| cx.check_token().map(|()| place))
        .inspect_err(|failure| measured.failed(failure.code().as_str()))?;
    let login = cx.login().clone();
    let begun = Instant::now();
    let span = info_span!("operation", event.r#type = %kind, tenant = %cx.caller().tenant, request.id = %cx.request());
    let critical = cx.critical_parts().clone();
    let work = async move {
        if let Some(assumption) = assumed(&cx, route, &event) {
            let answer = (route.run)(cx.assuming(assumption.clone()), event.clone()).await;
            if assumption.is_settled() {
                return answer;
            }
        }
        if route.reads == Reads::Nothing && !event.attributes.contains_key(IDEMPOTENCY_ATTRIBUTE) {
            return (route.run)(cx, event).await;
        }
        // What any process has acknowledged before is seen by everything that is read from here on.
        cx.storage().refresh().await?;
        limits::has_room(&cx, route)?;
        let _turn = match once::begin(&mut cx, route, &event).await? {
            once::Begun::Now(turn) => turn,
            once::Begun::Before(stored) => return (route.repeat)(cx, event, stored).await,
        };
        let asked = cx.promised().is_some().then(|| cx.clone());
        match ((route.run)(cx, event).await, asked) {
            (Err(failure), Some(asked)) => once::met(&asked, failure).await,
            (answer, _) => answer,
        }
    };
    let work = AssertUnwindSafe(work).catch_unwind().instrument(span);
    let answer = critical.guarded(work).await;
    measured.since(begun);
    let failure = match answer {
        Ok(Ok(Answer::One(success))) => return Ok(Answer::One(success)),
        Ok(Ok(Answer::Many(events))) => {
            return Ok(Answer::Many(guarded(events, kind, admitted, login)));
        }
        Ok(Ok(Answer::Page(events, page))) => {
            return Ok(Answer::Page(guarded(events, kind, admitted, login), page));
        }
        Ok(Err(failure)) => failure,
        Err(panic) => panicked(panic.as_ref()),
    };
    measured.failed(failure.code().as_str());
    Err(reported(kind, failure))
}

/// What a request may assume instead of asking what other processes have committed. It is done again
/// if that was wrong, so it must be cheap to keep.
fn assumed(cx: &Context, route: &Route, event: &Event) -> Option<Assumption> {
    let fits = route.reads == Reads::Definitions
        && !cx.has_token()
        && !event.attributes.contains_key(IDEMPOTENCY_ATTRIBUTE)
        && event.len() <= ASSUMING_BYTES_MAX;
    if !fits || limits::has_room(cx, route).is_err() {
        return None;
    }
    cx.storage().assume(limits::stored_bytes(cx))
}

/// The same events; what goes wrong on the way is reported, and a panic is a failure. The request
/// is in flight until the last of them. Nothing follows once the caller may no longer call.
fn guarded(
    events: Events,
    kind: EventType,
    admitted: Option<limits::RequestSlot>,
    login: Login,
) -> Events {
    let caught = AssertUnwindSafe(events)
        .catch_unwind()
        .map(move |item| match item {
            Ok(Ok(event)) => Ok(event),
            Ok(Err(failure)) => Err(reported(kind, failure)),
            Err(panic) => Err(reported(kind, panicked(panic.as_ref()))),
        });
    // Nothing follows a failure.
    let withdrawal = async move { login.withdrawn().await }.boxed();
    let begun = Some((caught.boxed(), withdrawal, admitted));
    let ends = stream::unfold(begun, |events| async {
        let (mut events, mut withdrawal, admitted) = events?;
        let item = tokio::select! {
            biased;
            () = &mut withdrawal => Err(auth::withdrawn()),
            item = events.next() => item?,
        };
        let rest = item.is_ok().then_some((events, withdrawal, admitted));
        Some((item, rest))
    });
    ends.fuse().boxed()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    Failure::internal(format!("panic: {}", panic_text(panic)))
}

/// Logs the cause of an internal error, which callers do not receive.
fn reported(kind: EventType, failure: Failure) -> Failure {
    if let Some((ticket, cause)) = failure.internal_cause() {
        error!(event.r#type = %kind, %ticket, cause, "an operation failed");
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_type_has_one_row_and_every_row_a_request_type() {
        let asked: Vec<_> = EventType::ALL
            .iter()
            .filter(|kind| kind.as_str().ends_with("Request") && !NOT_OPERATIONS.contains(kind))
            .collect();
        for kind in &asked {
            assert_eq!(
                ROUTES
                    .iter()
                    .filter(|route| route.request == **kind)
                    .count(),
                1,
                "{kind}"
            );
        }
        assert_eq!(ROUTES.len(), asked.len());
        for route in ROUTES {
            let suffix = match route.answers {
                Answers::One | Answers::Many => "Response",
                Answers::Live => "Event",
            };
            assert!(
                route.response.as_str().ends_with(suffix),
                "{}",
                route.request
            );
        }
    }

    /// Requests that the server makes, or that are about the stream they are on.
    const NOT_OPERATIONS: &[EventType] = &[
        EventType::EntityCriteriaCalculationRequest,
        EventType::EntityFunctionCalculationRequest,
        EventType::EntityProcessorCalculationRequest,
        EventType::EventCancelRequest,
        EventType::TaskCalculationRequest,
    ];
}
