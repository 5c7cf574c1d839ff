//! The admin port: liveness, readiness and metrics (`rest.md` §8).

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use tokio::runtime::Handle;

use crate::auth::Secret;
use crate::telemetry::measure::Exporter;

/// Says at once whether the service can do its work.
pub type Readiness = Arc<dyn Fn() -> bool + Send + Sync>;

/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The bearer token that a request for metrics needs.
#[derive(Debug, Clone)]
pub struct Bearer(Secret);

impl Bearer {
    pub fn new(secret: &str) -> Self {
        Self(Secret::new(secret))
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.as_bytes().split_first_chunk::<7>())
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
            .map(|(_, token)| token.trim_ascii());
        given.is_some_and(|given| self.0.is(given))
    }
}

/// The pages of operators. `serving` is the runtime whose measurements are shown.
pub fn admin(
    is_ready: Readiness,
    exporter: Exporter,
    serving: Handle,
    bearer: Option<Bearer>,
) -> Router {
    let ready = async move || {
        if is_ready() {
            (StatusCode::OK, "ready")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready")
        }
    };
    let metrics = async move |request: Request| match &bearer {
        Some(bearer) if !bearer.is_in(request.headers()) => unauthorized(),
        Some(_) | None => (
            [(header::CONTENT_TYPE, METRICS_TYPE)],
            exporter.text(&serving),
        )
            .into_response(),
    };
    Router::new()
        .route("/livez", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

fn unauthorized() -> Response {
    let challenge = r#"Bearer realm="cyoda metrics""#;
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, challenge)],
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_distinguished_from_similar_texts() {
        let bearer = Bearer::new("s3cret");
        for (header, fits) in [
            ("Bearer s3cret", true),
            ("bearer s3cret ", true),
            ("Bearer s3cre", false),
            ("Bearer s3cret2", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic s3cret", false),
            ("s3cret", false),
            ("", false),
        ] {
            let value = header.parse().expect("a header");
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
            assert_eq!(bearer.is_in(&headers), fits, "{header}");
        }
        assert!(!bearer.is_in(&HeaderMap::new()));
    }
}
