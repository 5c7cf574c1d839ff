//! Calls to members of other nodes, and for other nodes (`grpc.md` §13).
//!
//! The node of the member makes the attempt, and answers first that it has taken it over. Retries,
//! the transaction and the record stay with the node of the caller.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use prost::Message as _;
use tokio::time::timeout;
use tracing::warn;

use super::{Cluster, frame::What};
use crate::clock::Timestamp;
use crate::compute::{
    Failed, Forwarded, Members, Principal, Rejection, RemoteOutcome, Request, Response, Work,
};
use crate::dispatch::{Callee, CriterionResult, Reply, Tags, Target, Trace, TransitionContext};
use crate::entity::{Actor, Document, Image, Json};
use crate::id::{CallId, DispatchKey, EntityId, MemberId, ModelKey, Tenant, TransactionId};
use crate::storage::NodeRow;

#[derive(Clone, PartialEq, prost::Message)]
struct CallMessage {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    tags: String,
    #[prost(string, tag = "3")]
    member: String,
    #[prost(uint64, tag = "4")]
    patience_ms: u64,
    #[prost(string, tag = "5")]
    call: String,
    #[prost(string, tag = "6")]
    dispatch: String,
    #[prost(string, optional, tag = "7")]
    token: Option<String>,
    /// `processor`, `workflow`, `transition` or `schedule`.
    #[prost(string, tag = "8")]
    callee: String,
    #[prost(string, tag = "9")]
    name: String,
    #[prost(string, tag = "10")]
    workflow: String,
    /// The transition, the state before it and the state after it.
    #[prost(string, repeated, tag = "11")]
    transition: Vec<String>,
    #[prost(string, tag = "12")]
    entity: String,
    #[prost(string, optional, tag = "13")]
    transaction: Option<String>,
    #[prost(string, optional, tag = "14")]
    context: Option<String>,
    #[prost(message, optional, tag = "15")]
    attached: Option<ImageMessage>,
    #[prost(string, tag = "16")]
    actor_kind: String,
    #[prost(string, tag = "17")]
    actor: String,
    #[prost(string, repeated, tag = "18")]
    roles: Vec<String>,
    #[prost(string, optional, tag = "19")]
    trace_parent: Option<String>,
    #[prost(string, optional, tag = "20")]
    trace_state: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ImageMessage {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    model: String,
    #[prost(int32, tag = "3")]
    version: i32,
    #[prost(string, tag = "4")]
    state: String,
    #[prost(string, tag = "5")]
    document: String,
    #[prost(int64, tag = "6")]
    created: i64,
    #[prost(int64, tag = "7")]
    updated: i64,
    #[prost(string, tag = "8")]
    transaction: String,
    #[prost(string, optional, tag = "9")]
    transition: Option<String>,
    #[prost(string, optional, tag = "10")]
    workflow: Option<String>,
}

/// What became of a call, or that it was taken over.
#[derive(Clone, PartialEq, prost::Message)]
struct OutcomeMessage {
    /// One of the words below.
    #[prost(string, tag = "1")]
    outcome: String,
    #[prost(string, optional, tag = "2")]
    text: Option<String>,
    #[prost(string, optional, tag = "3")]
    kind: Option<String>,
    #[prost(bool, optional, tag = "4")]
    truth: Option<bool>,
    #[prost(string, repeated, tag = "5")]
    warnings: Vec<String>,
}

const TAKEN: &str = "taken";
const NO_MEMBER: &str = "no member";
const PROCESSED: &str = "processed";
const EVALUATED: &str = "evaluated";
const COMPUTED: &str = "computed";
const REJECTED: &str = "rejected";
const TIMED_OUT: &str = "timed out";
const DISCONNECTED: &str = "disconnected";

impl ImageMessage {
    fn of(image: &Image) -> Self {
        Self {
            id: image.id.to_string(),
            model: image.model.name.to_string(),
            version: image.model.version,
            state: image.state.as_str().to_owned(),
            document: image.document.as_str().to_owned(),
            created: image.created.micros(),
            updated: image.updated.micros(),
            transaction: image.transaction.to_string(),
            transition: image
                .transition
                .as_ref()
                .map(|name| name.as_str().to_owned()),
            workflow: image.workflow.as_ref().map(|name| name.as_str().to_owned()),
        }
    }

    fn read(self) -> Option<Image> {
        Some(Image {
            id: self.id.parse().ok()?,
            model: ModelKey::new(&self.model, self.version),
            state: self.state.as_str().into(),
            document: Json::trusted(self.document),
            created: Timestamp::from_micros(self.created),
            updated: Timestamp::from_micros(self.updated),
            transaction: self.transaction.parse().ok()?,
            transition: self.transition.map(|name| name.as_str().into()),
            workflow: self.workflow.map(|name| name.as_str().into()),
        })
    }
}

impl CallMessage {
    fn of(call: &Forwarded<'_>) -> Self {
        let (request, work) = (&call.request, &call.request.work);
        let callee = match &work.callee {
            Callee::Processor(_) => "processor",
            Callee::Criterion {
                target: Target::Workflow,
                ..
            } => "workflow",
            Callee::Criterion {
                target: Target::Transition,
                ..
            } => "transition",
            Callee::Schedule(_) => "schedule",
        };
        let transition = work.transition_context.iter().flat_map(|context| {
            [
                context.transition.as_str().to_owned(),
                context.from.as_str().to_owned(),
                context.to.as_str().to_owned(),
            ]
        });
        let trace = work.principal.trace.as_ref();
        Self {
            tenant: call.tenant.as_str().to_owned(),
            tags: call.tags.to_string(),
            member: call.place.member.to_string(),
            patience_ms: u64::try_from(call.patience.as_millis()).unwrap_or(u64::MAX),
            call: request.call.to_string(),
            dispatch: request.dispatch.to_string(),
            token: request.token.as_deref().map(str::to_owned),
            callee: callee.to_owned(),
            name: work.callee.name().to_owned(),
            workflow: work.workflow.as_str().to_owned(),
            transition: transition.collect(),
            entity: work.entity.to_string(),
            transaction: work.transaction.map(|transaction| transaction.to_string()),
            context: work.context.as_deref().map(str::to_owned),
            attached: work.attached.as_ref().map(ImageMessage::of),
            actor_kind: work.principal.actor.kind.as_str().to_owned(),
            actor: work.principal.actor.name.to_string(),
            roles: work
                .principal
                .roles
                .iter()
                .map(ToString::to_string)
                .collect(),
            trace_parent: trace.map(|trace| trace.parent().to_owned()),
            trace_state: trace.and_then(|trace| Some(trace.state()?.to_owned())),
        }
    }

    /// The call, whose it is, which tags it needs, and the member it is for.
    fn read(self) -> Option<(Tenant, Tags, MemberId, Duration, Request)> {
        let callee = match self.callee.as_str() {
            "processor" => Callee::Processor(self.name.as_str().into()),
            "workflow" | "transition" => Callee::Criterion {
                name: self.name.as_str().into(),
                target: if self.callee == "workflow" {
                    Target::Workflow
                } else {
                    Target::Transition
                },
            },
            "schedule" => Callee::Schedule(self.name.as_str().into()),
            _ => return None,
        };
        let transition_context = match &self.transition[..] {
            [transition, from, to] => Some(TransitionContext {
                transition: transition.as_str().into(),
                from: from.as_str().into(),
                to: to.as_str().into(),
            }),
            _ => None,
        };
        let roles: Vec<Box<str>> = self.roles.iter().map(|role| role.as_str().into()).collect();
        let trace = self.trace_parent.as_deref();
        let work = Work {
            callee,
            workflow: self.workflow.as_str().into(),
            transition_context,
            entity: self.entity.parse::<EntityId>().ok()?,
            transaction: match &self.transaction {
                Some(text) => Some(text.parse::<TransactionId>().ok()?),
                None => None,
            },
            context: self.context.map(Into::into),
            attached: match self.attached {
                Some(image) => Some(image.read()?),
                None => None,
            },
            principal: Principal {
                actor: Actor {
                    kind: self.actor_kind.parse().ok()?,
                    name: self.actor.into(),
                },
                roles: roles.into(),
                trace: trace.and_then(|parent| Trace::parse(parent, self.trace_state.as_deref())),
            },
        };
        let request = Request {
            call: self.call.parse::<CallId>().ok()?,
            dispatch: self.dispatch.parse::<DispatchKey>().ok()?,
            token: self.token.map(Into::into),
            deadline: None,
            work: Arc::new(work),
        };
        Some((
            self.tenant.as_str().into(),
            Tags::parse(&self.tags),
            self.member.parse().ok()?,
            Duration::from_millis(self.patience_ms),
            request,
        ))
    }
}

impl OutcomeMessage {
    fn of(answered: Result<Response, Failed>) -> Self {
        let word = |outcome: &str| Self {
            outcome: outcome.to_owned(),
            ..Self::default()
        };
        let response = match answered {
            Ok(response) => response,
            Err(Failed::TimedOut { .. }) => return word(TIMED_OUT),
            Err(_) => return word(DISCONNECTED),
        };
        let text = |document: Option<Document>| {
            document.map(|document| document.json().as_str().to_owned())
        };
        let message = match response.outcome {
            Ok(Reply::Processed(document)) => Self {
                text: text(document),
                ..word(PROCESSED)
            },
            Ok(Reply::Evaluated(CriterionResult { matches, reason })) => Self {
                truth: Some(matches),
                text: reason.map(Into::into),
                ..word(EVALUATED)
            },
            Ok(Reply::Computed { kind, result }) => Self {
                kind: Some(kind),
                text: text(result),
                ..word(COMPUTED)
            },
            Err(Rejection { message, retryable }) => Self {
                text: Some(message),
                truth: retryable,
                ..word(REJECTED)
            },
        };
        Self {
            warnings: response.warnings,
            ..message
        }
    }

    fn read(self, patience: Duration) -> RemoteOutcome {
        let document = |text: Option<String>| -> Result<Option<Document>, RemoteOutcome> {
            let read = text.map(|text| Document::from_json(&Json::trusted(text)));
            read.transpose().map_err(|error| {
                warn!(%error, "the answer of a member at another node could not be read");
                RemoteOutcome::Failed(Failed::Disconnected)
            })
        };
        let outcome = match self.outcome.as_str() {
            PROCESSED => match document(self.text) {
                Ok(document) => Ok(Reply::Processed(document)),
                Err(outcome) => return outcome,
            },
            EVALUATED => Ok(Reply::Evaluated(CriterionResult {
                matches: self.truth == Some(true),
                reason: self.text.map(Into::into),
            })),
            COMPUTED => match document(self.text) {
                Ok(result) => Ok(Reply::Computed {
                    kind: self.kind.unwrap_or_default(),
                    result,
                }),
                Err(outcome) => return outcome,
            },
            REJECTED => Err(Rejection {
                message: self.text.unwrap_or_default(),
                retryable: self.truth,
            }),
            NO_MEMBER => return RemoteOutcome::NoMember,
            TIMED_OUT => return RemoteOutcome::Failed(Failed::timed_out(patience)),
            _ => return RemoteOutcome::Failed(Failed::Disconnected),
        };
        RemoteOutcome::Answered(Response {
            outcome,
            warnings: self.warnings,
        })
    }
}

/// Has another node make an attempt.
pub(super) async fn forward(cluster: &Cluster, call: Forwarded<'_>) -> RemoteOutcome {
    let (node, patience) = (NodeRow(call.place.node), call.patience);
    let body = CallMessage::of(&call).encode_to_vec();
    let taking = async {
        let mut answers = cluster.ask(node, What::Call, body.into()).await.ok()?;
        let first = answers.next().await.ok()??;
        Some((answers, OutcomeMessage::decode(first).ok()?))
    };
    let taken = timeout(cluster.0.settings.forward_timeout, taking).await;
    let Ok(Some((mut answers, first))) = taken else {
        return RemoteOutcome::Failed(Failed::NotForwarded);
    };
    if first.outcome != TAKEN {
        return first.read(patience);
    }
    match timeout(patience, answers.next()).await {
        Err(_) => RemoteOutcome::Failed(Failed::timed_out(patience)),
        Ok(Ok(Some(answer))) => match OutcomeMessage::decode(answer) {
            Ok(outcome) => outcome.read(patience),
            Err(_) => RemoteOutcome::Failed(Failed::Disconnected),
        },
        // The node of the member is gone, and with it the member.
        Ok(_) => RemoteOutcome::Failed(Failed::Disconnected),
    }
}

/// Makes an attempt for another node.
pub(super) fn serve(members: &Members, body: &[u8]) -> BoxStream<'static, Bytes> {
    let read = CallMessage::decode(body).ok().and_then(CallMessage::read);
    let Some((tenant, tags, member, patience, request)) = read else {
        warn!("a call of another node could not be read");
        return stream::empty().boxed();
    };
    let word = |outcome: &str| {
        let message = OutcomeMessage {
            outcome: outcome.to_owned(),
            ..OutcomeMessage::default()
        };
        Bytes::from(message.encode_to_vec())
    };
    let Some(chosen) = members.take(&tenant, &tags, member) else {
        let answer = word(NO_MEMBER);
        return stream::once(async { answer }).boxed();
    };
    let taken = word(TAKEN);
    let answering = async move {
        match chosen.call(request, patience).await {
            Some(answered) => Bytes::from(OutcomeMessage::of(answered).encode_to_vec()),
            // The node of the caller chooses another one, here or elsewhere.
            None => word(NO_MEMBER),
        }
    };
    stream::once(async { taken })
        .chain(stream::once(answering))
        .boxed()
}
