//! What operations answer: typed values, which become text where they leave.
//!
//! gRPC, the stream and `CloudEvents` over HTTP write the event ([`Success::into_event`]); REST
//! makes its body of the value itself ([`Success::take`]), so that nothing is written only to be
//! read again.

use std::{any::Any, pin::Pin};

use futures_util::{Stream, StreamExt as _};
use serde::de::DeserializeOwned;

use crate::error::Failure;
use crate::event::{
    Event, EventType,
    payload::{self, Answer as Members, search::Page},
};

/// What an operation with a certain type of answer gives.
pub enum Output<A> {
    /// One answer, and its warnings.
    One(A, Vec<String>),
    Many(Events),
    /// Those of one page, and which of how many pages it is.
    Page(Events, Page),
}

/// What an operation gives, whatever the type of its answers.
pub enum Answer {
    One(Success),
    Many(Events),
    Page(Events, Page),
}

/// Answers as they become ready. A failure is the last item.
pub type Events = Pin<Box<dyn Stream<Item = Result<Success, Failure>> + Send>>;

/// One answer of an operation that succeeded.
pub struct Success(Content);

enum Content {
    Typed(Box<dyn Typed>),
    /// The text that was stored for a repeat of its request.
    Stored(String),
    /// The event that another node has answered.
    Carried(EventType, String),
}

/// An answer and its warnings.
struct Warned<A> {
    answer: A,
    warnings: Vec<String>,
}

/// An answer of some type.
trait Typed: Send + Sync {
    fn text(&self, request: &str) -> String;
    fn event_type(&self) -> Option<EventType>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<A: Members> Typed for Warned<A> {
    fn text(&self, request: &str) -> String {
        payload::answer::text(request, &self.warnings, &self.answer)
    }

    fn event_type(&self) -> Option<EventType> {
        self.answer.event_type()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<A: Members> Output<A> {
    /// One answer, without warnings.
    pub(super) const fn one(answer: A) -> Self {
        Self::One(answer, Vec::new())
    }

    /// Any number of answers.
    pub(super) fn many(answers: impl Stream<Item = Result<A, Failure>> + Send + 'static) -> Self {
        Self::Many(events(answers))
    }
}

/// Answers of any type, as those of one.
pub(super) fn events<A: Members>(
    answers: impl Stream<Item = Result<A, Failure>> + Send + 'static,
) -> Events {
    Box::pin(answers.map(|answer| answer.map(|answer| Success::new(answer, Vec::new()))))
}

impl<A: Members> From<Output<A>> for Answer {
    fn from(output: Output<A>) -> Self {
        match output {
            Output::One(answer, warnings) => Self::One(Success::new(answer, warnings)),
            Output::Many(events) => Self::Many(events),
            Output::Page(events, page) => Self::Page(events, page),
        }
    }
}

impl Success {
    fn new<A: Members>(answer: A, warnings: Vec<String>) -> Self {
        Self(Content::Typed(Box::new(Warned { answer, warnings })))
    }

    /// The text of an earlier answer that quotes the request already.
    pub(super) const fn stored(text: String) -> Self {
        Self(Content::Stored(text))
    }

    /// The answer of another node: the text of an event of that type.
    pub(super) const fn carried(kind: EventType, text: String) -> Self {
        Self(Content::Carried(kind, text))
    }

    /// The text of the event that says so, in answer to a request.
    pub fn into_text(self, request: &str) -> String {
        match self.0 {
            Content::Typed(typed) => typed.text(request),
            Content::Stored(text) | Content::Carried(_, text) => text,
        }
    }

    /// The event that says so, in answer to a request of an operation with that response.
    pub fn into_event(self, request: &str, response: EventType) -> Event {
        match self.0 {
            Content::Typed(typed) => {
                Event::ours(typed.event_type().unwrap_or(response), typed.text(request))
            }
            Content::Stored(text) => Event::ours(response, text),
            Content::Carried(kind, text) => Event::ours(kind, text),
        }
    }

    /// The value, which must be of that type and cannot be a stored one.
    pub fn take<A: Members>(self) -> Result<A, Failure> {
        match self.0 {
            Content::Typed(typed) => typed_as(typed).map(|warned: Box<Warned<A>>| warned.answer),
            Content::Stored(_) | Content::Carried(..) => {
                Err(Failure::internal("an answer of this type is not stored"))
            }
        }
    }

    /// The value, of an operation whose outcome may be stored, and its warnings.
    pub fn take_outcome<A: Members + DeserializeOwned>(self) -> Result<(A, Vec<String>), Failure> {
        match self.0 {
            Content::Typed(typed) => {
                typed_as(typed).map(|warned: Box<Warned<A>>| (warned.answer, warned.warnings))
            }
            Content::Stored(text) | Content::Carried(_, text) => payload::stored(&text),
        }
    }
}

fn typed_as<A: Members>(typed: Box<dyn Typed>) -> Result<Box<Warned<A>>, Failure> {
    typed
        .into_any()
        .downcast()
        .map_err(|_| Failure::internal("an answer is of another type than its operation names"))
}
