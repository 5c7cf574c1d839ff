//! The listener of operators: whether the process lives and is ready (`rest.md` §8).

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::get};

/// Says whether the service can do its work.
pub type Readiness = Arc<dyn Fn() -> bool + Send + Sync>;

pub fn admin(is_ready: Readiness) -> Router {
    let ready = move || {
        let answer = if is_ready() {
            (StatusCode::OK, "ready")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready")
        };
        std::future::ready(answer)
    };
    Router::new()
        .route("/livez", get(async || "ok"))
        .route("/readyz", get(ready))
}
