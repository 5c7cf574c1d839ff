//! The console at `/console`: a page that shows entities, runs and work, and does what operators
//! do. It sends events to `/events` as any client does, so it may do what its caller may.

use axum::{
    Router,
    http::header,
    response::{IntoResponse as _, Response},
    routing::get,
};

use super::docs::{guarded, text};

const PAGE: &str = include_str!("page.html");

/// What the page may load and run: its own files, and requests to the service that served it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: &[(&str, &str, &str)] = &[
    (
        "/style.css",
        include_str!("style.css"),
        "text/css; charset=utf-8",
    ),
    ("/main.js", include_str!("main.js"), SCRIPT),
    ("/page.js", include_str!("page.js"), SCRIPT),
    ("/attention.js", include_str!("attention.js"), SCRIPT),
    ("/login.js", include_str!("login.js"), SCRIPT),
    ("/scroll.js", include_str!("scroll.js"), SCRIPT),
    ("/service.js", include_str!("service.js"), SCRIPT),
    ("/element.js", include_str!("element.js"), SCRIPT),
    ("/elements.js", include_str!("elements.js"), SCRIPT),
    ("/diagram.js", include_str!("diagram.js"), SCRIPT),
    ("/overview.js", include_str!("overview.js"), SCRIPT),
    ("/entities.js", include_str!("entities.js"), SCRIPT),
    ("/runs.js", include_str!("runs.js"), SCRIPT),
    ("/definitions.js", include_str!("definitions.js"), SCRIPT),
    ("/work.js", include_str!("work.js"), SCRIPT),
];

/// Below `/console`, for a service whose paths begin with `context`, and which knows idempotency keys
/// or not.
pub(super) fn routes(context: &str, has_keys: bool) -> Router {
    let page = PAGE.replace("{context}", context);
    let page: axum::body::Bytes = page.replace("{keys}", &has_keys.to_string()).into();
    let routes = Router::new().route(
        "/",
        get(async move || guarded(POLICY, text(page.clone(), "text/html; charset=utf-8"))),
    );
    FILES
        .iter()
        .fold(routes, |routes, (path, file, content_type)| {
            routes.route(path, get(async || served(file, content_type)))
        })
}

/// The next release may have another file, so browsers ask each time.
fn served(file: &'static str, content_type: &'static str) -> Response {
    (
        [(header::CACHE_CONTROL, "no-cache")],
        text(file, content_type),
    )
        .into_response()
}
