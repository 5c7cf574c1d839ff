//! The page at `/docs` that shows the `OpenAPI` document and tries requests. Nothing of it comes
//! from elsewhere: it is Swagger UI, packed into the program by the build script.

use axum::{
    Router,
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get},
};

const PAGE: &str = include_str!("docs.html");
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
const SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));

/// What the page may load and run: its own assets. The viewer sets styles and draws icons itself.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      frame-ancestors 'none'";

/// Below `/docs`. The paths of assets are relative to the page, which may be behind a proxy.
pub(super) fn routes() -> Router {
    let files: [(&str, MethodRouter); 4] = [
        ("/", get(page)),
        (
            "/start.js",
            get(async || text(START, "text/javascript; charset=utf-8")),
        ),
        (
            "/swagger-ui.css",
            get(async || packed(STYLE, "text/css; charset=utf-8")),
        ),
        (
            "/swagger-ui-bundle.js",
            get(async || packed(SCRIPT, "text/javascript; charset=utf-8")),
        ),
    ];
    files
        .into_iter()
        .fold(Router::new(), |router, (path, file)| {
            router.route(path, file)
        })
}

const START: &str = include_str!("docs.js");

async fn page() -> Response {
    guarded(POLICY, text(PAGE, "text/html; charset=utf-8"))
}

/// A page that loads only what `policy` says, and is shown within no other.
pub(super) fn guarded(policy: &'static str, page: Response) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, page).into_response()
}

pub(super) fn text(text: impl Into<Body>, content_type: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type)], text.into()).into_response()
}

/// Every browser unpacks what is in gzip.
fn packed(bytes: &'static [u8], content_type: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_ENCODING, "gzip"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, bytes).into_response()
}
