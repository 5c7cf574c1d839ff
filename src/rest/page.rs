//! The paths without an event: they belong to HTTP by nature (`stream.md` §1).

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Gateway,
    described::{self, Description, Shape},
    events, help, json, oauth,
};
use crate::error::{Code, Failure};
use crate::event::payload;
use crate::telemetry::has_panicked;

/// A path without an event.
pub(super) struct Page {
    pub(super) method: Method,
    /// Below the context path.
    pub(super) path: &'static str,
    /// Whether it can be requested without authentication.
    pub(super) is_public: bool,
    /// The answers, by media type.
    pub(super) media: &'static [(&'static str, Shape)],
    /// What is answered where it is not a problem document, by status: JSON.
    pub(super) refusals: &'static [(u16, Shape)],
    pub(super) description: &'static Description,
    pub(super) serve: fn(&Arc<Gateway>) -> MethodRouter,
}

/// Every such path.
pub(super) const PAGES: &[Page] = &[
    Page {
        method: Method::POST,
        path: "/events",
        is_public: false,
        media: described::events::MEDIA,
        refusals: &[],
        description: &described::events::POST,
        serve: events::routes,
    },
    Page {
        method: Method::GET,
        path: "/events/{type}/schema",
        is_public: true,
        media: described::events::SCHEMA_MEDIA,
        refusals: &[],
        description: &described::events::SCHEMA,
        serve: events::schema,
    },
    Page {
        method: Method::GET,
        path: "/health",
        is_public: true,
        media: described::operators::HEALTH_MEDIA,
        refusals: described::operators::HEALTH_REFUSALS,
        description: &described::operators::HEALTH,
        serve: |_| get(async || health(has_panicked())),
    },
    Page {
        method: Method::GET,
        path: "/account/subscriptions",
        is_public: false,
        media: &[],
        refusals: &[],
        description: &described::operators::SUBSCRIPTIONS,
        serve: subscriptions,
    },
    Page {
        method: Method::POST,
        path: "/oauth/token",
        is_public: true,
        media: described::oauth::TOKEN_MEDIA,
        refusals: described::oauth::TOKEN_REFUSALS,
        description: &described::oauth::TOKEN,
        serve: oauth::token,
    },
    Page {
        method: Method::GET,
        path: "/.well-known/jwks.json",
        is_public: true,
        media: described::oauth::KEYS_MEDIA,
        refusals: &[],
        description: &described::oauth::KEYS,
        serve: oauth::keys,
    },
    Page {
        method: Method::GET,
        path: "/help",
        is_public: true,
        media: described::help::EVERYTHING_MEDIA,
        refusals: &[],
        description: &described::help::EVERYTHING,
        serve: help::everything,
    },
    Page {
        method: Method::GET,
        path: "/help/{*topic}",
        is_public: true,
        media: described::help::TOPIC_MEDIA,
        refusals: &[],
        description: &described::help::TOPIC,
        serve: help::topic,
    },
];

/// Whether the service is well.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    status: Status,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum Status {
    Up,
    Down,
}

/// Whether nothing has gone wrong in a way that nobody had thought of (`rest.md` §8).
fn health(has_panicked: bool) -> Response {
    let (code, status) = if has_panicked {
        (StatusCode::SERVICE_UNAVAILABLE, Status::Down)
    } else {
        (StatusCode::OK, Status::Up)
    };
    (code, json(payload::json(&Health { status }))).into_response()
}

/// Nothing is subscribed to here (`rest.md` §7).
fn subscriptions(gateway: &Arc<Gateway>) -> MethodRouter {
    let gateway = Arc::clone(gateway);
    get(async move |request: Request| {
        let failure = match gateway.login(request.headers()).await {
            Ok(_) => Failure::new(Code::NotImplemented, "there are no subscriptions"),
            Err(failure) => failure,
        };
        gateway.problem(&failure, request.uri())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_brings_the_service_down_in_its_own_words() {
        assert_eq!(health(false).status(), StatusCode::OK);
        assert_eq!(health(true).status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
