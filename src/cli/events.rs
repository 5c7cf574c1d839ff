//! `interlock events`: the table of operations.

use super::Format;
use crate::auth::Permission;
use crate::event::payload::{Object, list};
use crate::operation::{Access, Answers, Family, ROUTES, Route};

/// The method of the service that takes an operation.
const fn method(route: &Route) -> &'static str {
    match (route.family, route.answers) {
        (Family::Model, _) => "entityModelManage",
        (Family::Entity, _) => "entityManage",
        (Family::Search, Answers::One) => "entitySearch",
        (Family::Search, Answers::Many | Answers::Live) => "entitySearchCollection",
    }
}

const fn answers(route: &Route) -> &'static str {
    match route.answers {
        Answers::One => "one",
        Answers::Many => "many",
        Answers::Live => "live",
    }
}

const fn access(route: &Route) -> &'static str {
    match route.access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

const fn role(route: &Route) -> &'static str {
    match route.needs {
        Permission::Anyone => "",
        Permission::Role(role) => role,
    }
}

pub(super) fn print(format: Format) {
    match format {
        Format::Table => table(),
        Format::Json => println!("{}", list(ROUTES.iter().map(json))),
    }
}

fn json(route: &Route) -> String {
    Object::new()
        .text("request", route.request.as_str())
        .text("response", route.response.as_str())
        .text("method", method(route))
        .text("answers", answers(route))
        .text("access", access(route))
        .text("role", role(route))
        .finish()
}

fn table() {
    println!(
        "{:<33} {:<33} {:<23} {:<8} {:<6} ROLE",
        "REQUEST", "RESPONSE", "METHOD", "ANSWERS", "ACCESS"
    );
    for route in ROUTES {
        println!(
            "{:<33} {:<33} {:<23} {:<8} {:<6} {}",
            route.request.as_str(),
            route.response.as_str(),
            method(route),
            answers(route),
            access(route),
            role(route)
        );
    }
    println!("\nEvery request may also be sent on startStreaming, and to POST /api/events.");
}
