//! The five methods beside the stream (`grpc.md` §6–§8).

use std::pin::Pin;

use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::{Service, TOKEN_METADATA, invalid, no_room, with_version};
use crate::error::{Code, Failure};
use crate::event::{
    Event, EventType,
    frame::Frame,
    payload::{self, Object, answer, entity::Written, search},
    trace_of,
};
use crate::operation::{Answer, Answers, Context, Family, Route, dispatch};

/// The answers of a server-streaming method.
pub(super) type Answered = Pin<Box<dyn Stream<Item = Result<Frame, Status>> + Send>>;

/// The operations that a method accepts: those of its family, and, if it is unary, only those with
/// one answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Method {
    family: Family,
    answers: Answers,
}

/// An accepted request.
struct Taken {
    route: &'static Route,
    event: Event,
    /// How a missing entity is reported.
    missing: Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    InBand,
    /// As a status, which existing Java clients test.
    Status,
}

impl Method {
    pub(super) const fn unary(family: Family) -> Self {
        Self {
            family,
            answers: Answers::One,
        }
    }

    pub(super) const fn streaming(family: Family) -> Self {
        Self {
            family,
            answers: Answers::Many,
        }
    }

    pub(super) async fn answer_one(
        self,
        service: &Service,
        request: Request<Frame>,
    ) -> Result<Response<Frame>, Status> {
        let (taken, cx) = self.take(service, request)?;
        let Taken {
            route,
            event,
            missing,
        } = taken;
        let id = event.id.clone();
        match dispatch(cx.clone(), event).await {
            Ok(Answer::One(success)) => {
                let event = success.into_event(&id, route.response);
                let unread = cx.answers(route.access).hold(event.len()).await;
                let unread = unread.map_err(|failure| no_room(&failure))?;
                let mut response = with_version(event.into());
                if let Some(unread) = unread {
                    // The connection has it until the answer is read.
                    response.extensions_mut().insert(unread);
                }
                Ok(response)
            }
            Ok(Answer::Many(_) | Answer::Page(..)) => {
                Err(Status::internal("a streamed answer on a unary method"))
            }
            Err(failure) if failure.is_in_request() => Err(invalid(&failure)),
            Err(failure)
                if missing == Missing::Status && failure.code() == Code::EntityNotFound =>
            {
                Err(Status::not_found(failure.to_string()))
            }
            Err(failure) => Ok(with_version(self.refuse(route, &cx, &id, &failure).into())),
        }
    }

    pub(super) async fn answer_many(
        self,
        service: &Service,
        request: Request<Frame>,
    ) -> Result<Response<Answered>, Status> {
        let (Taken { route, event, .. }, cx) = self.take(service, request)?;
        let id = event.id.clone();
        let one = |event: Event| stream::once(async { Ok(event) }).boxed();
        let answered = match dispatch(cx.clone(), event).await {
            Ok(Answer::One(success)) => one(success.into_event(&id, route.response)),
            Ok(Answer::Many(events) | Answer::Page(events, _)) => events
                .map(move |item| match item {
                    Ok(success) => Ok(success.into_event(&id, route.response)),
                    // Some have been sent already: only the status can say so.
                    Err(failure) if failure.code() == Code::Unauthorized => {
                        Err(Status::unauthenticated(failure.message()))
                    }
                    Err(failure) if failure.retryable() => {
                        Err(Status::unavailable(failure.to_string()))
                    }
                    Err(failure) => Err(Status::internal(failure.to_string())),
                })
                .boxed(),
            Err(failure) if failure.is_in_request() => return Err(invalid(&failure)),
            Err(failure)
                if failure.code() == Code::EntityNotFound
                    && route.request == EventType::EntityChangesMetadataGetRequest
                    && cx.runtime().compat().missing_history_is_a_status() =>
            {
                return Err(Status::not_found(failure.to_string()));
            }
            Err(failure) => one(self.refuse(route, &cx, &id, &failure)),
        };
        let answered = cx.answers(route.access).counting(
            answered,
            |event| event.as_ref().map_or(0, Event::len),
            |failure| Err(no_room(failure)),
        );
        Ok(with_version(
            answered.map(|event| event.map(Frame::from)).boxed(),
        ))
    }

    /// Reads a request and checks whether this method accepts it.
    fn take(
        self,
        service: &Service,
        mut request: Request<Frame>,
    ) -> Result<(Taken, Context), Status> {
        let (login, hold) = Service::admitted(&mut request)?;
        let headers = request.metadata().as_ref();
        // Models are not part of transactions.
        let token = headers
            .get(TOKEN_METADATA)
            .filter(|_| self.family != Family::Model);
        let token = match token.map(http::HeaderValue::to_str) {
            None => None,
            Some(Ok(token)) => Some(token.to_owned()),
            Some(Err(_)) => return Err(Status::invalid_argument("tx-token is not valid text")),
        };
        let trace = trace_of(headers);
        let event = request
            .into_inner()
            .event()
            .map_err(|rejected| invalid(&rejected.failure))?;
        // Decompressed data is larger than what was received. It is in memory, so it does not wait
        // for room.
        hold.try_hold(event.len())
            .map_err(|failure| no_room(&failure))?;
        let accepted = self.accept(event.within_call(trace.as_ref()))?;
        let cx = Context::new(
            &service.services,
            login,
            &accepted.event,
            token.as_deref(),
            CancellationToken::new(),
        )
        .holding(Some(hold));
        Ok((accepted, cx))
    }

    fn accept(self, event: Event) -> Result<Taken, Status> {
        let route = Route::of(event.kind)
            .ok_or_else(|| invalid(&Failure::unknown_type(event.kind.as_str())))?;
        let is_ours = route.family == self.family
            && (self.answers == Answers::Many || route.answers == Answers::One);
        if is_ours {
            return Ok(Taken {
                route,
                event,
                missing: Missing::InBand,
            });
        }
        // Two pairs that only existing Java clients use (`grpc.md` §6).
        match (self.family, self.answers, event.kind) {
            (Family::Entity, Answers::One, EventType::EntityGetRequest) => Ok(Taken {
                route,
                event,
                missing: Missing::Status,
            }),
            (Family::Entity, Answers::Many, EventType::EntityGetAllRequest) => Ok(Taken {
                route,
                event: counted_from_zero(event)?,
                missing: Missing::InBand,
            }),
            _ => Err(Status::invalid_argument(format!(
                "{} is not accepted by this method; `interlock events` lists the method of each type",
                event.kind
            ))),
        }
    }

    /// A failure as an event. Errors of a transaction token have the response type of the family
    /// (`grpc.md` §10).
    fn refuse(self, route: &Route, cx: &Context, request: &str, failure: &Failure) -> Event {
        let about_token = matches!(
            failure.code(),
            Code::TransactionExpired
                | Code::TransactionNotFound
                | Code::Unauthorized
                | Code::Forbidden
        );
        match self.family {
            Family::Entity if cx.has_token() && about_token => Event::ours(
                EventType::EntityTransactionResponse,
                answer::failed::<Written>(request, failure),
            ),
            Family::Search if cx.has_token() && about_token => Event::ours(
                EventType::EntityResponse,
                answer::failed::<search::Entity>(request, failure),
            ),
            Family::Model | Family::Entity | Family::Search => route.refuse(request, failure),
        }
    }
}

/// The same request with pages counted from 0; these clients count from 1, and send 0 or nothing
/// for the first.
fn counted_from_zero(event: Event) -> Result<Event, Status> {
    let request: search::GetAll = event
        .text()
        .and_then(payload::decode)
        .map_err(|failure| invalid(&failure))?;
    let number = request.page_number.unwrap_or(0);
    let model = Object::new()
        .text("name", &request.model.name)
        .number("version", request.model.version)
        .finish();
    let mut payload = Object::new()
        .text("id", &event.id)
        .raw("model", &model)
        .number("pageNumber", number.saturating_sub(1).max(number.min(0)));
    if let Some(size) = request.page_size {
        payload = payload.number("pageSize", size);
    }
    if let Some(instant) = &request.point_in_time {
        payload = payload.text("pointInTime", instant);
    }
    Ok(Event {
        data: crate::event::Data::Text(payload.finish().into()),
        ..event
    })
}
