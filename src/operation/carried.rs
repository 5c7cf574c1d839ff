//! Requests of transactions that are open at another node (`grpc.md` §13): they are carried there,
//! and its answers handed on.

use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http::StatusCode;
use prost::Message as _;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Access, Answer, Context, Events, Route, Services, Success, dispatch};
use crate::auth::{Caller, Login, Roles};
use crate::cluster::{AnswerStream, Cluster, Unreached};
use crate::entity::Actor;
use crate::error::{Code, Failure, member_name};
use crate::event::{Event, EventType, payload};
use crate::storage::NodeRow;

/// A caller, as one node names it to another.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CallerMessage {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, repeated, tag = "4")]
    roles: Vec<String>,
}

impl CallerMessage {
    pub fn of(caller: &Caller) -> Self {
        Self {
            tenant: caller.tenant.as_str().to_owned(),
            kind: caller.actor.kind.as_str().to_owned(),
            name: caller.actor.name.to_string(),
            roles: caller.roles.iter().map(str::to_owned).collect(),
        }
    }

    /// The caller, whom the other node has authenticated.
    pub fn login(self) -> Option<Login> {
        Some(Login::carried(Caller {
            tenant: self.tenant.as_str().into(),
            actor: Actor {
                kind: self.kind.parse().ok()?,
                name: self.name.into(),
            },
            roles: Roles::of(self.roles.iter().map(String::as_str)),
        }))
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct RequestMessage {
    #[prost(message, required, tag = "1")]
    caller: CallerMessage,
    #[prost(bytes = "bytes", tag = "2")]
    event: Bytes,
    #[prost(string, tag = "3")]
    token: String,
}

/// A failure, as one node reports it to another.
#[derive(Clone, PartialEq, prost::Message)]
struct FailureMessage {
    #[prost(string, tag = "1")]
    code: String,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(uint32, tag = "3")]
    status: u32,
    #[prost(bool, tag = "4")]
    is_in_request: bool,
    #[prost(message, repeated, tag = "5")]
    properties: Vec<MemberMessage>,
    #[prost(message, repeated, tag = "6")]
    members: Vec<MemberMessage>,
    #[prost(string, repeated, tag = "7")]
    warnings: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MemberMessage {
    #[prost(string, tag = "1")]
    name: String,
    /// In JSON.
    #[prost(string, tag = "2")]
    value: String,
}

impl FailureMessage {
    fn of(failure: &Failure) -> Self {
        let members = |members: &[(&'static str, Value)]| {
            let member = |(name, value): &(&'static str, Value)| MemberMessage {
                name: (*name).to_owned(),
                value: value.to_string(),
            };
            members.iter().map(member).collect()
        };
        Self {
            code: failure.code().as_str().to_owned(),
            message: failure.message().to_owned(),
            status: failure.status().as_u16().into(),
            is_in_request: failure.is_in_request(),
            properties: members(failure.properties()),
            members: members(failure.members()),
            warnings: failure.warnings().to_vec(),
        }
    }

    fn read(self) -> Failure {
        let code = Code::ALL.iter().find(|code| code.as_str() == self.code);
        let status = u16::try_from(self.status).ok();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let (Some(code), Some(status)) = (code, status) else {
            return Failure::internal(format!("another node answers {}", self.code));
        };
        let of_it = Failure::of_another_node(*code, self.message, status, self.is_in_request);
        let value = |member: &MemberMessage| {
            let value = serde_json::from_str::<Value>(&member.value).unwrap_or_default();
            (member_name(&member.name), value)
        };
        let with = self.properties.iter().map(value);
        let of_it = with.fold(of_it, |failure, (name, value)| failure.with(name, value));
        let with = self.members.iter().map(value);
        let of_it = with.fold(of_it, |failure, (name, value)| {
            failure.with_member(name, value)
        });
        of_it.warned(self.warnings)
    }
}

/// One item of an answer.
#[derive(Clone, PartialEq, prost::Message)]
struct ItemMessage {
    /// One of the words below.
    #[prost(string, tag = "1")]
    what: String,
    /// The type of the event.
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(string, tag = "3")]
    text: String,
    #[prost(message, optional, tag = "4")]
    failure: Option<FailureMessage>,
}

/// The only answer.
const ONE: &str = "one";
/// The beginning of many, and one of them.
const MANY: &str = "many";
/// The beginning of a page, whose number is the text.
const PAGE: &str = "page";
const FAILURE: &str = "failure";

/// The failure of a request whose transaction is at a node that is gone or cannot be reached.
fn unavailable() -> Failure {
    Failure::new(
        Code::TransactionNodeUnavailable,
        "the node that began the transaction is gone or cannot be reached; repeat the transaction as \
         a whole",
    )
}

/// The failure of a request that was sent to the node of its transaction, and not answered. A write
/// may have been done there.
pub fn unanswered(access: Access) -> Failure {
    match access {
        Access::Read => unavailable(),
        Access::Write => Failure::new(
            Code::OutcomeUnknown,
            "the node that began the transaction has not answered; the write may be part of the \
             transaction, so do not repeat it without its idempotency key; repeat the transaction \
             as a whole",
        ),
    }
}

/// Sends a request to the node of its transaction; the answers, with the first.
pub async fn first_answer(
    cluster: &Cluster,
    access: Access,
    sending: impl Future<Output = Result<AnswerStream, Unreached>>,
) -> Result<(AnswerStream, Bytes), Failure> {
    let until = Instant::now() + cluster.proxy_timeout();
    // What is still to be sent when the time is over is not sent.
    let sent = timeout_at(until, sending).await;
    let Ok(Ok(mut answers)) = sent else {
        return Err(unavailable());
    };
    match timeout_at(until, answers.next()).await {
        Ok(Ok(Some(first))) => Ok((answers, first)),
        // It was refused.
        Ok(Ok(None)) => Err(unavailable()),
        Ok(Err(_)) | Err(_) => Err(unanswered(access)),
    }
}

/// Has the node of the request's transaction answer it.
pub(super) async fn carry(
    cluster: &Cluster,
    node: NodeRow,
    (cx, access): (&Context, Access),
    event: Event,
) -> Result<Answer, Failure> {
    let message = RequestMessage {
        caller: CallerMessage::of(cx.caller()),
        event: event.encode(),
        token: cx.token().unwrap_or_default().to_owned(),
    };
    let sending = cluster.carry_event(node, message.encode_to_vec().into());
    let (answers, first) = tokio::select! {
        asked = first_answer(cluster, access, sending) => asked?,
        // Dropping the answers cancels it there.
        () = cx.cancel().cancelled() => return Err(Failure::cancelled()),
    };
    let first = ItemMessage::decode(first).map_err(|_| unanswered(access))?;
    match first.what.as_str() {
        ONE => Ok(Answer::One(success(first)?)),
        MANY => Ok(Answer::Many(rest(answers, access))),
        PAGE => {
            let page = payload::decode(&first.text)?;
            Ok(Answer::Page(rest(answers, access), page))
        }
        _ => Err(failed(first)),
    }
}

fn failed(item: ItemMessage) -> Failure {
    item.failure.map_or_else(
        || Failure::internal("another node sent an invalid answer"),
        FailureMessage::read,
    )
}

fn success(item: ItemMessage) -> Result<Success, Failure> {
    let unknown = || Failure::internal(format!("another node has sent a {}", item.kind));
    let kind = EventType::from_name(&item.kind).ok_or_else(unknown)?;
    Ok(Success::carried(kind, item.text))
}

/// The answers that follow, as they come.
fn rest(answers: AnswerStream, access: Access) -> Events {
    let items = stream::unfold(Some(answers), move |answers| async move {
        let mut answers = answers?;
        let item = match answers.next().await {
            Ok(None) => return None,
            Ok(Some(item)) => match ItemMessage::decode(item) {
                Ok(item) if item.what == MANY => success(item),
                Ok(item) => Err(failed(item)),
                Err(_) => Err(Failure::internal("another node sent an invalid answer")),
            },
            Err(_) => Err(unanswered(access)),
        };
        let rest = item.is_ok().then_some(answers);
        Some((item, rest))
    });
    items.boxed()
}

/// Answers a request that another node has carried here.
pub fn answer_carried(
    services: &Services,
    body: Bytes,
    cancel: CancellationToken,
) -> BoxStream<'static, Bytes> {
    let services = services.clone();
    let answering = async move {
        match answer(&services, body, cancel).await {
            Ok(items) => items,
            Err(failure) => stream::once(async move { failure_item(&failure) }).boxed(),
        }
    };
    let items = stream::once(answering).flatten();
    items.map(|item| Bytes::from(item.encode_to_vec())).boxed()
}

async fn answer(
    services: &Services,
    body: Bytes,
    cancel: CancellationToken,
) -> Result<BoxStream<'static, ItemMessage>, Failure> {
    let unreadable = || Failure::internal("another node sent an invalid request");
    let message = RequestMessage::decode(body).map_err(|_| unreadable())?;
    let login = message.caller.login().ok_or_else(unreadable)?;
    let event = Event::decode(message.event).map_err(|rejected| rejected.failure)?;
    let hold = services.receiving.hold(&login.caller.tenant);
    hold.hold(event.len()).await?;
    let route = Route::of(event.kind).ok_or_else(unreadable)?;
    let id = event.id.clone();
    let cx = Context::new(services, login, &event, Some(&message.token), cancel)
        .holding(Some(std::sync::Arc::new(hold)));
    let of_success = move |what: &'static str, success: Success| {
        let event = success.into_event(&id, route.response);
        ItemMessage {
            what: what.to_owned(),
            kind: event.kind.as_str().to_owned(),
            text: event.text().unwrap_or_default().to_owned(),
            failure: None,
        }
    };
    let begin = |what: &str, text: String| ItemMessage {
        what: what.to_owned(),
        text,
        ..ItemMessage::default()
    };
    let (begin, events) = match dispatch(cx, event).await? {
        Answer::One(success) => {
            let item = of_success(ONE, success);
            return Ok(stream::once(async { item }).boxed());
        }
        Answer::Many(events) => (begin(MANY, String::new()), events),
        Answer::Page(events, page) => (begin(PAGE, payload::json(&page)), events),
    };
    let items = events.map(move |item| match item {
        Ok(success) => of_success(MANY, success),
        Err(failure) => failure_item(&failure),
    });
    Ok(stream::once(async { begin }).chain(items).boxed())
}

fn failure_item(failure: &Failure) -> ItemMessage {
    ItemMessage {
        what: FAILURE.to_owned(),
        failure: Some(FailureMessage::of(failure)),
        ..ItemMessage::default()
    }
}
