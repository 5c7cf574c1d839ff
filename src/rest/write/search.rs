//! Finding entities and counting them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::{Parts, spec};
use super::{Written, begin, optional, read};
use crate::error::{Code, Failure};
use crate::event::payload::{Object, search::Condition, statistics::Aggregation, text_list};

const LIMIT_MAX: i64 = 10_000;

/// How many results of a search that ran on its own are on a page.
const PAGE_SIZE: i64 = 1_000;
const PAGE_SIZE_MAX: i64 = 10_000;
const PAGE_NUMBER_MAX: i64 = 214_748;

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

/// The query of grouped statistics; strict, as the event is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "StatsQuery")]
pub(in crate::rest) struct Query<'a> {
    /// `state`, or paths like `$.region`.
    #[serde(borrow)]
    #[schemars(with = "Vec<String>")]
    group_by: Option<&'a RawValue>,
    /// Which entities count; all, if absent.
    #[serde(borrow)]
    #[schemars(with = "Option<Condition>")]
    condition: Option<&'a RawValue>,
    #[serde(borrow)]
    #[schemars(with = "Option<Vec<Aggregation>>")]
    aggregations: Option<&'a RawValue>,
    #[serde(borrow)]
    #[schemars(with = "Option<String>")]
    point_in_time: Option<&'a RawValue>,
    /// How many groups, the largest first.
    #[serde(borrow)]
    #[schemars(with = "Option<i64>")]
    limit: Option<&'a RawValue>,
}

pub(in crate::rest) fn group(parts: &Parts, id: &str) -> Written {
    let object = begin(id).raw("model", &spec(parts.model()?));
    let query: Query<'_> = parts
        .json_as("query")
        .map_err(|failure| Failure::new(Code::MalformedRequest, failure.message()))?;
    let members = [
        ("groupBy", query.group_by),
        ("condition", query.condition),
        ("aggregations", query.aggregations),
        ("pointInTime", query.point_in_time),
        ("limit", query.limit),
    ];
    let given = members
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name, value.get())));
    Ok(given
        .fold(object, |object, (name, value)| object.raw(name, value))
        .finish())
}

pub(in crate::rest) fn buckets(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        buckets: &'a RawValue,
    }
    let answer: Answer<'_> = read(payload)?;
    Ok(answer.buckets.get().to_owned())
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
        .raw("orderBy", &text_list(parts.query_all("sort")));
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

pub(in crate::rest) fn submit_search(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get())
        .raw("orderBy", &text_list(parts.query_all("sort")));
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

pub(in crate::rest) fn snapshot(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("snapshotId", parts.job()?).finish())
}

pub(in crate::rest) fn snapshot_page(parts: &Parts, id: &str) -> Written {
    let size = parts
        .query_within("pageSize", i64::from(i32::MIN)..=PAGE_SIZE_MAX)?
        .filter(|size| *size > 0)
        .unwrap_or(PAGE_SIZE);
    let number = parts.query_within("pageNumber", 0..=PAGE_NUMBER_MAX)?;
    Ok(begin(id)
        .text("snapshotId", parts.job()?)
        .number("pageSize", size)
        .number("pageNumber", number.unwrap_or(0))
        .finish())
}

/// What events tell of a search that runs on its own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    snapshot_id: String,
    status: String,
    create_time: String,
    entities_count: i64,
    calculation_time_millis: i64,
    expiration_date: String,
    finish_time: Option<String>,
}

impl Job {
    fn read(payload: &str) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            status: Job,
        }
        let answer: Answer = read(payload)?;
        Ok(answer.status)
    }
}

pub(in crate::rest) fn snapshot_id(_: &Parts, payload: &str) -> Written {
    let job = Job::read(payload)?;
    Ok(format!("\"{}\"", job.snapshot_id))
}

pub(in crate::rest) fn snapshot_status(_: &Parts, payload: &str) -> Written {
    let job = Job::read(payload)?;
    let object = Object::new()
        .text("searchJobStatus", &job.status)
        .text("createTime", &job.create_time)
        .number("entitiesCount", job.entities_count)
        .number("calculationTimeMillis", job.calculation_time_millis)
        .text("expirationDate", &job.expiration_date);
    Ok(optional(object, "finishTime", job.finish_time.as_deref()).finish())
}

pub(in crate::rest) fn snapshot_cancelled(_: &Parts, payload: &str) -> Written {
    let job = Job::read(payload)?;
    Ok(Object::new()
        .truth("isCancelled", true)
        .truth("cancelled", true)
        .text("currentSearchJobStatus", &job.status)
        .finish())
}
