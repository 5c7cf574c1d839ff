//! The processors of the reports.

use std::cmp::Ordering;

use interlock_client::{Call, ConnectOptions, HandlerResult, Member, Model, reject};
use num_bigint::BigUint;
use serde::Deserialize;
use serde_json::{Number, Value, json};

/// What the workflow asks of members, as `calculationNodesTags`.
const TAG: &str = "earthquakes";

pub(crate) fn reports() -> Model {
    Model::new("earthquake", 1)
}

pub(crate) fn alerts() -> Model {
    Model::new("earthquake-alert", 1)
}

/// The member that serves the workflow.
pub(crate) fn member(options: ConnectOptions) -> Member {
    Member::new(options)
        .tag(TAG)
        .processor("assess", assess)
        .processor("raise-alert", raise_alert)
        .processor("sign-off", sign_off)
}

/// What the processors read of a report. What they return is the whole document.
#[derive(Deserialize)]
struct Report {
    id: String,
    geometry: Geometry,
    properties: Properties,
}

#[derive(Deserialize)]
struct Geometry {
    coordinates: Vec<Number>,
}

#[derive(Deserialize)]
struct Properties {
    mag: Number,
    place: Value,
    tsunami: u8,
    alert: Option<String>,
}

/// Adds what the report does not say itself: how deep, and how much energy.
async fn assess(call: Call) -> HandlerResult<Value> {
    let report: Report = call.document()?;
    let [_, _, depth] = report.geometry.coordinates.as_slice() else {
        return Err(reject("the report has no depth"));
    };
    let mut document: Value = call.document()?;
    document["assessment"] = json!({
        "depthKm": depth,
        "depthClass": depth_class(depth.as_f64().unwrap_or_default()),
        "energyJoules": energy(&report.properties.mag)?,
    });
    Ok(document)
}

/// Makes an alert, which is there only if the report gets to `ALERTED`.
async fn raise_alert(call: Call) -> HandlerResult<Value> {
    let report: Report = call.document()?;
    let alert = json!({
        "reportId": report.id,
        "place": report.properties.place,
        "magnitude": report.properties.mag,
        "reasons": reasons(&report.properties),
        "report": call.entity_id,
    });
    let alert = call.entities().create(alerts(), &alert).await?;
    let mut document: Value = call.document()?;
    document["alertId"] = json!(alert.entity_id);
    Ok(document)
}

/// Marks a report as reviewed by the user who confirmed it. The report then goes through the
/// criteria of `ASSESSED` once more, as a reviewed one.
async fn sign_off(call: Call) -> HandlerResult<Value> {
    let mut document: Value = call.document()?;
    let before = document["properties"]["status"].take();
    document["review"] = json!({"by": call.caller.id, "statusBefore": before});
    document["properties"]["status"] = json!("reviewed");
    Ok(document)
}

/// Names a depth as seismologists do.
fn depth_class(km: f64) -> &'static str {
    if km < 70.0 {
        "shallow"
    } else if km < 300.0 {
        "intermediate"
    } else {
        "deep"
    }
}

/// Estimates the energy that was radiated, in joules (Gutenberg and Richter, 1956): ten to the
/// power of 1.5 times the magnitude plus 4.8, rounded.
fn energy(magnitude: &Number) -> HandlerResult<Value> {
    let hundredths = hundredths(&magnitude.to_string())
        .ok_or_else(|| reject(format!("{magnitude} is not a magnitude")))?;
    // The exponent is a fraction of two hundredths.
    let (Ok(exponent), root) = (u32::try_from(3 * hundredths + 960), 200) else {
        return Err(reject(format!("{magnitude} is no earthquake")));
    };
    let estimate = 10f64.powf(f64::from(exponent) / f64::from(root));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is an estimate"
    )]
    let mut joules = estimate as u64;
    // The estimate may be wrong in its last digits: the half of an odd number is too low as long
    // as its power is below that of the energy.
    let power = BigUint::from(10u8).pow(exponent) << root;
    let compared = |doubled: u64| BigUint::from(doubled).pow(root).cmp(&power);
    while compared(2 * joules + 1) == Ordering::Less {
        joules += 1;
    }
    while joules > 0 && compared(2 * joules - 1) == Ordering::Greater {
        joules -= 1;
    }
    Ok(json!(joules))
}

/// A decimal with at most two digits after the point, in hundredths.
fn hundredths(decimal: &str) -> Option<i64> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let digits = format!("{whole}{fraction:0<2}");
    (fraction.len() <= 2).then(|| digits.parse().ok()).flatten()
}

/// Says why a report is worth an alert, as the criteria of `raise_alert` do.
fn reasons(report: &Properties) -> Vec<String> {
    let mut given = Vec::new();
    if report.tsunami == 1 {
        given.push("tsunami warning".to_owned());
    }
    if let Some(level) = &report.alert {
        given.push(format!("alert level {level}"));
    }
    if report.mag.as_f64() >= Some(5.0) {
        given.push(format!("magnitude {}", report.mag));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_energy_is_that_of_the_python_example() {
        // round(10 ** (Decimal("1.5") * magnitude + Decimal("4.8")))
        for (magnitude, joules) in [
            ("-0.6", 7943_u64),
            ("0", 63_096),
            ("2", 63_095_734),
            ("4.45", 298_538_261_892),
            ("5.2", 3_981_071_705_535),
            ("6.1", 89_125_093_813_375),
            ("6.4", 251_188_643_150_958),
            ("7.9", 44_668_359_215_096_312),
        ] {
            let magnitude: Number = serde_json::from_str(magnitude).expect("a number");
            let found = energy(&magnitude).expect("a magnitude");
            assert_eq!(found, json!(joules), "of {magnitude}");
        }
    }
}
