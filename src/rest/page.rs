//! The paths that spell no event: they are HTTP by nature (`stream.md` §1).

use std::sync::Arc;

use axum::{http::Method, routing::MethodRouter};

use super::{
    Gateway, events,
    told::{self, Shape, Told},
};

/// A path that spells no event.
pub(super) struct Page {
    pub(super) method: Method,
    /// Below the context path.
    pub(super) path: &'static str,
    /// Whether anyone may ask, without saying who they are.
    pub(super) is_public: bool,
    /// What is answered, by media type.
    pub(super) media: &'static [(&'static str, Shape)],
    pub(super) told: &'static Told,
    pub(super) serve: fn(&Arc<Gateway>) -> MethodRouter,
}

/// Every such path.
pub(super) const PAGES: &[Page] = &[Page {
    method: Method::POST,
    path: "/events",
    is_public: false,
    media: told::events::MEDIA,
    told: &told::events::POST,
    serve: events::routes,
}];
