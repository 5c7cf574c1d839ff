//! CORS: the origins whose pages may use the gateway from a browser (`config-and-cli.md` §10).

use std::convert::Infallible;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use tower::ServiceExt as _;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::error::{Code, Failure, shown};

/// What browsers are allowed to send.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
const HEADERS: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, traceparent, tracestate");

/// How long it may remember that.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// How far away the page is that sends a request. Browsers say it to services on the same machine and
/// over TLS, and pages cannot change it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origins that are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Pages of this machine.
    Loopback,
    All,
    /// These, to the letter.
    Listed(Vec<HeaderValue>),
}

/// An entry of the list that no browser would send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}`: {why}")]
pub struct BadOrigin {
    pub entry: String,
    pub why: &'static str,
}

impl Origins {
    /// Reads a list separated by commas; an empty one means this machine, `*` everyone.
    pub fn parse(list: &str) -> Result<Self, BadOrigin> {
        let mut entries = list
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .peekable();
        if entries.peek().is_none() {
            return Ok(Self::Loopback);
        }
        if list.trim() == "*" {
            return Ok(Self::All);
        }
        entries
            .map(origin)
            .collect::<Result<_, _>>()
            .map(Self::Listed)
    }

    fn allow(self) -> AllowOrigin {
        match self {
            Self::Loopback => {
                AllowOrigin::predicate(|origin, _| origin.to_str().is_ok_and(is_loopback))
            }
            Self::All => AllowOrigin::any(),
            Self::Listed(origins) => AllowOrigin::list(origins),
        }
    }
}

/// An origin as browsers send it: scheme, host in lower case, and a port that is not the
/// scheme's own.
fn origin(entry: &str) -> Result<HeaderValue, BadOrigin> {
    let bad = |why| {
        Err(BadOrigin {
            entry: entry.to_owned(),
            why,
        })
    };
    if !entry.is_ascii() {
        return bad("write the host in ASCII, as xn--…");
    }
    if entry == "null" {
        return bad("pages without an origin cannot be allowed");
    }
    if entry.contains('*') {
        return bad("patterns are not supported; `*` alone allows all origins");
    }
    if entry.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return bad("an origin must be in lower case");
    }
    let Some((own_port, rest)) = without_scheme(entry) else {
        return bad("an origin must begin with http:// or https://");
    };
    let (host, port) = host_and_port(rest);
    match port {
        Some(port) if port == own_port => return bad("leave out the port that the scheme implies"),
        Some(port) if !is_port(port) => return bad("the port is invalid"),
        Some(_) | None => {}
    }
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if !is_address && !is_name {
        return bad("an origin has a scheme, a host and a port, but no path");
    }
    HeaderValue::from_str(entry).or_else(|_| bad("it cannot be sent in a header"))
}

fn without_scheme(origin: &str) -> Option<(&'static str, &str)> {
    let http = origin.strip_prefix("http://").map(|rest| ("80", rest));
    http.or_else(|| origin.strip_prefix("https://").map(|rest| ("443", rest)))
}

/// A colon within brackets does not begin a port.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_loopback(origin: &str) -> bool {
    without_scheme(origin).is_some_and(|(_, rest)| {
        let (host, port) = host_and_port(rest);
        ["localhost", "127.0.0.1", "[::1]"].contains(&host) && port.is_none_or(is_port)
    })
}

/// Refuses what a page of another origin asks where authentication is mocked: then no token shows
/// that the user wants it. A page whose name was made to lead to this machine (DNS rebinding) is of
/// the same origin, so a service that only this machine reaches accepts the machine's names only.
pub(super) fn check_page(
    origins: Option<&Origins>,
    is_local: bool,
    headers: &HeaderMap,
) -> Result<(), Failure> {
    let text = |name| {
        let value = headers.get(name);
        value.map(|value| value.to_str().unwrap_or_default())
    };
    let host = text(header::HOST).unwrap_or_default();
    let is_allowed = |origin: &str| match origins {
        Some(Origins::All) => true,
        Some(Origins::Loopback) => is_loopback(origin),
        Some(Origins::Listed(listed)) => listed.iter().any(|one| *one == origin),
        None => false,
    };
    // Browsers send no `Origin` when they GET what a link, an image or a form of a page names. If
    // another site redirects to it, `Referer` is the page before, so it counts within one site only.
    let site = text(FETCH_SITE);
    let referer = text(header::REFERER).filter(|_| site == Some("same-site"));
    let is_from_elsewhere = matches!(site, Some("cross-site" | "same-site"));
    if let Some(origin) = text(header::ORIGIN).or_else(|| referer.map(origin_of)) {
        let is_own = without_scheme(origin).is_some_and(|(_, rest)| rest == host);
        if !is_own && !is_allowed(origin) {
            let shown = shown(origin);
            return Err(forbidden(format!(
                "pages of {shown} may not use this service while authentication is mocked; \
                 name that origin in CYODA_CORS_ALLOWED_ORIGINS, or use CYODA_IAM_MODE=jwt"
            )));
        }
    } else if is_from_elsewhere && origins != Some(&Origins::All) {
        return Err(forbidden(
            "links, images and forms of pages of other sites may not lead to this service while \
             authentication is mocked; type the address, or use CYODA_IAM_MODE=jwt"
                .to_owned(),
        ));
    }
    if is_local && !is_of_this_machine(host) && !is_allowed(&format!("http://{host}")) {
        let shown = shown(host);
        return Err(forbidden(format!(
            "the host is {shown}, but only this machine may use this service while authentication is \
             mocked; use localhost, or name http://{shown} in CYODA_CORS_ALLOWED_ORIGINS"
        )));
    }
    Ok(())
}

/// What an address begins with: scheme, host and port.
fn origin_of(address: &str) -> &str {
    let path = address.match_indices('/').nth(2);
    path.map_or(address, |(at, _)| address.split_at(at).0)
}

fn forbidden(message: String) -> Failure {
    Failure::new(Code::Forbidden, message)
}

/// Whether a host is an address, or a name that always leads to this machine.
fn is_of_this_machine(host: &str) -> bool {
    let (name, _) = host_and_port(host);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.to_ascii_lowercase();
    name.is_empty()
        || name == "localhost"
        || name.strip_suffix(".localhost").is_some()
        || address.parse::<std::net::IpAddr>().is_ok()
}

/// Adds what browsers ask for to every answer. What only asks whether it may ask is answered
/// before anyone looks at who it is.
pub(super) fn allow(router: Router, origins: Origins) -> Router {
    let answers_any = origins == Origins::All;
    let layer = CorsLayer::new()
        .allow_origin(origins.allow())
        .vary([header::ORIGIN]);
    let layered = router.clone().layer(layer);
    Router::new().fallback(async move |request: Request| {
        let is_head = request.method() == Method::HEAD;
        let asks_whether = is_preflight(request.method(), request.headers());
        // The layer takes every other OPTIONS for such a question, too.
        let is_options = request.method() == Method::OPTIONS && !asks_whether;
        // Nothing but browsers says where it comes from, and nothing else pays for the layer.
        let is_plain = !answers_any && !request.headers().contains_key(header::ORIGIN);
        let response = if is_options || is_plain {
            varied(router.oneshot(request).await.into_response())
        } else {
            layered.oneshot(request).await.into_response()
        };
        if asks_whether {
            preflight(response)
        } else if is_head {
            of_unknown_length(response)
        } else {
            response
        }
    })
}

/// The router within has said the length of the body, if it is known, and taken the body away. The
/// router around it would take what is left for the body, and say that its length is 0.
fn of_unknown_length(response: Response) -> Response {
    response.map(|_| Body::from_stream(stream::empty::<Result<Bytes, Infallible>>()))
}

fn varied(mut response: Response) -> Response {
    let vary = HeaderValue::from_static("origin");
    response.headers_mut().append(header::VARY, vary);
    response
}

fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer in the documented spelling.
fn preflight(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    headers.remove(header::CONTENT_LENGTH);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_entries_that_no_browser_sends_are_refused() {
        assert_eq!(Origins::parse(""), Ok(Origins::Loopback));
        assert_eq!(Origins::parse(" , "), Ok(Origins::Loopback));
        assert_eq!(Origins::parse(" * "), Ok(Origins::All));
        let listed =
            Origins::parse("https://a.example, http://b.example:8080,http://[2001:db8::1]:1");
        assert!(matches!(listed, Ok(Origins::Listed(origins)) if origins.len() == 3));
        for entry in [
            "https://a.example/",
            "https://a.example/path",
            "https://a.example?x",
            "https://user@a.example",
            "https://a.example:443",
            "http://a.example:80",
            "https://a.example:",
            "https://a.example:0",
            "https://a.example:70000",
            "https://a.example:x",
            "https://A.example",
            "HTTPS://a.example",
            "https://*.example",
            "*,https://a.example",
            "null",
            "https://ä.example",
            "https://",
            "https://a b",
            "http://[::1",
            "http://[x]",
            "ftp://a.example",
            "a.example",
        ] {
            let list = format!("https://good.example,{entry}");
            assert!(Origins::parse(&list).is_err(), "{entry}");
        }
    }

    #[test]
    fn this_machine_is_what_it_is_called_exactly() {
        for origin in [
            "http://localhost",
            "https://127.0.0.1:3000",
            "http://[::1]:1",
            "http://[::1]",
        ] {
            assert!(is_loopback(origin), "{origin}");
        }
        for origin in [
            "http://LOCALHOST",
            "http://localhost.evil.example",
            "http://localhost:3000/",
            "http://localhost:x",
            "http://127.0.0.2",
            "http://evil.example:127",
            "ftp://localhost",
            "localhost",
            "null",
            "",
        ] {
            assert!(!is_loopback(origin), "{origin}");
        }
    }
}
