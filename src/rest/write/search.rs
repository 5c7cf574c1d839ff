//! Finding entities and counting them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::parts::{Parts, spec};
use super::{Written, begin, optional};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::event::payload::{
    AsText, json,
    search::{Condition, SnapshotAnswer, SnapshotStatus},
    statistics::{Aggregation, Buckets},
    text_list,
};
use crate::operation::Success;

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
    group_of(parts, id, parts.model()?)
}

/// The same of a model that is called `states`.
pub(in crate::rest) fn group_of_states(parts: &Parts, id: &str) -> Written {
    group_of(parts, id, parts.model_named("states", "modelVersion")?)
}

fn group_of(parts: &Parts, id: &str, model: (&str, i32)) -> Written {
    let object = begin(id).raw("model", &spec(model));
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

pub(in crate::rest) fn buckets(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Buckets>()?.buckets))
}

pub(in crate::rest) fn search(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, parts.model()?, "FAIL")
}

pub(in crate::rest) fn search_cut_off(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, parts.model()?, "TRUNCATE")
}

/// The same of a model that is called `async`.
pub(in crate::rest) fn search_of_async(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, parts.model_named("async", "jobId")?, "TRUNCATE")
}

fn write_search(parts: &Parts, id: &str, model: (&str, i32), exceeded: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(model))
        .raw("condition", parts.json_within()?);
    // The event checks its bounds, after the condition and the sort keys (`search.md` §4).
    let object = match parts.query_as::<i32>("limit", "a 32-bit integer")? {
        Some(limit) => object.number("limit", limit),
        None => object,
    };
    let object = object
        .text("limitExceeded", exceeded)
        .raw("orderBy", &text_list(parts.query_all("sort")));
    let tracking = parts.query_truth("trackingRead")?.unwrap_or(false);
    // `true` is an operation of its own.
    parts.query_truth("explain")?;
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
        .raw("condition", parts.json_within()?)
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

/// How a search job stands.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Job")]
pub(in crate::rest) struct JobStatus {
    #[schemars(extend("enum" = ["RUNNING", "SUCCESSFUL", "FAILED", "CANCELLED"]))]
    #[serde(rename = "searchJobStatus")]
    status: Cow<'static, str>,
    create_time: AsText<Timestamp>,
    /// How many entities were found; 0 until all are.
    entities_count: i64,
    calculation_time_millis: u64,
    /// Until when its result is kept; an estimate, while it runs.
    expiration_date: AsText<Timestamp>,
    /// When it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_time: Option<AsText<Timestamp>>,
}

fn job(answer: Success) -> Result<SnapshotStatus, Failure> {
    let (snapshot, _) = answer.take_outcome::<SnapshotAnswer>()?;
    Ok(snapshot.status)
}

pub(in crate::rest) fn snapshot_id(_: &Parts, answer: Success) -> Written {
    Ok(json(&job(answer)?.snapshot_id))
}

pub(in crate::rest) fn snapshot_status(_: &Parts, answer: Success) -> Written {
    let job = job(answer)?;
    let known = job.known;
    let known = known.ok_or_else(|| Failure::internal("the status of a search is incomplete"))?;
    Ok(json(&JobStatus {
        status: job.status,
        create_time: known.create_time,
        entities_count: known.entities_count,
        calculation_time_millis: known.calculation_time_millis,
        expiration_date: known.expiration_date,
        finish_time: job.finish_time,
    }))
}

/// A search job that was cancelled.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "End")]
pub(in crate::rest) struct JobCancelled {
    is_cancelled: bool,
    cancelled: bool,
    current_search_job_status: Cow<'static, str>,
}

pub(in crate::rest) fn snapshot_cancelled(_: &Parts, answer: Success) -> Written {
    Ok(json(&JobCancelled {
        is_cancelled: true,
        cancelled: true,
        current_search_job_status: job(answer)?.status,
    }))
}
