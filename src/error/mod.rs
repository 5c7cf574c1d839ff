//! Failures, and their two wire forms.
//!
//! May use: [`crate::id`], [`crate::text`].
//! Every module has its own error enum and maps it with [`Coded`] to the [`Code`] that a client
//! receives; [`Failure`] is what leaves an operation. The table in [`Code`] is the only place that
//! knows the wire form of a code (`errors.md` §2 and §3).

mod code;

use std::{any::Any, collections::BTreeSet, error::Error as StdError, fmt, time::Duration};

use http::StatusCode;
use parking_lot::Mutex;
use serde_json::Value;

pub use code::{Code, Retry};

use crate::id::Ticket;
use crate::text;

/// A name of a member that came from another node of the same version. There are few names, so each
/// is kept once for the life of the process.
pub fn member_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

/// An error that has a code.
pub trait Coded: StdError {
    fn code(&self) -> Code;

    /// Members for the `properties` of a problem document.
    fn properties(&self) -> Properties {
        Properties::new()
    }
}

/// The member of `properties` with the milliseconds after which to retry.
const RETRY_AFTER: &str = "retryAfterMs";

/// The beginning of the message if a payload cannot be read (`grpc.md` §5.1).
const OF_PAYLOAD: &str = "invalid payload: ";

/// Members of `properties`, beside `errorCode` and `retryable`.
pub type Properties = Vec<(&'static str, Value)>;

/// A failure of an operation, as it is returned.
#[derive(Debug, Clone)]
pub struct Failure {
    code: Code,
    message: String,
    properties: Properties,
    /// Set if it differs from the status of the code.
    status: Option<StatusCode>,
    origin: Origin,
    extra: Option<Box<Extra>>,
}

/// What few failures have.
#[derive(Debug, Clone, Default)]
struct Extra {
    /// Collected before the failure.
    warnings: Vec<String>,
    /// Members of the failed answer beside those of every answer.
    members: Properties,
}

/// The origin of a failure, which decides how each API returns it.
#[derive(Debug, Clone)]
enum Origin {
    /// The request could not be read: a gRPC status, an acknowledgement on a stream.
    Request,
    /// The operation rejected it: in-band.
    Operation,
    /// Internal error: in-band, the cause in the log only.
    Internal { ticket: Ticket, cause: String },
}

impl Failure {
    /// A rejection by an operation.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            properties: Properties::new(),
            status: None,
            origin: Origin::Operation,
            extra: None,
        }
    }

    /// A parameter of a request with an invalid value; `properties.parameter` names it.
    pub fn bad_parameter(parameter: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message).with("parameter", parameter)
    }

    /// A request that could not be read (`grpc.md` §5.1).
    pub fn malformed(message: impl Into<String>) -> Self {
        Self {
            origin: Origin::Request,
            ..Self::new(Code::BadRequest, message)
        }
    }

    /// An event whose type is not a request type.
    pub fn unknown_type(kind: &str) -> Self {
        let kind = shown(kind);
        Self {
            origin: Origin::Request,
            ..Self::new(
                Code::UnknownEventType,
                format!(
                    "`{kind}` is not a request type of this server; `interlock events` lists them"
                ),
            )
        }
    }

    /// An internal error; `cause` is only logged.
    pub fn internal(cause: impl Into<String>) -> Self {
        let ticket = Ticket::fresh();
        Self {
            code: Code::ServerError,
            message: format!("internal error [ticket: {ticket}]"),
            properties: Properties::new(),
            status: None,
            origin: Origin::Internal {
                ticket,
                cause: cause.into(),
            },
            extra: None,
        }
    }

    /// Nobody waits for the request any more.
    pub fn cancelled() -> Self {
        Self::new(Code::Cancelled, "the request was cancelled")
    }

    /// Marks this as a failure of the request itself, not of its operation.
    #[must_use]
    pub fn in_request(mut self) -> Self {
        self.origin = Origin::Request;
        self
    }

    /// Removes the line and column that `serde_json` appends from a failure to read a payload that
    /// was made of a request, because the caller has not seen that payload. Messages about a part
    /// of it keep their place.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        let place = self.message.rfind(" at line ");
        let is_of_all = self.message.starts_with(OF_PAYLOAD);
        let place = place.filter(|_| is_of_all).filter(|at| {
            let rest = &self.message[at + " at line ".len()..];
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            rest.split_once(" column ")
                .is_some_and(|(line, column)| digits(line) && digits(column))
        });
        if let Some(at) = place {
            self.message.truncate(at);
        }
        self
    }

    /// Adds to the message which item of a collection failed. An internal failure keeps its
    /// message.
    #[must_use]
    pub fn of_item(mut self, index: usize) -> Self {
        if self.internal_cause().is_none() {
            self.message = format!("item {index}: {}", self.message);
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.properties.push((name, value.into()));
        self
    }

    /// Adds a member to the failed answer.
    #[must_use]
    pub fn with_member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let extra = self.extra.get_or_insert_default();
        extra.members.push((name, value.into()));
        self
    }

    /// The members of the failed answer beside those of every answer.
    pub fn members(&self) -> &[(&'static str, Value)] {
        let extra = self.extra.as_ref();
        extra.map_or(&[], |extra| &extra.members)
    }

    /// Replaces code and status by those of another compatibility profile.
    #[must_use]
    pub fn as_known(mut self, code: Code, status: StatusCode) -> Self {
        self.code = code;
        self.status = Some(status);
        self
    }

    /// Reports an internal error with a code and a text of its own; its cause stays in the log.
    #[must_use]
    pub fn reported_as(mut self, code: Code, text: &str) -> Self {
        if let Origin::Internal { ticket, .. } = &self.origin {
            self.message = format!("{text} [ticket: {ticket}]");
            self.code = code;
        }
        self
    }

    /// Adds the warnings that were collected before the failure, without duplicates.
    #[must_use]
    pub fn warned(mut self, mut before: Vec<String>) -> Self {
        if before.is_empty() {
            return self;
        }
        let extra = self.extra.get_or_insert_default();
        for warning in extra.warnings.drain(..) {
            if !before.contains(&warning) {
                before.push(warning);
            }
        }
        extra.warnings = before;
        self
    }

    pub fn warnings(&self) -> &[String] {
        let extra = self.extra.as_ref();
        extra.map_or(&[], |extra| &extra.warnings)
    }

    /// Adds the time after which to retry.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let ms = u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        self.with(RETRY_AFTER, ms)
    }

    /// After how many seconds to retry, if that is known.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let given = self
            .properties
            .iter()
            .find(|(name, _)| *name == RETRY_AFTER);
        given
            .and_then(|(_, ms)| ms.as_u64())
            .map(|ms| ms.div_ceil(1_000))
    }

    pub const fn code(&self) -> Code {
        self.code
    }

    /// The status over HTTP.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| self.code.status())
    }

    pub const fn is_in_request(&self) -> bool {
        matches!(self.origin, Origin::Request)
    }

    /// The ticket and the cause of an internal failure, for the log.
    pub fn internal_cause(&self) -> Option<(Ticket, &str)> {
        match &self.origin {
            Origin::Internal { ticket, cause } => Some((*ticket, cause)),
            Origin::Request | Origin::Operation => None,
        }
    }

    /// The text with the cause of an internal failure, for the log.
    pub fn in_full(&self) -> String {
        match self.internal_cause() {
            Some((_, cause)) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    pub fn retryable(&self) -> bool {
        self.code.retry() == Retry::Later
    }

    /// Builds the failure that another node has reported. An internal one keeps the text with its
    /// ticket; the cause is in the log of that node.
    #[must_use]
    pub fn of_another_node(
        code: Code,
        message: String,
        status: StatusCode,
        is_in_request: bool,
    ) -> Self {
        Self {
            code,
            message,
            properties: Properties::new(),
            status: Some(status).filter(|status| *status != code.status()),
            origin: if is_in_request {
                Origin::Request
            } else {
                Origin::Operation
            },
            extra: None,
        }
    }

    /// The text without the code.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn properties(&self) -> &[(&'static str, Value)] {
        &self.properties
    }
}

impl fmt::Display for Failure {
    /// `<CODE>: <text>`, as on the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl<E: Coded> From<E> for Failure {
    fn from(error: E) -> Self {
        let code = error.code();
        if code == Code::ServerError {
            return Self::internal(chain(&error));
        }
        // What the database says is for operators, and in the log.
        let text = if code == Code::StorageUnavailable {
            error.to_string()
        } else {
            chain(&error)
        };
        Self {
            properties: error.properties(),
            ..Self::new(code, text)
        }
    }
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message")
}

/// How much of a text of a caller messages repeat, in bytes.
const SHOWN_BYTES: usize = 100;

/// The beginning of a text of a caller, for a message: in a header, a longer one can break the answer.
pub fn shown(text: &str) -> &str {
    text::start(text, SHOWN_BYTES)
}

/// An error's text and that of its causes, outermost first.
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_have_distinct_names() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn a_panic_has_a_text_whatever_its_form() {
        assert_eq!(panic_text(&"plain"), "plain");
        assert_eq!(panic_text(&"made".to_owned()), "made");
        assert_eq!(panic_text(&1), "a panic without a message");
    }

    #[test]
    fn a_message_repeats_only_the_beginning_of_a_type() {
        for (kind, shown) in [("x".repeat(99), 99), ("ä".repeat(20_000), 50)] {
            let failure = Failure::unknown_type(&kind);
            let repeated: String = kind.chars().take(shown).collect();
            let message = failure.message();
            assert!(
                message.starts_with(&format!("`{repeated}` is not")),
                "{message}"
            );
        }
    }

    #[test]
    fn an_internal_failure_hides_its_cause() {
        let failure = Failure::internal("the disk is on fire");
        assert!(!failure.to_string().contains("fire"));
        let ticket = failure.to_string();
        assert_eq!(failure.in_full(), format!("{ticket}: the disk is on fire"));
        assert_eq!(
            failure.internal_cause().map(|(_, cause)| cause),
            Some("the disk is on fire")
        );
    }
}
