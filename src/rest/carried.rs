//! Requests of transactions that are open at another node: they are carried there as they came,
//! and its responses handed on.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header},
    response::Response,
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    stream::{self, BoxStream},
};
use prost::Message as _;
use tower::ServiceExt as _;

use super::{Gateway, TOKEN_HEADER};
use crate::auth::{self, Login};
use crate::error::Failure;
use crate::operation::{Access, CallerMessage, Hold, first_answer, unanswered};

#[derive(Clone, PartialEq, prost::Message)]
struct RequestMessage {
    #[prost(message, required, tag = "1")]
    caller: CallerMessage,
    #[prost(string, tag = "2")]
    method: String,
    #[prost(string, tag = "3")]
    uri: String,
    #[prost(message, repeated, tag = "4")]
    headers: Vec<HeaderMessage>,
    #[prost(bytes = "bytes", tag = "5")]
    body: Bytes,
}

/// The first item of a response; those that follow are its body.
#[derive(Clone, PartialEq, prost::Message)]
struct HeadMessage {
    #[prost(uint32, tag = "1")]
    status: u32,
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HeaderMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// A part of a body; one that is cut off ends with one that says so.
#[derive(Clone, PartialEq, prost::Message)]
struct PartMessage {
    #[prost(bytes = "bytes", tag = "1")]
    bytes: Bytes,
    #[prost(bool, tag = "2")]
    is_cut_off: bool,
}

/// Headers that are about the connection or the browser, or that only this node may see.
const LEFT_OUT: &[HeaderName] = &[
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::ORIGIN,
    header::TRANSFER_ENCODING,
];

fn messages(headers: &HeaderMap) -> Vec<HeaderMessage> {
    let kept = headers.iter().filter(|(name, _)| !LEFT_OUT.contains(name));
    let message = |(name, value): (&HeaderName, &HeaderValue)| HeaderMessage {
        name: name.as_str().to_owned(),
        value: value.as_bytes().to_vec(),
    };
    kept.map(message).collect()
}

fn headers(messages: Vec<HeaderMessage>) -> HeaderMap {
    let header = |message: HeaderMessage| {
        let name = HeaderName::from_bytes(message.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(&message.value).ok()?))
    };
    messages.into_iter().filter_map(header).collect()
}

/// Has the node of the request's transaction answer it; none if that is this one.
pub(super) async fn carry(
    gateway: &Gateway,
    (login, access): (&Login, Access),
    (method, uri, given): (&Method, &Uri, &HeaderMap),
    body: &Bytes,
) -> Result<Option<Response>, Failure> {
    let Some(cluster) = &gateway.services.cluster else {
        return Ok(None);
    };
    let token = given
        .get(TOKEN_HEADER)
        .and_then(|token| token.to_str().ok());
    let Some(node) = token.and_then(|token| gateway.services.runtime.elsewhere(token)) else {
        return Ok(None);
    };
    // The body may have taken long to come.
    login.check()?;
    let message = RequestMessage {
        caller: CallerMessage::of(&login.caller),
        method: method.as_str().to_owned(),
        uri: uri.to_string(),
        headers: messages(given),
        body: body.clone(),
    };
    let sending = cluster.carry_request(node, message.encode_to_vec().into());
    let (answers, first) = first_answer(cluster, access, sending).await?;
    let head = HeadMessage::decode(first).map_err(|_| unanswered(access))?;
    // The other node cannot know when the credentials are revoked.
    let login = login.clone();
    let withdrawal = async move { login.withdrawn().await }.boxed();
    let parts = stream::unfold(Some((answers, withdrawal)), |begun| async {
        let (mut answers, mut withdrawal) = begun?;
        let cut_off =
            || std::io::Error::other("the node of the transaction has cut its answer off");
        let next = tokio::select! {
            biased;
            () = &mut withdrawal => {
                let revoked = std::io::Error::other(auth::withdrawn().to_string());
                return Some((Err(revoked), None));
            }
            next = answers.next() => next,
        };
        let part = match next {
            Ok(None) => return None,
            Ok(Some(part)) => match PartMessage::decode(part) {
                Ok(part) if !part.is_cut_off => Ok(part.bytes),
                Ok(_) | Err(_) => Err(cut_off()),
            },
            Err(_) => Err(cut_off()),
        };
        let rest = part.is_ok().then_some((answers, withdrawal));
        Some((part, rest))
    });
    let mut response = Response::new(Body::from_stream(parts));
    let status = u16::try_from(head.status).ok();
    *response.status_mut() = status
        .and_then(|status| StatusCode::from_u16(status).ok())
        .ok_or_else(|| Failure::internal("another node sent an invalid status"))?;
    *response.headers_mut() = headers(head.headers);
    Ok(Some(response))
}

/// Who has called, where another node has authenticated it.
#[derive(Debug, Clone)]
pub(super) struct Carried(pub(super) Login);

/// Answers a request that another node has carried here.
pub fn answer_carried(router: &Router, body: Bytes) -> BoxStream<'static, Bytes> {
    let Some(request) = RequestMessage::decode(body).ok().and_then(request) else {
        return stream::empty().boxed();
    };
    let router = router.clone();
    let answering = async move {
        let response = match router.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (mut head, body) = response.into_parts();
        let unread = head.extensions.remove::<Arc<Hold>>();
        let head = HeadMessage {
            status: head.status.as_u16().into(),
            headers: messages(&head.headers),
        };
        let parts = body.into_data_stream().map(move |part| {
            let _until_it_is_taken = &unread;
            let part = match part {
                Ok(bytes) => PartMessage {
                    bytes,
                    is_cut_off: false,
                },
                Err(_) => PartMessage {
                    bytes: Bytes::new(),
                    is_cut_off: true,
                },
            };
            Bytes::from(part.encode_to_vec())
        });
        stream::once(async move { Bytes::from(head.encode_to_vec()) }).chain(parts)
    };
    stream::once(answering).flatten().boxed()
}

fn request(message: RequestMessage) -> Option<Request<Body>> {
    let login = message.caller.login()?;
    let mut request = Request::builder()
        .method(message.method.as_str())
        .uri(message.uri)
        .extension(Carried(login))
        .body(Body::from(message.body))
        .ok()?;
    *request.headers_mut() = headers(message.headers);
    Some(request)
}
