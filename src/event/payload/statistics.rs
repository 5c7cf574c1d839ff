//! Payloads of grouped statistics (`search.md` §8).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ModelSpec, Object, RequiredText, list, search::Condition, success};

/// Strict: what it does not know was meant to say something.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub group_by: Option<Vec<String>>,
    #[serde(borrow, default)]
    #[schemars(with = "Option<Condition>")]
    pub condition: Option<&'a RawValue>,
    #[serde(default)]
    pub aggregations: Option<Vec<Aggregation>>,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// `sum`, `avg`, `min`, `max` or `stdev`.
    #[serde(default)]
    pub op: Option<String>,
    /// The path of a number.
    #[serde(default)]
    pub field: Option<String>,
    /// Its name; by default the operation and the path.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
}

/// One group.
#[derive(Debug)]
pub struct Bucket<'a> {
    /// What it is grouped by, and the value of it.
    pub key: Vec<(&'a str, Option<&'a str>)>,
    pub count: u64,
    /// None if none were asked for.
    pub aggregations: Option<Vec<(&'a str, Option<f64>)>>,
}

pub fn buckets<'a>(request: &str, buckets: impl Iterator<Item = Bucket<'a>>) -> String {
    success(request, &[])
        .text("requestId", request)
        .raw("buckets", &list(buckets.map(|bucket| one(&bucket))))
        .finish()
}

fn one(bucket: &Bucket<'_>) -> String {
    let key = bucket.key.iter().map(|(path, value)| {
        let object = Object::new().text("path", path);
        match value {
            Some(value) => object.text("value", value),
            None => object.raw("value", "null"),
        }
        .finish()
    });
    let object = Object::new()
        .raw("groupKey", &list(key))
        .number("count", i64::try_from(bucket.count).unwrap_or(i64::MAX));
    let Some(aggregations) = &bucket.aggregations else {
        return object.finish();
    };
    // Names are the caller's own, so they are written as any other text.
    let members = aggregations.iter().map(|(name, number)| {
        let name = serde_json::Value::from(*name);
        format!("{name}:{}", number.map_or_else(|| "null".to_owned(), float))
    });
    let members: Vec<_> = members.collect();
    object
        .raw("aggregations", &format!("{{{}}}", members.join(",")))
        .finish()
}

/// A number in as few digits as tell it from its neighbours, and whole ones without a fraction.
fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_json() {
        for (number, text) in [
            (40.0, "40"),
            (-0.5, "-0.5"),
            (10.0 / 3.0, "3.3333333333333335"),
            (1e21, "1e21"),
            (1.5e-9, "1.5e-9"),
            (0.0, "0"),
            (9_007_199_254_740_993.0, "9007199254740992"),
        ] {
            assert_eq!(float(number), text);
            let read: f64 = serde_json::from_str(text).expect("JSON");
            assert_eq!(read.to_bits(), number.to_bits(), "{text}");
        }
    }
}
