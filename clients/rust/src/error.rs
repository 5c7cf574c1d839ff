//! Failures of requests.

use std::{collections::BTreeMap, error::Error as StdError, fmt};

use serde::Deserialize;
use tonic::Status;

use crate::Json;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Makes the enumeration of codes.
macro_rules! codes {
    ($($(#[$docs:meta])* $variant:ident = $text:literal, $status:literal, $retryable:literal, $meaning:literal;)*) => {
        /// What went wrong with a request.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$docs])* $variant,)*
            /// A code that this version does not know.
            Other(String),
        }

        impl Code {
            /// As on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }

            /// What the code means and what to do; nothing for an unknown code.
            pub fn meaning(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($meaning),)*
                    Self::Other(_) => None,
                }
            }

            /// The HTTP status that belongs to the code; nothing for codes of this client.
            pub fn status(&self) -> Option<u16> {
                match self {
                    $(Self::$variant => Some($status),)*
                    Self::Other(_) => None,
                }
                .filter(|status| *status != 0)
            }

            /// Whether requests that failed with this code may succeed later.
            pub fn is_retryable(&self) -> bool {
                match self {
                    $(Self::$variant => $retryable,)*
                    Self::Other(_) => false,
                }
            }
        }

        impl From<&str> for Code {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text.to_owned()),
                }
            }
        }
    };
}
pub(crate) use codes;

pub use crate::generated::codes::Code;

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Codes with the same remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What the request names does not exist, or belongs to another tenant.
    NotFound,
    /// Another transaction committed first. Read again, then write again.
    Conflict,
    /// The request itself is wrong. Correct it.
    InvalidRequest,
    /// The model is not in the state that the request needs.
    ModelState,
    /// A criterion, a processor or a limit rejected the transition, which was not made.
    WorkflowFailed,
    /// No member executed a call, so the transition was not made. Retry.
    ComputeUnavailable,
    /// The server refuses this caller.
    Access,
    /// The request was cancelled before it was done.
    Cancelled,
    /// There is too much of something; the property `retryAfterMs` says how long to wait.
    Limit,
    /// There is no connection, it ended before the answer, or the client was closed.
    ConnectionLost,
    /// Anything else; see the code.
    Other,
}

/// A failed request.
///
/// ```
/// # use interlock_client::{Code, Error, ErrorKind};
/// # fn handle(error: Error) {
/// match error.kind() {
///     ErrorKind::Conflict => { /* read again, then write again */ }
///     _ if *error.code() == Code::TransitionNotFound => { /* one code */ }
///     _ => println!("{error}; {}", error.remedy().unwrap_or_default()),
/// }
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {}", self.0.code, self.0.message)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: Code,
    message: String,
    retryable: bool,
    properties: BTreeMap<String, Json>,
    warnings: Vec<String>,
}

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Inner {
            code,
            message,
            retryable: false,
            properties: BTreeMap::new(),
            warnings: Vec::new(),
        }))
    }

    pub(crate) fn caused(code: Code, message: impl Into<String>, source: impl StdError) -> Self {
        Self::new(code, format!("{}: {}", message.into(), chain(&source)))
    }

    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self::new(Code::ConnectionLost, message)
    }

    pub(crate) fn closed() -> Self {
        Self::new(Code::ClientClosed, "the client was closed")
    }

    pub(crate) fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// What the end of an accepted call means for what was asked on it. That the server has revoked
    /// the token of the call says nothing about the next call, for which there may be another.
    pub(crate) fn or_lost(self) -> Self {
        if *self.code() != Code::Unauthorized {
            return self;
        }
        Self::lost(self.message())
    }

    /// The failure of a request that was certainly not sent.
    pub(crate) fn unsent(self) -> Self {
        if !self.is_lost() {
            return self;
        }
        Self::lost(format!("{}; the request was not sent", self.message())).retryable()
    }

    pub(crate) fn is_lost(&self) -> bool {
        *self.code() == Code::ConnectionLost
    }

    /// What went wrong.
    pub fn code(&self) -> &Code {
        &self.0.code
    }

    /// The same in words, without the code.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Details for programs, as documented for the code.
    pub fn properties(&self) -> &BTreeMap<String, Json> {
        &self.0.properties
    }

    /// Warnings of the server and of compute members before the failure.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// What the code means and what to do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        self.code().meaning()
    }

    /// The class of the code.
    pub fn kind(&self) -> ErrorKind {
        match self.code() {
            Code::Conflict | Code::EntityModified => ErrorKind::Conflict,
            Code::ClientClosed | Code::ConnectionLost => ErrorKind::ConnectionLost,
            Code::Forbidden | Code::Unauthorized => ErrorKind::Access,
            Code::ModelAlreadyLocked
            | Code::ModelAlreadyUnlocked
            | Code::ModelHasEntities
            | Code::ModelNotLocked => ErrorKind::ModelState,
            Code::WorkflowFailed => ErrorKind::WorkflowFailed,
            Code::ComputeMemberDisconnected
            | Code::DispatchForwardFailed
            | Code::DispatchTimeout
            | Code::NoComputeMemberForTag => ErrorKind::ComputeUnavailable,
            Code::Cancelled => ErrorKind::Cancelled,
            Code::TenantLimitExceeded | Code::TooManyRequests => ErrorKind::Limit,
            Code::MessageTooLarge => ErrorKind::InvalidRequest,
            // Its status is that of what does not exist.
            Code::FeatureDisabled => ErrorKind::Other,
            code => match code.status() {
                Some(400 | 413 | 415 | 422 | 428) => ErrorKind::InvalidRequest,
                // Codes of newer servers, too.
                _ if code.as_str().ends_with("NOT_FOUND") => ErrorKind::NotFound,
                _ => ErrorKind::Other,
            },
        }
    }

    /// What the end of a gRPC call means.
    pub(crate) fn of_status(status: &Status) -> Self {
        let code = match status.code() {
            tonic::Code::Unauthenticated => Code::Unauthorized,
            tonic::Code::PermissionDenied => Code::Forbidden,
            tonic::Code::InvalidArgument => Code::BadRequest,
            tonic::Code::Unimplemented => Code::NotImplemented,
            code => {
                let cause = status.source().map(chain).unwrap_or_default();
                let message = [status.message(), &cause].join(" ");
                return Self::lost(format!("{code:?}: {}", message.trim()));
            }
        };
        Self::new(code, status.message())
    }

    /// What it means that a streamed answer has failed on the way. Then the status has the failure as
    /// its text; its code is the first word, as in any failure.
    pub(crate) fn of_answer(status: &Status) -> Self {
        let (first, rest) = status.message().split_once(':').unwrap_or_default();
        let code = Code::from(first);
        if code.status().is_none() {
            return Self::of_status(status);
        }
        let is_retryable = code.is_retryable();
        let failure = Self::new(code, rest.trim());
        if is_retryable {
            failure.retryable()
        } else {
            failure
        }
    }

    /// The failure that an answer reports, if it reports one.
    pub(crate) fn in_answer(answer: &str) -> Result<()> {
        let read: Outcome = serde_json::from_str(answer)
            .map_err(|source| Self::caused(Code::InvalidJson, "cannot read an answer", source))?;
        if read.success != Some(false) {
            return Ok(());
        }
        let mut failure = Self::new(Code::ServerError, "the server gave no reason");
        failure.0.warnings = read.warnings.unwrap_or_default();
        if let Some(reason) = read.error {
            failure.0.code = Code::from(reason.code.as_deref().unwrap_or("SERVER_ERROR"));
            failure.0.message.clone_from(&reason.message);
            if let Some((code, message)) = reason.message.split_once(':')
                && is_code(code)
            {
                failure.0.code = Code::from(code);
                message.trim().clone_into(&mut failure.0.message);
            }
            failure.0.retryable = reason.retryable.unwrap_or_default();
            failure.0.properties = reason.properties.unwrap_or_default();
        }
        Err(failure)
    }
}

/// What all answers have.
#[derive(Deserialize)]
struct Outcome {
    success: Option<bool>,
    error: Option<Reason>,
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Reason {
    code: Option<String>,
    #[serde(default)]
    message: String,
    retryable: Option<bool>,
    properties: Option<BTreeMap<String, Json>>,
}

fn is_code(text: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit();
    !text.is_empty() && text.chars().all(is_part)
}

/// An error and what caused it, in one text.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(name: &str) -> Value {
        let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("readable");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn an_answer_that_fails_on_the_way_keeps_its_code() {
        for (text, code, is_retryable) in [
            ("SEARCH_TIMEOUT: it took too long", "SEARCH_TIMEOUT", true),
            ("STORAGE_UNAVAILABLE: retry", "STORAGE_UNAVAILABLE", true),
            ("connection error: reset", "CONNECTION_LOST", false),
            ("", "CONNECTION_LOST", false),
        ] {
            let failure = Error::of_answer(&Status::unavailable(text));
            assert_eq!(failure.code().as_str(), code, "{text}");
            assert_eq!(failure.is_retryable(), is_retryable, "{text}");
        }
    }

    #[test]
    fn classes_and_remedies_are_those_of_all_clients() {
        let (shared, index) = (read("errors.json"), read("schema/index.json"));
        let class = |code: &str| {
            let classes = shared["classes"].as_object().expect("classes");
            let mut found = classes.iter().filter(|(_, codes)| {
                let codes = codes.as_array().expect("codes");
                codes.iter().any(|one| one == code)
            });
            found.next().map_or("Other", |(name, _)| name)
        };
        let servers = index["errors"].as_array().expect("codes").iter();
        let servers = servers.map(|one| (one["code"].as_str(), one["meaning"].as_str()));
        let own = shared["clientCodes"].as_object().expect("codes").iter();
        let own = own.map(|(code, remedy)| (Some(code.as_str()), remedy.as_str()));
        for (code, remedy) in servers.chain(own) {
            let code = code.expect("a code");
            let error = Error::new(Code::from(code), "");
            assert_eq!(format!("{:?}", error.kind()), class(code), "{code}");
            let is_known = !matches!(error.code(), Code::Other(_));
            assert!(!is_known || error.remedy() == remedy, "{code}");
        }
        let newer = Error::new(Code::from("SHELF_NOT_FOUND"), "");
        assert_eq!(newer.kind(), ErrorKind::NotFound);
    }
}
