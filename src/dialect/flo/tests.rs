#![cfg(test)]

mod codes;
mod fields;

use proptest::prelude::*;
use serde_json::Value;

use super::generate::{Chance, document};
use super::*;
use crate::dialect::{Findings, Severity, Tree};

const EXAMPLES: [&str; 5] = [
    include_str!("../../../tests/it/fixtures/flo/order-processing.yaml"),
    include_str!("../../../tests/it/fixtures/flo/payment-processing.yaml"),
    include_str!("../../../tests/it/fixtures/flo/process-order.yaml"),
    include_str!("../../../tests/it/fixtures/flo/order-approval.yaml"),
    EVERY_FIELD,
];

const EVERY_FIELD: &str = include_str!("../../../tests/it/fixtures/flo/every-field.yaml");

fn read(text: &str) -> (Option<Document>, Findings) {
    Document::read_in(Some("default"), text.as_bytes())
}

/// The text form of the findings, each as `code severity location`.
fn found(text: &str) -> Vec<String> {
    let (document, findings) = read(text);
    assert_eq!(document.is_none(), findings.has_errors(), "{text}");
    let listed = findings.listed().iter().map(|finding| {
        let location = finding.location.as_deref().unwrap_or("-");
        format!("{} {} {location}", finding.code, finding.severity.as_str())
    });
    listed.collect()
}

/// A document that is fine but for the lines given at its end.
fn with(lines: &str) -> String {
    format!(
        "kind: Workflow\nname: w\nversion: \"1\"\nstart:\n  run: \"@actions/a\"\n  transitions: {{success: flo.Completed}}\n{lines}"
    )
}

/// The same, with another start step.
fn starting(step: &str) -> String {
    format!("kind: Workflow\nname: w\nversion: \"1\"\nstart: {step}\n")
}

/// A document that uses the plan `p`, whose members are given.
fn planned(plan: &str) -> String {
    format!(
        "kind: Workflow\nname: w\nversion: \"1\"\nstart: {{run: \"@plan/p\", transitions: {{success: flo.Completed}}}}\nplans: {{p: {{{plan}}}}}\n"
    )
}

fn executor(members: &str) -> String {
    planned(&format!(
        "executors: [{{name: e, action: \"@actions/a\", {members}}}]"
    ))
}

#[test]
fn all_findings_are_reported_at_once() {
    let text = "kind: Workflow\nname: ''\nstart: {run: nowhere}\nsteps:\n  a: {transitions: {success: b}}\n  w: {waitForSignal: {type: x}, transitions: {success: c}}\nschedule: {}\ntrigger: {}\n";
    let codes: Vec<String> = found(text)
        .iter()
        .map(|finding| finding[..4].to_owned())
        .collect();
    assert_eq!(
        codes,
        [
            "E101", "E102", "E202", "E502", "E103", "E503", "E504", "E508", "E201", "E201", "E301",
            "E301", "E303"
        ]
    );
    let (_, findings) = read(text);
    let shown = findings.to_string();
    assert!(shown.contains("[E201] error: "), "{shown}");
    assert!(
        shown.contains(" at 'steps.w.transitions.success'\n"),
        "{shown}"
    );
    assert!(shown.ends_with("8 errors, 5 warnings"), "{shown}");
    assert_eq!(findings.listed()[0].severity, Severity::Error);
}

#[test]
fn the_examples_are_valid_and_mean_the_same_as_json() {
    for text in EXAMPLES {
        let (document, findings) = read(text);
        assert!(document.is_some(), "{findings}\n{text}");
        let json = Tree::read(text).expect("YAML").to_json();
        let (again, same) = read(&json);
        // A number that is a version stays as it is written.
        assert_eq!(again, document, "{json}");
        assert_eq!(same, findings);
    }
    let (_, findings) = read(EXAMPLES[0]);
    assert_eq!(findings.listed(), []);
}

#[test]
fn texts_at_the_limits_are_answered_with_their_code() {
    let padded = |bytes: usize| {
        let text = with("");
        format!("{text}#{}", "x".repeat(bytes - text.len() - 1))
    };
    assert!(read(&padded(1 << 20)).0.is_some());
    let deep = format!("a: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_blocks: String = (0..10_000).map(|_| "- ").collect::<String>() + "1";
    let aliases = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{p}, *a{p}]\n", p = n - 1)
    });
    for text in [padded((1 << 20) + 1), deep, deep_blocks, aliases] {
        assert_eq!(found(&text), ["E100 error -"], "{}", &text[..40]);
    }
    let (document, findings) = Document::read_in(None, b"kind: \xFF");
    assert!(document.is_none());
    assert_eq!(
        findings.listed()[0].message,
        "the document is not UTF-8 text"
    );
}

#[test]
fn a_document_of_many_or_long_keys_is_read_in_bounded_time_and_space() {
    let key = "k".repeat(500_000);
    let many = (0..30_000).fold(String::new(), |text, n| text + &format!("  s{n}: 1\n"));
    for text in [
        with(&format!(
            "steps: {{{key}: {{run: x, {key}: {{a: 1, b: [2, {{c: 3}}]}}}}}}\n"
        )),
        with(&format!("steps:\n{many}")),
        with(&format!("plans:\n{many}")),
    ] {
        let (_, findings) = read(&text);
        assert!(findings.has_errors());
        let kept: usize = findings
            .listed()
            .iter()
            .map(|finding| finding.to_string().len())
            .sum();
        assert!(kept < 3_000_000, "{kept}");
    }
}

proptest! {
    #[test]
    fn a_valid_document_means_the_same_as_yaml_and_as_json(seed in any::<u64>()) {
        let value: Value = document(&mut Chance(seed));
        let json = value.to_string();
        let yaml = serde_saphyr::to_string(&value).expect("YAML");
        let (from_json, findings) = read(&json);
        prop_assert!(from_json.is_some(), "{}\n{}", findings, json);
        let (from_yaml, same) = read(&yaml);
        prop_assert_eq!(&from_yaml, &from_json, "{}", yaml);
        prop_assert_eq!(same, findings);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Document::read_in(None, &bytes);
    }

    #[test]
    fn any_text_of_signs_is_answered(text in "[-a-c:{}\\[\\],&*!|>'\"#%@? \n\t0-9~.<]{0,200}") {
        let _ = read(&text);
    }

    /// A document in which one byte is another, or is not there, is answered; and what it says is
    /// either read or reported.
    #[test]
    fn a_damaged_document_is_answered(
        example in 0..EXAMPLES.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        removed in any::<bool>(),
    ) {
        let mut bytes = EXAMPLES[example].as_bytes().to_vec();
        let at = at.index(bytes.len());
        if removed {
            bytes.remove(at);
        } else {
            bytes[at] = byte;
        }
        let (document, findings) = Document::read_in(None, &bytes);
        prop_assert_eq!(document.is_none(), findings.has_errors());
    }
}
