//! Finding entities and counting them.

use serde::Deserialize;

use super::super::parts::{Parts, spec};
use super::{Written, begin, optional, read};
use crate::error::{Code, Failure};
use crate::event::payload::{Object, list as json_list, text_list};

const LIMIT_MAX: i64 = 10_000;

pub(in crate::rest) fn stats(parts: &Parts, id: &str) -> Written {
    parts.instant("pointInTime")?;
    Ok(begin(id)
        .raw("states", &text_list(parts.query_all("states")))
        .finish())
}

pub(in crate::rest) fn stats_of_model(parts: &Parts, id: &str) -> Written {
    parts.instant("pointInTime")?;
    let object = begin(id).raw("model", &spec(parts.model()?));
    Ok(object
        .raw("states", &text_list(parts.query_all("states")))
        .finish())
}
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    model_name: String,
    model_version: i32,
    #[serde(default)]
    state: String,
    count: i64,
}

pub(in crate::rest) fn count(_: &Parts, payload: &str) -> Written {
    let answer: Counted = read(payload)?;
    let object = Object::new()
        .text("modelName", &answer.model_name)
        .number("modelVersion", answer.model_version);
    Ok(object.number("count", answer.count).finish())
}

pub(in crate::rest) fn count_in_state(_: &Parts, payload: &str) -> Written {
    let answer: Counted = read(payload)?;
    let object = Object::new()
        .text("modelName", &answer.model_name)
        .number("modelVersion", answer.model_version);
    Ok(object
        .text("state", &answer.state)
        .number("count", answer.count)
        .finish())
}

pub(in crate::rest) fn search(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, "FAIL")
}

pub(in crate::rest) fn search_cut_off(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, "TRUNCATE")
}

fn write_search(parts: &Parts, id: &str, exceeded: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get());
    let object = match parts.query_within("limit", 1..=LIMIT_MAX)? {
        Some(limit) => object.number("limit", limit),
        None => object,
    };
    let object = object
        .text("limitExceeded", exceeded)
        .raw("orderBy", &order(parts)?);
    let tracking = parts
        .query_as::<bool>("trackingRead", "true or false")?
        .unwrap_or(false);
    Ok(optional(
        object.truth("trackingRead", tracking),
        "pointInTime",
        parts.instant("pointInTime")?,
    )
    .finish())
}

/// `[@]path[:asc|:desc]`, as a list of keys (`search.md` §7).
fn order(parts: &Parts) -> Written {
    let keys = parts.query_all("sort").map(|key| {
        let (path, descending) = match key.rsplit_once(':') {
            Some((path, "asc")) => (path, false),
            Some((path, "desc")) => (path, true),
            Some((_, other)) => {
                return Err(Failure::new(
                    Code::InvalidFieldPath,
                    format!("sort: `{other}` is neither asc nor desc"),
                ));
            }
            None => (key, false),
        };
        let (source, path) = path
            .strip_prefix('@')
            .map_or(("data", path), |name| ("meta", name));
        Ok(Object::new()
            .text("path", path)
            .text("source", source)
            .truth("desc", descending)
            .finish())
    });
    Ok(json_list(keys.collect::<Result<Vec<_>, Failure>>()?))
}

pub(in crate::rest) fn submit_search(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get())
        .raw("orderBy", &order(parts)?);
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn snapshot(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("snapshotId", parts.path("jobId")).finish())
}

/// Snapshot searches answer nothing yet but a failure, which has no body of its own.
#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn snapshot_id(_: &Parts, payload: &str) -> Written {
    Ok(payload.to_owned())
}

pub(in crate::rest) use snapshot_id as snapshot_status;
