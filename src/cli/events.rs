//! `interlock events`: the table of operations.

use super::Format;
use crate::auth::Permission;
use crate::event::payload::{Object, list};
use crate::operation::{Access, Answers, ROUTES, Route};

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
        .text("method", route.method())
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
            route.method(),
            answers(route),
            access(route),
            role(route)
        );
    }
    println!("\nEvery request may also be sent on startStreaming, and to POST /api/events.");
}
