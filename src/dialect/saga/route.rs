//! `from { connector = …  operation = "POST /orders/:id" }`: which requests start something.

use super::{
    call::Kinds,
    fields::{Fields, Report},
    model::Route,
    syntax::Block,
};
use crate::expr;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

pub(super) fn route(block: &Block, kinds: &Kinds<'_>, report: &mut Report) -> Option<Route> {
    let mut fields = Fields::of(block);
    let connector = fields.required("connector", report);
    let operation = fields.required("operation", report);
    let filter = fields.text("filter", report);
    fields.finish(report);
    if let Some((filter, place)) = filter
        && let Err(error) = expr::check_condition(filter)
    {
        report.cel(place, filter, &error);
    }
    let (connector, place) = connector?;
    let connector = connector.strip_prefix("connector.").unwrap_or(connector);
    match kinds.get(connector) {
        Some(&"rest") => {}
        None => {
            let message = format!(
                "the connector {connector} is not declared; it is taken as connector \"{connector}\" \
                 {{ type = \"rest\" }}"
            );
            report.warning("S303", place, message);
        }
        Some(kind) => {
            let message = format!(
                "{connector} is a connector of the type {kind}, which receives no requests; name one \
                 of the type rest"
            );
            report.error("S103", place, message);
        }
    }
    let (operation, place) = operation?;
    match method_and_path(operation) {
        Ok((method, path)) => Some(Route {
            method: method.to_owned(),
            path: path.to_owned(),
            filter: filter.map(|(filter, _)| filter.to_owned()),
            place: block.place,
        }),
        Err(why) => {
            report.error(
                "S103",
                place,
                format!("\"{operation}\" is not a route: {why}"),
            );
            None
        }
    }
}

fn method_and_path(operation: &str) -> Result<(&str, &str), String> {
    let (method, path) = operation
        .split_once(' ')
        .ok_or("write a method and a path, such as \"POST /orders/:id\"")?;
    if !METHODS.contains(&method) {
        return Err(format!("the method is one of {}", METHODS.join(", ")));
    }
    let segments = path.strip_prefix('/').ok_or("the path begins with /")?;
    let mut names: Vec<&str> = Vec::new();
    for segment in segments.split('/') {
        if let Some(name) = segment.strip_prefix(':') {
            let fits = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !fits {
                return Err(format!("\":{name}\" is not a name: letters, digits and _"));
            }
            if names.contains(&name) {
                return Err(format!("\":{name}\" is there twice"));
            }
            names.push(name);
            continue;
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if segment.is_empty() || !segment.bytes().all(is_plain) || [".", ".."].contains(&segment) {
            return Err("segments are letters, digits, -, ., _ and ~, or :name".to_owned());
        }
    }
    if path.len() > 1_024 || segments.split('/').count() > 32 {
        return Err("it is too long".to_owned());
    }
    Ok((method, path))
}

/// Whether a request may match both of two routes. A segment that begins with `:` or `{` stands
/// for any.
pub fn overlap(method: &str, path: &str, other_method: &str, other: &str) -> bool {
    let is_any = |segment: &str| segment.starts_with([':', '{', '*']);
    let (mut one, mut two) = (path.split('/'), other.split('/'));
    if method != other_method {
        return false;
    }
    loop {
        match (one.next(), two.next()) {
            (None, None) => return true,
            (Some(_), Some(rest)) | (Some(rest), Some(_)) if rest.starts_with("{*") => return true,
            (Some(a), Some(b)) if a == b || is_any(a) || is_any(b) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_a_method_and_a_path() {
        for operation in ["POST /orders", "GET /a/:id/b.c", "DELETE /x-y/~z/:_a1"] {
            assert!(method_and_path(operation).is_ok(), "{operation}");
        }
        for operation in [
            "",
            "POST",
            "/orders",
            "POST orders",
            "post /a",
            "TRACE /a",
            "POST /",
            "POST //a",
            "POST /a/",
            "POST /a b",
            "POST /:a/:a",
            "POST /:1",
            "POST /:",
            "POST /a/../b",
            "POST /a?x=1",
            "POST /{id}",
            "POST /\u{e9}",
            "POST  /a",
        ] {
            assert!(method_and_path(operation).is_err(), "{operation}");
        }
    }

    #[test]
    fn routes_overlap_if_a_request_matches_both() {
        for (a, b, both) in [
            ("/orders", "/orders", true),
            ("/orders", "/order", false),
            ("/orders/:id", "/orders/:key", true),
            ("/orders/:id", "/orders/new", true),
            ("/orders/:id", "/orders", false),
            ("/a/:x/c", "/a/b/:y", true),
            ("/workflows/:x", "/workflows/{id}", true),
            ("/help/a/b", "/help/{*topic}", true),
        ] {
            assert_eq!(overlap("POST", a, "POST", b), both, "{a} {b}");
            assert!(!overlap("POST", a, "GET", b));
        }
    }
}
