//! How the end of a call is answered (`orchestration.md` 1.4, 1.15).

use std::sync::Arc;

use serde_json::value::RawValue;

use super::guest::{End, Fault};
use crate::dialect::Findings;
use crate::entity::{DEPTH_MAX, is_too_deep};
use crate::expr;
use crate::program::Answer;

/// The longest outcome, in bytes (`runs.md` §5.2).
const OUTCOME_MAX: usize = 128;

/// Outcomes that only the engine gives.
const OF_THE_ENGINE: [&str; 3] = ["execution_failure", "target_not_found", "target_disabled"];

/// What there is to read if a module returned no output.
const EMPTY: &str = "{}";

pub(super) fn of(end: End, output_bytes_max: usize) -> Answer {
    match end {
        End::Output(output) => of_output(output, output_bytes_max),
        End::Code(code) => of_code(code),
        End::Fault(Fault { code, message }) => lost(code, message),
    }
}

/// The module cannot be called at all.
pub(super) fn unusable(findings: &Findings) -> Answer {
    let first = findings.listed().first().map(ToString::to_string);
    lost("WASM_MODULE_INVALID", first.unwrap_or_default())
}

fn lost(code: &str, message: impl Into<Box<str>>) -> Answer {
    Answer::Lost {
        code: code.into(),
        message: message.into(),
    }
}

fn of_output(output: Vec<u8>, output_bytes_max: usize) -> Answer {
    if output.is_empty() {
        return success(EMPTY.into());
    }
    if output.len() > output_bytes_max {
        let message = format!("the output is longer than {output_bytes_max} bytes");
        return lost("WASM_OUTPUT_TOO_LARGE", message);
    }
    let Ok(output) = String::from_utf8(output) else {
        return lost("WASM_OUTPUT_INVALID", "the output is not valid UTF-8");
    };
    if let Err(error) = serde_json::from_str::<&RawValue>(&output) {
        let message = format!("the output is not valid JSON: {error}");
        return lost("WASM_OUTPUT_INVALID", message);
    }
    if is_too_deep(&output) {
        let message = format!("the output is nested deeper than {DEPTH_MAX} levels");
        return lost("WASM_OUTPUT_INVALID", message);
    }
    match named(&output) {
        None => success(output.into()),
        Some((outcome, inner)) if is_outcome(&outcome) => Answer::Outcome {
            outcome: outcome.into(),
            output: inner.as_deref().unwrap_or(EMPTY).into(),
        },
        Some(_) => {
            let message = "the outcome must have 1 to 128 bytes, must not begin with \"_\", and \
                           must not be one that only the engine gives";
            lost("WASM_OUTCOME_INVALID", message)
        }
    }
}

fn success(output: Arc<str>) -> Answer {
    Answer::Outcome {
        outcome: "success".into(),
        output,
    }
}

/// The outcome and the output of an object whose only members these are.
fn named(output: &str) -> Option<(String, Option<String>)> {
    let members = expr::members(output)?;
    let is_other = |name: &String| name != "outcome" && name != "output";
    if members.keys().any(is_other) {
        return None;
    }
    let outcome = expr::string(members.get("outcome")?.get())?;
    let inner = members.get("output").map(|value| value.get().to_owned());
    Some((outcome, inner))
}

fn is_outcome(name: &str) -> bool {
    let has_length = (1..=OUTCOME_MAX).contains(&name.len());
    has_length && !name.starts_with('_') && !OF_THE_ENGINE.contains(&name)
}

/// The module returned a negative code.
fn of_code(code: i64) -> Answer {
    let (name, message) = match code {
        -1 => ("INVALID_INPUT", "the module rejected its input".to_owned()),
        -2 => (
            "ALLOCATION_FAILED",
            "the module could not allocate memory".to_owned(),
        ),
        -3 => ("EXECUTION_ERROR", "the module reported an error".to_owned()),
        other => ("EXECUTION_ERROR", format!("the module returned {other}")),
    };
    let message = expr::quoted(&message);
    Answer::Outcome {
        outcome: "failure".into(),
        output: format!(r#"{{"error":{message},"error_code":"{name}"}}"#).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 300;

    fn check(output: &[u8], expected: Result<(&str, &str), &str>) {
        let answer = of(End::Output(output.to_vec()), MAX);
        let text = String::from_utf8_lossy(output);
        match (&answer, expected) {
            (Answer::Outcome { outcome, output }, Ok(expected)) => {
                assert_eq!((&**outcome, &**output), expected, "{text}");
            }
            (Answer::Lost { code, .. }, Err(expected)) => assert_eq!(&**code, expected, "{text}"),
            _ => panic!("{text}: {answer:?}"),
        }
    }

    #[test]
    fn an_output_is_a_success_unless_it_names_an_outcome() {
        for (output, expected) in [
            ("", ("success", "{}")),
            ("null", ("success", "null")),
            (r#"{"a": 1.50}"#, ("success", r#"{"a": 1.50}"#)),
            (r#"{"output":1}"#, ("success", r#"{"output":1}"#)),
            (r#"{"outcome":"fraud"}"#, ("fraud", "{}")),
            (r#"{"outcome":"fraud","output":[1]}"#, ("fraud", "[1]")),
            (
                r#"{"output":null,"outcome":"pending"}"#,
                ("pending", "null"),
            ),
            (
                r#"{"outcome":"fraud","score":1}"#,
                ("success", r#"{"outcome":"fraud","score":1}"#),
            ),
            (r#"{"outcome":7}"#, ("success", r#"{"outcome":7}"#)),
            (r#"["outcome"]"#, ("success", r#"["outcome"]"#)),
        ] {
            check(output.as_bytes(), Ok(expected));
        }
    }

    #[test]
    fn an_output_that_cannot_count_is_no_answer() {
        let long = format!(r#"{{"outcome":"{}"}}"#, "x".repeat(129));
        for (output, code) in [
            (&b"\xff"[..], "WASM_OUTPUT_INVALID"),
            (b"{", "WASM_OUTPUT_INVALID"),
            (b"{} {}", "WASM_OUTPUT_INVALID"),
            (&[b'1'; MAX + 1], "WASM_OUTPUT_TOO_LARGE"),
            (br#"{"outcome":""}"#, "WASM_OUTCOME_INVALID"),
            (br#"{"outcome":"_done"}"#, "WASM_OUTCOME_INVALID"),
            (br#"{"outcome":"target_disabled"}"#, "WASM_OUTCOME_INVALID"),
            (long.as_bytes(), "WASM_OUTCOME_INVALID"),
        ] {
            check(output, Err(code));
        }
    }

    #[test]
    fn a_negative_code_is_a_failure_that_names_it() {
        for (code, name) in [
            (-1, "INVALID_INPUT"),
            (-2, "ALLOCATION_FAILED"),
            (-3, "EXECUTION_ERROR"),
            (i64::MIN, "EXECUTION_ERROR"),
        ] {
            let Answer::Outcome { outcome, output } = of(End::Code(code), MAX) else {
                panic!("{code} is an outcome");
            };
            assert_eq!(&*outcome, "failure");
            let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
            assert_eq!(output["error_code"], name, "{code}");
        }
    }
}
