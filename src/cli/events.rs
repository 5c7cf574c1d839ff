//! `interlock events`: the table of operations.

use std::process::ExitCode;

use serde::Serialize;

use super::{WRONG_ARGUMENTS, remote::Format};
use crate::app;
use crate::event::payload;
use crate::operation::{ROUTES, Route};

pub(super) fn print(format: Format) {
    match format {
        Format::Text => table(),
        Format::Json => show!("{}", json()),
    }
}

/// An operation, as programs read it.
#[derive(Serialize)]
struct Row {
    request: &'static str,
    response: &'static str,
    method: &'static str,
    answers: &'static str,
    access: &'static str,
    role: &'static str,
}

impl From<&Route> for Row {
    fn from(route: &Route) -> Self {
        Self {
            request: route.request.as_str(),
            response: route.response.as_str(),
            method: route.method(),
            answers: route.answers_text(),
            access: route.access_text(),
            role: route.role(),
        }
    }
}

fn json() -> String {
    let rows: Vec<Row> = ROUTES.iter().map(Into::into).collect();
    payload::json(&rows)
}

/// Prints the schema of an event type.
pub(super) fn print_schema(kind: &str) -> ExitCode {
    let Some(schema) = app::event_schema(kind) else {
        eprintln!("interlock: `{kind}` is not an event type; `interlock events` lists all types");
        return ExitCode::from(WRONG_ARGUMENTS);
    };
    show!("{schema:#}");
    ExitCode::SUCCESS
}

fn table() {
    show!(
        "{:<33} {:<33} {:<23} {:<8} {:<6} ROLE",
        "REQUEST",
        "RESPONSE",
        "METHOD",
        "ANSWERS",
        "ACCESS"
    );
    for route in ROUTES {
        show!(
            "{:<33} {:<33} {:<23} {:<8} {:<6} {}",
            route.request.as_str(),
            route.response.as_str(),
            route.method(),
            route.answers_text(),
            route.access_text(),
            route.role()
        );
    }
    show!("\nEvery request may also be sent on startStreaming, and to POST /api/events.");
}
