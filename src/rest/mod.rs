//! The REST gateway, which converts requests to events and answers to bodies.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::compat`], [`crate::error`],
//! [`crate::json`], [`crate::telemetry`], [`crate::auth`], [`crate::event`], [`crate::operation`], [`crate::help`].
//! Must not: decide anything. [`spelling`] is a table; a request becomes a payload, the payload an
//! event, and what answers the event becomes a body.

mod admin;
mod answer;
mod carried;
mod console;
mod cors;
mod described;
mod docs;
mod events;
mod help;
mod oauth;
mod openapi;
mod page;
mod parts;
mod problem;
mod routes;
mod spelling;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{RawPathParams, Request, rejection::RawPathParamsRejection},
    http::{HeaderMap, Method, StatusCode, Uri, header, request},
    response::{IntoResponse as _, Redirect, Response},
    routing::{MethodFilter, MethodRouter, get},
};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio_util::sync::CancellationToken;

use crate::auth::{Authenticator, Login};
use crate::error::{Code, Failure};
use crate::event::{AttributeValue, Data, Event, IDEMPOTENCY_ATTRIBUTE};
use crate::help::Library;
use crate::id::MessageId;
use crate::operation::{
    self, Access, AnswersTo, Context, Hold, Permit, Route, Services, dispatch_permitted,
};

pub use admin::{Bearer, Readiness, admin};
pub use carried::answer_carried;
pub use cors::{BadOrigin, Origins};
pub use openapi::openapi;
pub use parts::truth;
pub use spelling::{SPELLINGS, Spelling, paths};

use carried::Carried;
use page::PAGES;
use parts::Parts;
use spelling::{Limit, SHADOWED};

/// The header that joins a request to an open transaction (`rest.md` §9).
const TOKEN_HEADER: &str = "X-Tx-Token";

/// The header with the key of a request that is to be done once (`stream.md` §2).
const KEY_HEADER: &str = "Idempotency-Key";

/// Where the paths are listed. A path or a method that does not exist is answered with it: the bodies
/// of these answers are documented (`errors.md` §1) and say nothing.
const HELP: &str = "</docs>; rel=\"help\"";

/// What the gateway needs.
#[derive(Debug, Clone)]
pub struct Gateway {
    pub services: Services,
    pub authenticator: Authenticator,
    pub help: Arc<Library>,
    pub detail: Detail,
    /// What every path begins with; may be empty.
    pub context: String,
    /// The origins whose pages may use it; they are not listed to anyone.
    pub origins: Option<Origins>,
    /// Whether only this machine reaches it.
    pub is_local: bool,
    /// Whether it is served over TLS.
    pub is_tls: bool,
}

/// How much of an internal error callers receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Sanitized,
    Verbose,
}

impl Gateway {
    /// Who a request comes from.
    async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        if self.authenticator.is_mocked() {
            cors::check_page(self.origins.as_ref(), self.is_local, headers)?;
        }
        self.known(headers).await
    }

    /// Who a request comes from, without the check of the page that sent it: enough for a request
    /// that does nothing.
    async fn known(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        self.refresh().await?;
        self.authenticator.login(headers).await
    }

    /// Learns which clients and keys other processes have changed.
    async fn refresh(&self) -> Result<(), Failure> {
        let storage = self.services.runtime.storage();
        operation::refresh(storage, &self.authenticator).await
    }

    /// What is answered where a request failed; it says the path without the context.
    fn problem(&self, failure: &Failure, uri: &Uri) -> Response {
        let path = uri.path();
        let instance = path.strip_prefix(&self.context).unwrap_or(path);
        problem::response(failure, instance, self.detail)
    }
}

/// The answer to a request while the server stops; none if it joins an open transaction.
pub fn refused_by_stop(headers: &HeaderMap, uri: &Uri) -> Option<Response> {
    if headers.contains_key(TOKEN_HEADER) {
        return None;
    }
    let failure = operation::stopping();
    Some(problem::response(&failure, uri.path(), Detail::Sanitized))
}

/// Every path.
pub fn router(gateway: Gateway) -> Router {
    let origins = gateway.origins.clone();
    let gateway = Arc::new(gateway);
    let mut by_path: BTreeMap<&'static str, MethodRouter> = BTreeMap::new();
    for spelling in SPELLINGS.iter().chain(SHADOWED) {
        let (path, None) = spelling.place() else {
            continue;
        };
        let gateway = Arc::clone(&gateway);
        let by_query = by_query(spelling);
        let handler = async move |path: Result<RawPathParams, RawPathParamsRejection>,
                                  request: Request| {
            let query = request.uri().query().unwrap_or_default();
            let chosen = by_query.iter().find(|(name, _)| is_on(query, name));
            let chosen = chosen.map_or(spelling, |(_, other)| *other);
            serve(&gateway, chosen, path, request).await
        };
        let routes = by_path.remove(path).unwrap_or_default();
        by_path.insert(path, routes.on(filter(&spelling.method), handler));
    }
    let not_allowed = {
        let gateway = Arc::clone(&gateway);
        async move |request: Request| {
            match gateway.known(request.headers()).await {
                Ok(_) => {
                    let help = [(header::LINK, HELP)];
                    (StatusCode::METHOD_NOT_ALLOWED, help).into_response()
                }
                // Unauthenticated callers do not learn which paths exist (`errors.md` §1).
                Err(failure) => gateway.problem(&failure, request.uri()),
            }
        }
    };
    // Routers within one another would look at each request twice.
    let below = |path: &str| format!("{}{path}", gateway.context);
    let mut all = Router::new();
    let at_root = SPELLINGS.iter().filter(|spelling| spelling.at_root);
    let at_root: BTreeSet<_> = at_root.map(|spelling| spelling.path).collect();
    for (path, routes) in by_path {
        let routes = routes.fallback(not_allowed.clone());
        if at_root.contains(path) && !gateway.context.is_empty() {
            all = all.route(path, routes.clone());
        }
        all = all.route(&below(path), routes);
    }
    for page in PAGES {
        let routes = (page.serve)(&gateway);
        let routes = if page.is_public {
            routes
        } else {
            routes.fallback(not_allowed.clone())
        };
        all = all.route(&below(page.path), routes);
    }
    let not_found = {
        let gateway = Arc::clone(&gateway);
        async move |request: Request| routes::serve(&gateway, request).await
    };
    let context: Arc<str> = gateway.context.as_str().into();
    let is_tls = gateway.is_tls;
    let compat = gateway.services.runtime.compat();
    let all = all
        .nest(
            "/console",
            console::routes(&context, !compat.idempotency_keys_are_ignored()),
        )
        .nest("/docs", docs::routes())
        // The files of the pages are relative to their paths without a slash at the end.
        .route("/console/", get(async || Redirect::permanent("../console")))
        .route("/docs/", get(async || Redirect::permanent("../docs")))
        .route(
            "/openapi.json",
            get(async move |request: Request| openapi::serve(&request, &context, is_tls, compat)),
        )
        .fallback(not_found)
        .method_not_allowed_fallback(async || StatusCode::METHOD_NOT_ALLOWED);
    match origins {
        Some(origins) => cors::allow(all, origins),
        None => all,
    }
}

/// What else a path says if one of these parameters of the query is true.
fn by_query(plain: &'static Spelling) -> Arc<[(&'static str, &'static Spelling)]> {
    SPELLINGS
        .iter()
        .filter(|other| other.method == plain.method && other.place().0 == plain.path)
        .filter_map(|other| Some((other.place().1?.split_once('=')?.0, other)))
        .collect()
}

/// Whether a query has this parameter, and it is true.
fn is_on(query: &str, name: &str) -> bool {
    query.split('&').any(|part| {
        part.split_once('=')
            .is_some_and(|(given, value)| given == name && truth(value) == Some(true))
    })
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET)
}

/// Serves one request of the table.
async fn serve(
    gateway: &Gateway,
    spelling: &'static Spelling,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let uri = request.uri().clone();
    match try_serve(gateway, spelling, path, request).await {
        Ok(response) => response,
        Err(failure) => gateway.problem(&failure, &uri),
    }
}

async fn try_serve(
    gateway: &Gateway,
    spelling: &'static Spelling,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let admitted = admit(gateway, spelling, path, &head).await;
    let (path, login, permit) = match admitted {
        Ok(admitted) => admitted,
        Err(failure) => {
            discard(body, &head.headers).await;
            return Err(failure);
        }
    };
    let hold = gateway.services.receiving.hold(&login.caller.tenant);
    let body = read_body(body, spelling.limit, &hold).await?;
    let carried = (&head.method, &head.uri, &head.headers);
    let access = Route::of(spelling.request).map_or(Access::Write, |route| route.access);
    if let Some(response) = carried::carry(gateway, (&login, access), carried, &body).await? {
        return Ok(response);
    }
    let id = MessageId::fresh().to_string();
    let parts = Parts::new(&id, path, head, body)?;
    let event = Event {
        id: id.as_str().into(),
        source: "rest".into(),
        kind: spelling.request,
        attributes: BTreeMap::new(),
        data: Data::Text((spelling.write)(&parts, &id)?.into()),
    };
    let event = event.within_call(parts.trace().as_ref());
    let event = match parts.single_header(KEY_HEADER)? {
        Some(key) => event.with(IDEMPOTENCY_ATTRIBUTE, AttributeValue::String(key.into())),
        None => event,
    };
    let token = parts.single_header(TOKEN_HEADER)?;
    // Dropped with the request, which cancels it.
    let cx = Context::new(
        &gateway.services,
        login,
        &event,
        token,
        CancellationToken::new(),
    )
    .holding(Some(Arc::new(hold)));
    let answers = cx.answers(permit.access());
    let answer = dispatch_permitted(permit, cx, event).await;
    let answer = answer.map_err(|failure| (spelling.fault)(parts.at_fault(failure)))?;
    let response = spelling.read.response(answer, &parts, &answers).await?;
    unread(response, &answers).await
}

/// Counts an answer whose size is known; what is sent as it comes counts on its way.
async fn unread(mut response: Response, answers: &AnswersTo) -> Result<Response, Failure> {
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if let Some(unread) = answers.hold(bytes).await? {
        // The connection has it until the answer is read.
        response.extensions_mut().insert(unread);
    }
    Ok(response)
}

/// What is checked before the body is read.
async fn admit(
    gateway: &Gateway,
    spelling: &'static Spelling,
    path: Result<RawPathParams, RawPathParamsRejection>,
    head: &request::Parts,
) -> Result<(RawPathParams, Login, Permit), Failure> {
    let path =
        path.map_err(|error| Failure::malformed(format!("the path is not readable: {error}")))?;
    let login = match head.extensions.get::<Carried>() {
        Some(Carried(login)) => login.clone(),
        None => gateway.login(&head.headers).await?,
    };
    // A caller without permission learns nothing about the request's syntax.
    let permit = Permit::check(spelling.request, &login.caller, &gateway.services.rules)?;
    (spelling.check)(&path)?;
    Ok((path, login, permit))
}

/// Reads a body that is not needed, if it is small and comes at once: a connection that is closed
/// while its client still sends loses the answer.
async fn discard(mut body: Body, headers: &HeaderMap) {
    const BYTES_MAX: u64 = 2 << 20;
    const WITHIN: Duration = Duration::from_millis(250);
    let is_small = body
        .size_hint()
        .upper()
        .is_some_and(|bytes| bytes <= BYTES_MAX);
    // A client that asks first does not send it.
    if is_small && !headers.contains_key(header::EXPECT) {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        // What does not come in time is not waited for.
        let _ = tokio::time::timeout(WITHIN, rest).await;
    }
}

/// A body that came more slowly than the settings allow.
#[derive(Debug, thiserror::Error)]
#[error(
    "the body came too slowly: the server waits {waited:?} for it (INTERLOCK_BODY_TIMEOUT), and longer at {bytes_per_second} bytes per second (INTERLOCK_BODY_MIN_BYTES_PER_SECOND)"
)]
pub struct BodyTooSlow {
    pub waited: Duration,
    pub bytes_per_second: u32,
}

fn is_caused_by<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .any(<dyn std::error::Error + 'static>::is::<E>)
}

/// The body, whole; one that is too large could not be read (`errors.md` §1).
async fn read_body(body: Body, limit: Limit, hold: &Hold) -> Result<Bytes, Failure> {
    let mut body = Limited::new(body, limit.bytes);
    let (mut first, mut whole) = (Bytes::new(), Vec::new());
    // Room for all of it comes first: many halves would keep room from each other. Memory is taken
    // only for what has come.
    let announced = body.size_hint().upper();
    let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let announced = announced.map_or(0, |bytes| bytes.min(limit.bytes));
    hold.hold(announced).await?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreadable(&*error, limit))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let bytes = first.len() + whole.len() + data.len();
        hold.hold(bytes.max(announced)).await?;
        // Most have one piece, which is not copied.
        if first.is_empty() && whole.is_empty() {
            first = data;
        } else {
            if bytes > whole.capacity() {
                let twice = (2 * bytes).min(announced).max(bytes);
                whole.reserve_exact(twice - whole.len());
            }
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&data);
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.into()
    })
}

fn unreadable(error: &(dyn std::error::Error + 'static), limit: Limit) -> Failure {
    if is_caused_by::<BodyTooSlow>(error) {
        return Failure::malformed(format!("failed to read body: {error}"))
            .as_known(Code::BadRequest, StatusCode::REQUEST_TIMEOUT);
    }
    if !is_caused_by::<LengthLimitError>(error) {
        return Failure::malformed(format!("failed to read body: {error}"));
    }
    Failure::malformed(format!(
        "failed to read body: {error}; {} bytes are allowed",
        limit.bytes
    ))
    .as_known(Code::BadRequest, limit.status)
}

/// JSON with the newline that every body ends with.
fn json(mut text: String) -> Response {
    text.push('\n');
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Text that ends with a newline of its own.
fn text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
