//! Inputs, outputs and search attributes (1.9, 1.13).
#![cfg(test)]

use super::checks::{check, step};
use super::driven::{Do, Driven, flow};
use crate::program::*;

#[test]
fn inputs_are_mapped_and_without_a_mapping_are_that_of_the_run() {
    let wide = format!("{{\"wide\":\"{}\",\"n\":1.10}}", "x".repeat(5_000));
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: next}}",
        "steps: {next: {run: \"@actions/b\", input: {n: $.input.n, id: $.steps.start.output.id, was: $.steps._start.outcome, run: $.flo.run_id, at: $.flo.timestamp, none: $.steps.later.output.x}, transitions: {success: flo.Completed}}}",
    );
    let mut driven = Driven::new(&document, &wide);
    driven.play(&[]);
    assert_eq!(driven.task().input, Payload::At(1));
    assert_eq!(driven.text(&driven.task().input.clone()), wide);
    let output = format!("{{\"wide\":\"{}\",\"id\":\"i\"}}", "y".repeat(5_000));
    driven
        .arrive(Arrival::Answered {
            ordinal: 1,
            answer: Answer::Outcome {
                outcome: "success".into(),
                output: output.into(),
            },
        })
        .expect("taken");
    assert_eq!(
        driven.text(&driven.task().input.clone()),
        format!(
            "{{\"n\":1.10,\"id\":\"i\",\"was\":\"success\",\"run\":\"wfrun-1\",\"at\":{},\"none\":null}}",
            driven.now.millis()
        )
    );
    // Neither the input nor the outputs are in the state.
    assert!(serde_json::to_string(&driven.run).expect("JSON").len() < 1_500);
}

#[test]
fn a_mapping_that_fails_is_an_execution_failure() {
    for mapping in ["'{'", "'text'", "{x: $.foo}", "{x: $.steps.a}", "{x: $}"] {
        let document = step(
            "execution_failure: flo.Completed, failure: flo.Failed",
            &format!(", inputMapping: {mapping}"),
        );
        let driven = check(
            mapping,
            &document,
            &[],
            Status::Completed,
            &[
                "step_started start",
                "step_completed start",
                "workflow_completed flo.Completed",
            ],
        );
        assert_eq!(driven.outcome("_start"), "execution_failure");
        assert_eq!(driven.run.results["_start"].executions, 1);
    }
}

#[test]
fn search_attributes_are_computed_at_the_start_and_again_at_the_end() {
    let document = step("success: flo.Completed", "")
        + "searchAttributes: [{name: n, from: input.n, type: number}, {name: id, from: $.steps._start.output.id}, {name: t, from: $.steps._start.output.t, type: timestamp}]";
    let mut driven = Driven::new(&document, r#"{"n":"7"}"#);
    let values = |driven: &Driven| -> Vec<String> {
        driven
            .run
            .attributes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    };
    assert_eq!(values(&driven), ["n=7", "id=null", "t=null"]);
    driven.play(&[Do::Answer(
        "success",
        r#"{"id":5,"t":"1970-01-01T00:00:01Z"}"#,
    )]);
    assert_eq!(values(&driven), ["n=7", "id=\"5\"", "t=1000"]);
}

#[test]
fn search_attributes_that_are_too_large_are_null_and_the_run_ends_and_says_so() {
    let document = |attributes: &str| {
        step("success: flo.Completed", "") + &format!("searchAttributes: [{attributes}]")
    };
    let text = |bytes: usize| "x".repeat(bytes);
    let ended = |mut program: Program, copies: usize, input: &str| {
        let attribute = program.search_attributes[0].clone();
        program.search_attributes = vec![attribute; copies];
        let mut driven = Driven::of(program, input);
        driven.play(&[Do::Answer("success", "{}")]);
        assert_eq!(driven.run.status, Status::Completed);
        let of_value = |(_, value): &(Name, Box<str>)| (&**value != "null").then_some(value.len());
        let kept: Vec<usize> = driven.run.attributes.iter().filter_map(of_value).collect();
        let error = driven.run.error.map(|error| error.message);
        (kept, error.unwrap_or_default().to_string())
    };
    let program = || Driven::new(&document("{name: a, from: input.a}"), "{}").program;
    let of = |bytes: usize| format!("{{\"a\":\"{}\"}}", text(bytes - 2));
    for (copies, bytes, kept, error) in [
        (1, 1_024, 1, ""),
        (
            1,
            1_025,
            0,
            "the search attribute \"a\" has 1025 bytes; at most 1024 are kept",
        ),
        (16, 1_024, 16, ""),
        (
            17,
            1_024,
            16,
            "the search attribute \"a\" is too large: all together have at most 16384 bytes",
        ),
        (64, 10, 64, ""),
        (
            65,
            10,
            64,
            "the document has 65 search attributes; at most 64 are kept",
        ),
    ] {
        let found = ended(program(), copies, &of(bytes));
        assert_eq!(found, (vec![bytes; kept], error.to_owned()));
    }
    // What is the whole input is not copied either.
    let whole = Driven::new(&document("{name: a, from: input}"), "{}").program;
    let (kept, error) = ended(whole, 64, &of(1 << 20));
    assert!(kept.is_empty());
    assert!(error.ends_with("bytes; at most 1024 are kept"), "{error}");
}

#[test]
fn the_output_is_a_path_or_a_mapping_and_only_of_a_completed_run() {
    for (output, terminal, expected) in [
        ("$.steps._start.output.x", "flo.Completed", Some("1.0")),
        ("{y: $.input.n}", "flo.Completed", Some("{\"y\":1}")),
        (
            "'{\"y\": \"$.input.n\"}'",
            "flo.Completed",
            Some("{\"y\":1}"),
        ),
        ("{y: $.input.n}", "flo.Failed", None),
        ("{y: $.foo}", "flo.Completed", None),
    ] {
        let document = step(&format!("success: {terminal}"), "") + &format!("output: {output}");
        let mut driven = Driven::new(&document, "{\"n\":1}");
        driven.play(&[Do::Answer("success", "{\"x\":1.0}")]);
        assert_eq!(driven.output().as_deref(), expected, "{output}");
        assert!(driven.run.status.is_end());
    }
    let document = step("success: Refused", "")
        + "terminals: {Refused: {status: failed, output: {why: $.steps._start.output}}}";
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[Do::Answer("success", "\"no\"")]);
    assert_eq!(driven.output().as_deref(), Some("{\"why\":\"no\"}"));
}

#[test]
fn a_child_runs_with_the_mapped_input_and_its_end_is_the_outcome() {
    let document = flow(
        "{run: \"@workflow/c:2\", input: {n: $.input.n}, transitions: {success: flo.Completed, failure: flo.Failed}}",
        "output: $.steps._start.output",
    );
    let started = ["step_started start", "awaiting_child wfrun-2"];
    for (status, output, outcome, ended) in [
        (
            Status::Completed,
            Some("{\"o\":1}"),
            "success",
            Status::Completed,
        ),
        (Status::Completed, None, "success", Status::Completed),
        (Status::Failed, None, "failure", Status::Failed),
        (Status::Cancelled, None, "failure", Status::Failed),
        (Status::TimedOut, None, "failure", Status::Failed),
    ] {
        let mut driven = Driven::new(&document, "{\"n\":1}");
        driven.child = StartedChild::Started {
            run: "wfrun-2".into(),
        };
        driven.play(&[]);
        assert_eq!(driven.run.status, Status::Waiting);
        driven.act(Do::ChildEnds(status, output)).expect("taken");
        assert_eq!(
            driven.asked[0],
            Ask::Child {
                reference: "c:2".into(),
                input: "{\"n\":1}".into()
            }
        );
        assert_eq!(driven.events()[..2], started);
        assert_eq!(driven.events()[2], format!("child_completed {outcome}"));
        assert_eq!(driven.run.status, ended);
        let error = driven.run.error.as_ref().map(|error| &*error.message);
        let expected = match status {
            Status::Cancelled => Some("step start: child wfrun-2 was cancelled"),
            Status::TimedOut => Some("step start: child wfrun-2 timed out"),
            Status::Failed => Some("step start: child wfrun-2 failed"),
            Status::Completed | Status::Pending | Status::Running | Status::Waiting => None,
        };
        assert_eq!(error, expected);
        if ended == Status::Completed {
            assert_eq!(driven.output().as_deref(), Some(output.unwrap_or("{}")));
        }
    }
}
