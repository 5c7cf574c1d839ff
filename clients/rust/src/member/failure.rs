//! Failures of handlers.

use std::{error::Error as StdError, fmt};

use crate::{Error, error::chain};

/// The code of what is not begun any more.
pub(super) const MEMBER_STOPPING: &str = "MEMBER_STOPPING";

/// What a handler returns.
pub type HandlerResult<T> = Result<T, Failure>;

/// Why a handler failed.
///
/// Every error becomes one with `?`, and fails the call with its text. [`reject`] and [`retry`]
/// make those that a handler chooses.
pub struct Failure {
    message: String,
    pub(crate) code: Option<String>,
    pub(crate) is_retryable: bool,
    is_chosen: bool,
    is_stopping: bool,
}

/// Rejects a call: the transition fails, and the text is returned to the caller of the server. A
/// criterion that merely does not hold returns a [`Verdict`](crate::Verdict) instead.
pub fn reject(reason: impl Into<String>) -> Failure {
    Failure {
        message: reason.into(),
        code: None,
        is_retryable: false,
        is_chosen: true,
        is_stopping: false,
    }
}

/// Fails a call that may succeed if it is tried again. The server does so, at another member if
/// there is one, if the workflow says `"retryPolicy": "FIXED"`; an action as often as it was
/// registered with.
pub fn retry(reason: impl Into<String>) -> Failure {
    Failure {
        is_retryable: true,
        ..reject(reason)
    }
}

impl Failure {
    /// Names the failure of an action for its plan, which says what is fatal and what is
    /// retryable.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the server may try again.
    pub fn is_retryable(&self) -> bool {
        self.is_retryable
    }

    /// Whether a handler has chosen it, with [`reject`] or [`retry`].
    pub fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    pub(crate) fn panicked(message: &str) -> Self {
        Self {
            message: format!("panic: {message}"),
            code: None,
            is_retryable: false,
            is_chosen: false,
            is_stopping: false,
        }
    }

    /// Answers what is not begun any more, so that the server need not wait for the end of the
    /// stream to try another member.
    pub(super) fn stopping() -> Self {
        Self {
            is_stopping: true,
            ..retry("the member is stopping").code(MEMBER_STOPPING)
        }
    }

    /// Answers a call of a saga that the server has cancelled.
    pub(super) fn cancelled() -> Self {
        reject("the call was cancelled; it may have been done").code("CANCELLED")
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping
    }
}

impl<E> From<E> for Failure
where
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    fn from(error: E) -> Self {
        let error: Box<dyn StdError + Send + Sync> = error.into();
        let mut one: Option<&(dyn StdError + 'static)> = Some(error.as_ref());
        let mut request = None;
        while let Some(cause) = one {
            request = request.or_else(|| cause.downcast_ref::<Error>());
            one = cause.source();
        }
        Self {
            message: chain(error.as_ref()),
            code: request.map(|failed| failed.code().to_string()),
            is_retryable: request.is_some_and(Error::is_retryable),
            is_chosen: false,
            is_stopping: false,
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
