//! Lines for the runner.

use std::{
    io::{Write as _, stdout},
    sync::mpsc,
    thread,
};

use interlock_client::{Error, Json};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Failed;

/// Writes lines in the order in which they are said.
pub(crate) struct Output(mpsc::Sender<Json>);

impl Output {
    pub(crate) fn to_stdout() -> Self {
        let (lines, waiting) = mpsc::channel::<Json>();
        thread::spawn(move || {
            let mut out = stdout().lock();
            for line in waiting {
                if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        });
        Self(lines)
    }

    pub(crate) fn say(&self, line: &impl Serialize) {
        match Json::encode(line) {
            // Nobody reads it when the program ends.
            Ok(line) => drop(self.0.send(line)),
            Err(error) => tracing::error!(%error, "cannot write a line"),
        }
    }
}

/// A failure as the runner expects it.
pub(crate) fn failure(failed: &Failed) -> Value {
    match failed.downcast_ref::<Error>() {
        Some(error) => json!({
            "code": error.code().as_str(),
            "message": error.message(),
            "retryable": error.is_retryable(),
        }),
        None if failed.is::<tokio::time::error::Elapsed>() => {
            // The caller has given up; that cancels the request.
            json!({"code": "CANCELLED", "message": failed.to_string(), "retryable": false})
        }
        None => {
            let message = failed.to_string();
            let is_unknown = message.starts_with("unknown command");
            let code = if is_unknown {
                "UNSUPPORTED"
            } else {
                "EXCEPTION"
            };
            json!({"code": code, "message": message, "retryable": false})
        }
    }
}
