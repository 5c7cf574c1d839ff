//! Files. The body of one is its content, and its version the `ETag`.

use super::super::parts::Parts;
use super::{Written, bad, begin, begin_with, in_namespace, listed, optional};
use crate::error::Failure;
use crate::event::payload::{
    answer::json,
    files::{File, Written as Put},
};
use crate::operation::Success;

/// The path that the request names.
fn path(parts: &Parts) -> String {
    format!("/{}", parts.path("path"))
}

pub(in crate::rest) fn put(parts: &Parts, id: &str) -> Written {
    let content = parts.json_within()?;
    let object = begin_with(id, content).text("path", &path(parts));
    let object = in_namespace(parts, object).raw("content", content);
    Ok(optional(object, "ifMatch", expected(parts)?.as_deref()).finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(in_namespace(parts, begin(id).text("path", &path(parts))).finish())
}

pub(in crate::rest) fn delete(parts: &Parts, id: &str) -> Written {
    let object = in_namespace(parts, begin(id).text("path", &path(parts)));
    Ok(optional(object, "ifMatch", expected(parts)?.as_deref()).finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["prefix", "cursor", "namespace"])
}

/// What the headers expect to be there.
fn expected(parts: &Parts) -> Result<Option<String>, Failure> {
    let version = parts.single_header("If-Match")?;
    match (version, parts.single_header("If-None-Match")?) {
        (None, None) => Ok(None),
        (Some(version), None) => match version.trim() {
            "*" => Ok(Some("*".to_owned())),
            version => {
                let version = version.strip_prefix("W/").unwrap_or(version);
                let version = version.trim_matches('"');
                // An empty text says that there must be no file.
                if version.is_empty() {
                    return Err(bad("If-Match is empty; give the ETag of the version, or *"));
                }
                Ok(Some(version.to_owned()))
            }
        },
        (None, Some("*")) => Ok(Some(String::new())),
        (None, Some(_)) => Err(bad(
            "If-None-Match can only be *, for a file that must not be there",
        )),
        (Some(_), Some(_)) => Err(bad("use either If-Match or If-None-Match, not both")),
    }
}

fn tag(version: impl std::fmt::Display) -> String {
    format!("\"{version}\"")
}

pub(in crate::rest) fn written(_: &Parts, answer: Success) -> Result<(String, String), Failure> {
    let written = answer.take_outcome::<Put>()?.0;
    Ok((tag(&written.version), json(&written)))
}

pub(in crate::rest) fn content(_: &Parts, answer: Success) -> Result<(String, String), Failure> {
    let file: File = answer.take()?;
    Ok((tag(&file.version), file.content.as_str().to_owned()))
}
