//! The `http` connector: calls of one HTTP server.

use std::{
    borrow::Cow,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request as HttpRequest, StatusCode, header,
};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};
use url::Url;

use super::{CallFailed, Http, HttpAuth, RESULT_BYTES_MAX, Request, Trust, check};
use crate::backoff::Backoff;
use crate::entity::is_unicode;
use crate::expr::{members, quoted, string};
use crate::outgoing::{Answer, Client, Fault, Reach};

const USER_AGENT: &str = concat!("interlock/", env!("CARGO_PKG_VERSION"));

/// The time limit for connecting; a server that does not accept is tried again or given up.
const CONNECT: Duration = Duration::from_secs(10);

/// What is encoded in paths and queries: all but the unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The pauses between tries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));

/// The pauses while a server says that it is still at work on an earlier attempt, and how many
/// there are: about two minutes together.
const AT_WORK_LONGEST: Duration = Duration::from_secs(30);
const AT_WORK: Backoff = Backoff::new(Duration::from_millis(100), AT_WORK_LONGEST);
const AT_WORK_MAX: u32 = 12;

/// An HTTP server that can be called.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    /// The path of the base URL, without a slash at the end.
    base: Box<str>,
    headers: HeaderMap,
    attempts: u32,
}

/// The idempotency key of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) text: &'a str,
    /// A request with it may have been sent before.
    pub(super) was_sent: bool,
}

/// A call, ready to be sent any number of times.
struct Prepared<'a> {
    /// As the document has it; it contains no values.
    operation: &'a str,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl Server {
    pub(super) fn new(
        config: &Http,
        reach: Reach,
        trust: Trust,
        connections: usize,
    ) -> Result<Self, String> {
        let base = base_url(&config.base_url)?;
        let tls = check::authorities(config.tls_ca.as_deref(), trust)?;
        let path = base.path().trim_end_matches('/').into();
        Ok(Self {
            client: Client::new(base, reach, tls, CONNECT, RESULT_BYTES_MAX, connections),
            base: path,
            headers: headers(config)?,
            attempts: config.retry.attempts.max(1),
        })
    }

    pub(super) fn close_idle(&self) {
        self.client.close_idle();
    }

    /// Sends a request, and again while it fails with a status from 500 or without an answer, or
    /// while the server is still at work on an attempt whose answer was lost. Each attempt has the
    /// time limit. `is_sent` is set before the first is sent.
    pub(super) async fn call(
        &self,
        request: &Request<'_>,
        key: Key<'_>,
        limit: Duration,
        is_sent: &AtomicBool,
    ) -> Result<Arc<str>, CallFailed> {
        let call = self.prepared(request, key.text);
        let call = call.map_err(CallFailed::failed)?;
        let (mut tries, mut backoff) = (1, BACKOFF);
        let (mut waits, mut at_work) = (0, AT_WORK);
        let mut was_lost = key.was_sent;
        loop {
            let answer = timeout(limit, self.client.send(call.request(), is_sent)).await;
            let may_help = match &answer {
                Ok(Ok(answer)) => answer.status.is_server_error(),
                Ok(Err(fault)) => !matches!(fault, Fault::TooLarge { .. }),
                Err(_) => true,
            };
            if may_help && tries < self.attempts {
                was_lost |= matches!(&answer, Ok(Err(Fault::Ended | Fault::Endless)) | Err(_));
                tries += 1;
                backoff.wait().await;
                continue;
            }
            if let Ok(Ok(answer)) = &answer
                && was_lost
                && is_at_work(answer.status)
                && waits < AT_WORK_MAX
            {
                waits += 1;
                let pause = at_work.pause().max(retry_after(answer));
                sleep(pause.min(AT_WORK_LONGEST)).await;
                continue;
            }
            let is_settled = match &answer {
                Ok(Ok(Answer { status, .. }) | Err(Fault::TooLarge { status, .. })) => {
                    is_about_request(*status)
                }
                Ok(Err(Fault::Unreachable(_) | Fault::Slow(_) | Fault::Ended | Fault::Endless))
                | Err(_) => false,
            };
            let result = answer.map_err(|_| CallFailed::TimedOut(limit));
            let result = result.and_then(|answer| call.result(answer));
            return match result {
                // An earlier attempt may have been successful.
                Err(failure) if was_lost && !is_settled => Err(CallFailed::Lost {
                    message: failure.to_string(),
                }),
                result => result,
            };
        }
    }

    fn prepared<'a>(
        &self,
        request: &'a Request<'_>,
        idempotency_key: &str,
    ) -> Result<Prepared<'a>, String> {
        let operation = request.operation.trim();
        let (method, path) = method_and_path(operation)?;
        let mut path = format!("{}{}", self.base, filled(path, request.params)?);
        let mut headers = self.headers.clone();
        let key = HeaderValue::from_str(idempotency_key);
        let key = key.map_err(|_| "the idempotency key is not a valid header".to_owned())?;
        headers.insert(HeaderName::from_static("idempotency-key"), key);
        let payload = request.payload.map(RawValue::get);
        let payload = payload.filter(|payload| *payload != "null");
        let has_body = ![Method::GET, Method::HEAD].contains(&method);
        let body = match payload {
            Some(payload) if has_body => {
                headers
                    .entry(header::CONTENT_TYPE)
                    .or_insert(HeaderValue::from_static("application/json"));
                Some(Bytes::copy_from_slice(payload.as_bytes()))
            }
            Some(payload) => {
                append_query(&mut path, payload)?;
                None
            }
            None => None,
        };
        let is_usable = path.parse::<http::uri::PathAndQuery>().is_ok();
        is_usable
            .then_some(Prepared {
                operation,
                method,
                path,
                headers,
                body,
            })
            .ok_or_else(|| format!("`{operation}` does not have a valid path"))
    }
}

/// The URL of a server and the path that all paths begin with.
pub(super) fn base_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| url.host_str().is_some_and(|host| !host.is_empty()));
    let url = url.ok_or("`base_url` must be an absolute URL with a host")?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err("`base_url` must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`base_url` must not contain a user or a password; use `auth`".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("`base_url` must not contain a query or a fragment".to_owned());
    }
    Ok(url)
}

/// The headers of every request.
pub(super) fn headers(config: &Http) -> Result<HeaderMap, String> {
    const RESERVED: [HeaderName; 5] = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::UPGRADE,
    ];
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    let mut put = |name: &str, value: &str| {
        let name: HeaderName = name
            .parse()
            .map_err(|_| format!("`{name}` is not a valid name of a header"))?;
        if RESERVED.contains(&name) {
            return Err(format!("the header `{name}` cannot be set"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` is not valid"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    for (name, value) in &config.headers {
        put(name, value.expose())?;
    }
    match &config.auth {
        Some(HttpAuth::Bearer { token }) => {
            put("authorization", &format!("Bearer {}", token.expose()))?;
        }
        Some(HttpAuth::Basic { username, password }) => {
            let pair = STANDARD.encode(format!("{username}:{}", password.expose()));
            put("authorization", &format!("Basic {pair}"))?;
        }
        Some(HttpAuth::ApiKey { header, key }) => put(header, key.expose())?,
        None => {}
    }
    Ok(headers)
}

fn method_and_path(operation: &str) -> Result<(Method, &str), String> {
    const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    let invalid = || format!("`{operation}` is not a valid operation; write `POST /path`");
    let (method, path) = operation.split_once(' ').ok_or_else(invalid)?;
    let method = method.to_ascii_uppercase();
    let path = path.trim_start();
    if !METHODS.contains(&&*method) || !path.starts_with('/') || path.contains('#') {
        return Err(invalid());
    }
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| invalid())?;
    Ok((method, path))
}

/// A path whose segments `:name` are replaced by members of `params`.
fn filled<'a>(path: &'a str, params: Option<&RawValue>) -> Result<Cow<'a, str>, String> {
    if !path.contains("/:") {
        return Ok(path.into());
    }
    let params = params.and_then(|params| members(params.get()));
    let params = params.unwrap_or_default();
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut whole = String::new();
    for segment in path.split('/').skip(1) {
        whole.push('/');
        let Some(name) = segment.strip_prefix(':') else {
            whole.push_str(segment);
            continue;
        };
        let value = params.get(name).and_then(|value| scalar(value.get()));
        let value = value.ok_or_else(|| format!("`params` has no text or number `{name}`"))?;
        // These would be another path.
        if ["", ".", ".."].contains(&&*value) {
            return Err(format!("`params.{name}` cannot be a segment of a path"));
        }
        whole.extend(utf8_percent_encode(&value, ENCODED));
    }
    if let Some(query) = query {
        whole.push('?');
        whole.push_str(query);
    }
    Ok(whole.into())
}

/// A JSON value as plain text; none of an object, a list or null.
fn scalar(json: &str) -> Option<Cow<'_, str>> {
    match json.as_bytes().first()? {
        b'"' => string(json).map(Cow::Owned),
        b'{' | b'[' | b'n' => None,
        _ => Some(json.into()),
    }
}

/// Appends the members of an object as a query: a request without a body has no other place.
fn append_query(path: &mut String, payload: &str) -> Result<(), String> {
    let members = members(payload).ok_or("the payload of this method must be an object")?;
    for (name, value) in members {
        let value = value.get();
        if value == "null" {
            continue;
        }
        let value = scalar(value).unwrap_or_else(|| value.into());
        path.push(if path.contains('?') { '&' } else { '?' });
        path.extend(utf8_percent_encode(&name, ENCODED));
        path.push('=');
        path.extend(utf8_percent_encode(&value, ENCODED));
    }
    Ok(())
}

impl Prepared<'_> {
    fn request(&self) -> HttpRequest<Full<Bytes>> {
        let mut request = HttpRequest::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = self.method.clone();
        // It has been parsed before.
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        *request.headers_mut() = self.headers.clone();
        request
    }

    fn result(&self, answer: Result<Answer, Fault>) -> Result<Arc<str>, CallFailed> {
        let operation = self.operation;
        let answer = match answer {
            Ok(answer) => answer,
            Err(fault @ Fault::TooLarge { status, .. }) => {
                let message = format!("{operation}: {fault}");
                return Err(if status.is_success() {
                    CallFailed::Unusable { message }
                } else {
                    CallFailed::failed(message)
                });
            }
            Err(fault @ (Fault::Ended | Fault::Endless)) => {
                let message = format!("{operation}: {fault}");
                return Err(CallFailed::Lost { message });
            }
            Err(fault @ (Fault::Unreachable(_) | Fault::Slow(_))) => {
                let message = format!("{operation}: {fault}");
                return Err(CallFailed::Unavailable { message });
            }
        };
        let code = answer.status.as_u16();
        if !answer.status.is_success() {
            let output = json(&answer.body).map(Into::into);
            let message = if answer.status.is_redirection() {
                format!("{operation} answered {code}; redirects are not followed")
            } else {
                format!("{operation} answered {code}")
            };
            return Err(CallFailed::Failed { message, output });
        }
        if answer.body.is_empty() {
            return Ok("null".into());
        }
        if answer.headers.contains_key(header::CONTENT_ENCODING) {
            let message = format!("{operation} answered with an encoding that was not asked for");
            return Err(CallFailed::Unusable { message });
        }
        if let Some(json) = json(&answer.body) {
            return Ok(json.into());
        }
        if let Ok(text) = std::str::from_utf8(&answer.body) {
            return Ok(quoted(text).into());
        }
        let Some(text) = latin_1(&answer) else {
            let message = format!("{operation} answered neither JSON nor text");
            return Err(CallFailed::Unusable { message });
        };
        let result = json(text.as_bytes()).map_or_else(|| quoted(&text), str::to_owned);
        Ok(result.into())
    }
}

/// Whether the answer to a repeat says what became of the request. A server that fails or is busy
/// does not know what it has done with an earlier attempt, and the other statuses are about this
/// attempt alone: it went to the wrong place, was not authorized, or came too early.
fn is_about_request(status: StatusCode) -> bool {
    const OF_ATTEMPT: [StatusCode; 8] = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::MISDIRECTED_REQUEST,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    let is_refused = status.is_client_error() && !OF_ATTEMPT.contains(&status);
    status.is_success() || (is_refused && !is_at_work(status))
}

/// Whether a server answers a repeat so while it has not finished the first request with its key.
fn is_at_work(status: StatusCode) -> bool {
    [StatusCode::CONFLICT, StatusCode::TOO_EARLY].contains(&status)
}

/// How long a server asks to wait; no time if it does not say so in seconds.
fn retry_after(answer: &Answer) -> Duration {
    let given = answer.headers.get(header::RETRY_AFTER);
    let seconds = given.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    Duration::from_secs(seconds.unwrap_or_default())
}

/// A body in ISO 8859-1, of an answer that says so.
fn latin_1(answer: &Answer) -> Option<String> {
    let given = answer.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut parameters = given.split(';').skip(1);
    let charset = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    })?;
    let is_latin_1 = ["iso-8859-1", "latin1"].contains(&&*charset);
    is_latin_1.then(|| answer.body.iter().copied().map(char::from).collect())
}

/// The text of a body that is JSON, as it is. One with half a character (an unpaired surrogate) is
/// only a text: no database can store it.
fn json(body: &[u8]) -> Option<&str> {
    // Some servers put a byte order mark before it.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let value: &RawValue = serde_json::from_slice(body).ok()?;
    is_unicode(value.get()).then_some(value.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_filled_and_stay_segments() {
        let params = RawValue::from_string(
            r#"{"id":7,"name":"a/b ?","up":"..","none":null,"many":[1]}"#.to_owned(),
        );
        let params = params.expect("JSON");
        let fill = |path| filled(path, Some(&params)).map(Cow::into_owned);
        assert_eq!(fill("/a/:id/b?x=:id").as_deref(), Ok("/a/7/b?x=:id"));
        assert_eq!(fill("/a/:name").as_deref(), Ok("/a/a%2Fb%20%3F"));
        for refused in ["/:up", "/:none", "/:many", "/:missing"] {
            assert!(fill(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn an_operation_is_a_method_and_a_path() {
        assert!(method_and_path("POST /charges").is_ok());
        assert!(method_and_path("post  /charges?x=1").is_ok());
        for refused in [
            "",
            "POST",
            "POST charges",
            "SPEAK /x",
            "POST http://a/",
            "GET /a#b",
        ] {
            assert!(method_and_path(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_base_url_has_no_credentials() {
        assert!(base_url("https://api.example/v1/").is_ok());
        for refused in [
            "",
            "api.example",
            "ftp://a/",
            "http://u:p@a/",
            "http://a/?k=1",
        ] {
            assert!(base_url(refused).is_err(), "{refused}");
        }
    }
}
