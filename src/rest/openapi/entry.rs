//! The methods of the paths, from the tables of paths and of operations.

use axum::http::Method;

use super::super::{
    answer::Answered,
    described::{
        ALWAYS, Description, Parameter, Shape, WRITES,
        entity::JSON_PATCH,
        parameter::{IF_MATCH, part},
    },
    page::{PAGES, Page},
    spelling::{SPELLINGS, Spelling},
};
use crate::compat::Compat;
use crate::error::{Code, Failure};
use crate::event::EventType;
use crate::operation::{Access, Route};

/// One method of one path, from whichever table it is.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of another part of the description whether it is there"
)]
pub(super) struct Entry {
    pub(super) path: &'static str,
    pub(super) method: &'static Method,
    pub(super) description: &'static Description,
    pub(super) parameters: Vec<&'static Parameter>,
    /// What is sent, by media type.
    pub(super) body: Vec<(&'static str, Shape)>,
    /// The answers, by media type.
    pub(super) media: Vec<(&'static str, Shape, Amount)>,
    /// Whether the answer has an `ETag`.
    pub(super) is_tagged: bool,
    pub(super) codes: Vec<(u16, Code)>,
    /// What is answered where it is not a problem document, by status.
    pub(super) refusals: &'static [(u16, Shape)],
    /// Anyone may ask, without saying who they are.
    pub(super) is_public: bool,
    pub(super) takes_token: bool,
    pub(super) takes_key: bool,
    /// What the table of operations says.
    pub(super) operation: Option<&'static Route>,
    /// What else it is, by its query.
    pub(super) by_query: Vec<(&'static str, &'static Route)>,
}

/// How many of what a shape describes are in a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    One,
    List,
    Lines,
    Events,
}

impl Entry {
    fn spelled(spelling: &'static Spelling, compat: Compat) -> Self {
        let media = match spelling.read {
            Answered::Value(_)
            | Answered::WithStatus(_)
            | Answered::Tagged(_)
            | Answered::First(_)
            | Answered::Page(_) => Some(("application/json", Amount::One)),
            Answered::Empty => None,
            Answered::Text(_) => Some(("text/plain", Amount::One)),
            Answered::List(_) => Some(("application/json", Amount::List)),
            Answered::Lines(_) => Some(("application/x-ndjson", Amount::Lines)),
            Answered::Live(_) => Some(("text/event-stream", Amount::Events)),
        };
        let media = media.map(|(media, amount)| (media, spelling.description.answer, amount));
        let route = Route::of(spelling.request);
        let mut codes = ALWAYS.to_vec();
        if route.is_some_and(|route| route.access == Access::Write) {
            codes.extend(WRITES);
        }
        codes.extend(spelling.description.codes.iter().copied().flatten());
        let mut codes: Vec<_> = codes
            .into_iter()
            .map(|code| {
                let failure = (spelling.fault)(Failure::new(code, ""));
                (failure.status().as_u16(), code)
            })
            .collect();
        let mut body = spelling.description.body.media();
        if compat.json_patch_is_unknown() && body.iter().any(|(media, _)| *media == JSON_PATCH) {
            body.retain(|(media, _)| *media != JSON_PATCH);
            codes.push((Code::NotImplemented.status().as_u16(), Code::NotImplemented));
        }
        for (status, code) in &mut codes {
            if *code == Code::TransitionNotFound {
                *status = compat.transition_not_found().as_u16();
            }
        }
        if !body.is_empty() {
            codes.push(TOO_SLOW);
        }
        let ignores_version = spelling.request == EventType::EntityDeleteRequest
            && compat.deletions_ignore_if_match();
        let mut parameters: Vec<_> = spelling.description.parameters.iter().collect();
        parameters.retain(|parameter| !(ignores_version && parameter.name == IF_MATCH.name));
        if spelling.limit.status != Code::BadRequest.status() {
            codes.push((spelling.limit.status.as_u16(), Code::BadRequest));
        }
        Self {
            path: spelling.place().0,
            method: &spelling.method,
            description: spelling.description,
            parameters,
            body,
            media: media.into_iter().collect(),
            is_tagged: matches!(spelling.read, Answered::Tagged(_)),
            codes,
            refusals: &[],
            is_public: false,
            takes_token: true,
            takes_key: route.is_some_and(|route| route.access == Access::Write && route.once)
                && !compat.idempotency_keys_are_ignored(),
            operation: route,
            by_query: Vec::new(),
        }
    }

    fn of_page(page: &'static Page) -> Self {
        let media = page.media.iter();
        let body = page.description.body.media();
        let mut codes = with_status(page.description.codes.iter().copied().flatten().copied());
        // A path that speaks another language says so in its own words.
        if !body.is_empty() && page.refusals.is_empty() {
            codes.push(TOO_SLOW);
        }
        Self {
            body,
            path: page.path,
            method: &page.method,
            description: page.description,
            parameters: page.description.parameters.iter().collect(),
            media: media
                .map(|(media, shape)| (*media, *shape, Amount::One))
                .collect(),
            is_tagged: false,
            codes,
            refusals: page.refusals,
            is_public: page.is_public,
            takes_token: false,
            takes_key: false,
            operation: None,
            by_query: Vec::new(),
        }
    }

    /// The names in braces in the path, and what they are.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<Parameter>)> {
        names_in(self.path)
            .map(|name| {
                let given = self
                    .description
                    .parts
                    .iter()
                    .find(|(given, _)| *given == name);
                (name, given.map(|(_, part)| *part).or_else(|| part(name)))
            })
            .collect()
    }
}

/// A body that comes too slowly.
const TOO_SLOW: (u16, Code) = (408, Code::BadRequest);

fn with_status(codes: impl IntoIterator<Item = Code>) -> Vec<(u16, Code)> {
    let with = |code: Code| (code.status().as_u16(), code);
    codes.into_iter().map(with).collect()
}

/// The names in braces.
pub(super) fn names_in(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'))
}

pub(super) fn entries(compat: Compat) -> Vec<Entry> {
    let (plain, by_query): (Vec<_>, Vec<_>) = SPELLINGS
        .iter()
        .partition(|spelling| spelling.place().1.is_none());
    let mut spelled: Vec<_> = plain
        .into_iter()
        .map(|spelling| Entry::spelled(spelling, compat))
        .collect();
    // To the document it is one method of one path that answers in different ways.
    for spelling in by_query {
        let other = Entry::spelled(spelling, compat);
        let same = |entry: &&mut Entry| entry.path == other.path && entry.method == other.method;
        if let Some(entry) = spelled.iter_mut().find(same) {
            entry.media.extend(other.media);
            entry
                .by_query
                .extend(spelling.place().1.zip(other.operation));
        }
    }
    spelled.extend(PAGES.iter().map(Entry::of_page));
    spelled
}
