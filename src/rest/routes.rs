//! Requests to the routes of bundles, which start sagas and fire events of state machines
//! (`runs.md` §7, *Routes*).

use std::collections::BTreeMap;

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderMap, Method, StatusCode, header, request},
    response::{IntoResponse as _, Redirect, Response},
};
use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    Gateway, HELP, KEY_HEADER, TOKEN_HEADER, discard, json,
    parts::single_header,
    read_body,
    spelling::Limit,
    write::{bundles, sagas},
};
use crate::error::Failure;
use crate::event::{AttributeValue, Data, Event, EventType, IDEMPOTENCY_ATTRIBUTE, trace_of};
use crate::id::MessageId;
use crate::operation::{Answer, Context, Permit, Routed, dispatch_permitted, routed};

/// What the names of headers with credentials have in them. No saga reads these headers: its input
/// is stored, where every caller of the tenant reads it, and proxies add the tokens of callers to
/// requests under names of their own.
const CREDENTIALS: [&str; 9] = [
    "authorization",
    "cookie",
    "token",
    "api-key",
    "apikey",
    "secret",
    "password",
    "jwt",
    "oidc",
];

/// Serves a request that no other path takes.
pub(super) async fn serve(gateway: &Gateway, request: Request) -> Response {
    let uri = request.uri().clone();
    if is_of_a_person(&request) {
        return Redirect::temporary("console").into_response();
    }
    match try_serve(gateway, request).await {
        Ok(response) => response,
        Err(failure) => gateway.problem(&failure, &uri),
    }
}

/// Whether a browser asks for the first page: there is one that shows what else there is.
fn is_of_a_person(request: &Request) -> bool {
    let accepted = request.headers().get(header::ACCEPT);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    request.method() == Method::GET
        && request.uri().path() == "/"
        && accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

async fn try_serve(gateway: &Gateway, request: Request) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    // Unauthenticated callers do not learn which paths exist (`errors.md` §1).
    let login = gateway.login(&head.headers).await?;
    let services = &gateway.services;
    services.runtime.storage().refresh().await?;
    let tenant = login.caller.tenant.clone();
    let (method, path) = (head.method.as_str(), head.uri.path());
    let Some(route) = routed(services, &tenant, method, path).await? else {
        discard(body, &head.headers).await;
        return Ok(not_found());
    };
    let permit = Permit::check(route.kind(), &login.caller, &services.rules)?;
    let hold = services.receiving.hold(&tenant);
    let body = read_body(body, Limit::SMALL, &hold).await?;
    let input = input(&route, &head, &body)?.into();
    if !route.admits(services, &tenant, &input).await? {
        return Ok(json(r#"{"status":"filtered"}"#.to_owned()));
    }
    let id = MessageId::fresh().to_string();
    let payload = route.payload(services, &tenant, id.clone(), &input).await?;
    let event = Event {
        id: id.into(),
        source: "rest".into(),
        kind: route.kind(),
        attributes: BTreeMap::new(),
        data: Data::Text(payload.into()),
    };
    let event = event.within_call(trace_of(&head.headers).as_ref());
    let event = match single_header(&head.headers, KEY_HEADER)? {
        Some(key) => event.with(IDEMPOTENCY_ATTRIBUTE, AttributeValue::String(key.into())),
        None => event,
    };
    let token = single_header(&head.headers, TOKEN_HEADER)?;
    // Dropped with the request, which cancels it.
    let cx = Context::new(services, login, &event, token, CancellationToken::new()).routed();
    let answer = dispatch_permitted(permit, cx, event).await?;
    let Answer::One(answer) = answer else {
        return Err(Failure::internal("a request to a route has one answer"));
    };
    let (status, body) = if route.kind() == EventType::MachineTransitionRequest {
        (StatusCode::OK, bundles::moved(answer)?)
    } else {
        sagas::answered(answer)?
    };
    Ok((status, json(body)).into_response())
}

/// What is answered where nothing is.
fn not_found() -> Response {
    (
        StatusCode::NOT_FOUND,
        [
            (header::LINK, HELP),
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        ],
        "404 page not found\n",
    )
        .into_response()
}

/// Query, body and members of the path, of which later ones win, and beside them `params` and
/// `headers`.
fn input(route: &Routed, head: &request::Parts, body: &Bytes) -> Result<String, Failure> {
    let mut members: IndexMap<String, String> = IndexMap::new();
    let query = head.uri.query().unwrap_or_default();
    let token = token(&head.headers);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if token.is_some_and(|token| is_token(&value, token)) {
            continue;
        }
        members.insert(name.into_owned(), text(&value));
    }
    let body = std::str::from_utf8(body)
        .map_err(|error| Failure::malformed(format!("the body is not UTF-8: {error}")))?;
    if !body.trim().is_empty() {
        // An array would be read as the fields in their order.
        let given: IndexMap<String, &RawValue> = Some(body)
            .filter(|body| body.trim_start().starts_with('{'))
            .ok_or_else(|| Failure::malformed("the body is not a JSON object"))
            .and_then(|body| {
                serde_json::from_str(body)
                    .map_err(|error| Failure::malformed(format!("the body is not JSON: {error}")))
            })?;
        members.extend(
            given
                .into_iter()
                .map(|(name, value)| (name, value.get().to_owned())),
        );
    }
    let mut params: IndexMap<&str, String> = IndexMap::new();
    for (name, value) in &route.members {
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| Failure::malformed("the path is not UTF-8"))?;
        params.insert(name, text(&value));
        members.insert(name.clone(), text(&value));
    }
    let params = object(params.iter().map(|(name, value)| (*name, &**value)));
    members.insert("params".to_owned(), params);
    members.insert("headers".to_owned(), headers(&head.headers, token));
    Ok(object(
        members.iter().map(|(name, value)| (&**name, &**value)),
    ))
}

fn headers(headers: &HeaderMap, token: Option<&str>) -> String {
    let texts = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let shown = texts.filter(|(name, value)| {
        let mut hidden = CREDENTIALS.iter();
        !hidden.any(|part| name.contains(part))
            && !token.is_some_and(|token| is_token(value, token))
    });
    let texts: IndexMap<&str, String> = shown.map(|(name, value)| (name, text(value))).collect();
    object(texts.iter().map(|(name, value)| (*name, &**value)))
}

/// The token that the caller has logged in with, or another one that `Authorization` has.
fn token(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (_, token) = given.trim().split_once(' ')?;
    Some(token.trim()).filter(|token| !token.is_empty())
}

/// Whether a value is a token, possibly behind a scheme.
fn is_token(value: &str, token: &str) -> bool {
    value.trim().rsplit(' ').next() == Some(token)
}

/// A JSON object of members with any names, whose values are JSON texts.
fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let members: Vec<_> = members
        .map(|(name, value)| format!("{}:{value}", text(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A text as JSON.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
