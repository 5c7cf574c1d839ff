//! The table of codes: a row for each of its statements.
#![cfg(test)]

use std::collections::BTreeSet;

use super::{executor, found, planned, starting, with};
use crate::dialect::flo::{MANAGER, RULES};

/// What a row is about, the document, and its findings.
type Row = (&'static str, String, &'static [&'static str]);

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<Row> {
    const START: &str = "start: {run: \"@actions/a\", transitions: {success: flo.Completed}}\n";
    let run = |more: &str| {
        starting(&format!(
            "{{run: \"@actions/a\", transitions: {{success: flo.Completed}}, {more}}}"
        ))
    };
    let target = |target: &str| {
        starting(&format!(
            "{{run: \"{target}\", transitions: {{success: flo.Completed}}}}"
        ))
    };
    let long = "n".repeat(257);
    let attributes: Vec<String> = (0..65)
        .map(|n| format!("{{name: a{n}, from: input.a}}"))
        .collect();
    let wait = |wait: &str| {
        starting(&format!(
            "{{waitForSignal: {wait}, transitions: {{success: flo.Completed}}}}"
        ))
    };
    let mut rows = vec![
        ("E100 neither YAML nor JSON", "kind: [".into(), &["E100 error -"][..]),
        ("E100 an empty text", String::new(), &["E100 error -"]),
        ("E100 the root is a list", "[1]".into(), &["E100 error -"]),
        ("E100 no kind", format!("name: w\nversion: \"1\"\n{START}"), &["E100 error -"]),
        ("E100 another kind", format!("kind: Saga\nname: w\nversion: \"1\"\n{START}"), &["E100 error kind"]),
        ("E101 no name", format!("kind: Workflow\nversion: \"1\"\n{START}"), &["E101 error -"]),
        ("E101 an empty name", format!("kind: Workflow\nname: ''\nversion: \"1\"\n{START}"), &["E101 error name"]),
        ("E102 no version", format!("kind: Workflow\nname: w\n{START}"), &["E102 error -"]),
        ("E102 an empty version", format!("kind: Workflow\nname: w\nversion: ''\n{START}"), &["E102 error version"]),
        ("E103 no start", "kind: Workflow\nname: w\nversion: \"1\"\n".into(), &["E103 error -", "E303 warning -"]),
        ("E103 neither run nor wait", starting("{transitions: {success: flo.Completed}}"), &["E103 error start"]),
        ("E103 both run and wait", run("wait_for_signal: {type: x, timeout_ms: 1}"), &["E103 error start"]),
        ("E103 a wait without a type", wait("{timeoutMs: 1}"), &["E103 error start.waitForSignal"]),
        ("E104 no executors", planned("selection: random"), &["E104 error plans.p"]),
        ("E104 an empty list of executors", planned("executors: []"), &["E104 error plans.p.executors"]),
        ("E104 an executor without a name", planned("executors: [{action: \"@actions/a\"}]"), &["E104 error plans.p.executors[0]"]),
        ("E104 an executor without an action", planned("executors: [{name: e}]"), &["E104 error plans.p.executors[0]"]),
        ("E105 a duplicate step", with("steps:\n  a: {run: \"@actions/a\", transitions: {success: flo.Completed}}\n  a: {run: \"@actions/a\"}\n"), &["E105 error steps.a", "E301 warning steps.a"]),
        ("E105 a duplicate step in JSON", r#"{"kind":"Workflow","name":"w","version":"1","start":{"run":"@actions/a","transitions":{"success":"a"}},"steps":{"a":{"run":"@actions/b","transitions":{"success":"flo.Completed"}},"a":{"run":"@actions/c"}}}"#.into(), &["E105 error steps.a"]),
        ("E105 the reserved name", with("steps:\n  _start: {run: \"@actions/a\", transitions: {success: flo.Completed}}\n"), &["E105 error steps._start", "E301 warning steps._start"]),
        ("E105 a name with a dot", with("steps:\n  a.b: {run: \"@actions/a\", transitions: {success: flo.Completed}}\n"), &["E105 warning steps.a.b", "E301 warning steps.a.b"]),
        ("E106 a duplicate executor", planned("executors: [{name: e, action: \"@actions/a\"}, {name: e, action: \"@actions/b\"}]"), &["E106 error plans.p.executors[1]"]),
        ("E107 a duplicate terminal", starting("{run: \"@actions/a\", transitions: {success: T}}\nterminals:\n  T: {status: failed}\n  T: {status: failed}"), &["E107 error terminals.T"]),
        ("E107 a built-in terminal", with("terminals: {flo.Failed: {status: failed}}"), &["E107 error terminals.flo.Failed", "E302 warning terminals.flo.Failed"]),
        ("E108 an unknown key", with("colour: red"), &["E108 warning colour"]),
        ("E108 an unknown key inside", executor("colour: red"), &["E108 warning plans.p.executors[0].colour"]),
        ("E109 a signal that nobody can send", wait("{type: _x, timeoutMs: 1}"), &["E109 error start.waitForSignal.type"]),
        ("E109 a text for a map", with("steps: none"), &["E109 error steps"]),
        ("E109 a number for a name", format!("kind: Workflow\nname: 1\nversion: \"1\"\n{START}"), &["E109 error name"]),
        ("E109 a number that is too large", run("retry: {max_attempts: 4294967296}"), &["E109 error start.retry.max_attempts"]),
        ("E109 a negative number", run("poll: {maxAttempts: -1}"), &["E109 error start.poll.maxAttempts"]),
        ("E109 a fraction", run("poll: {maxAttempts: 1.5}"), &["E109 error start.poll.maxAttempts"]),
        ("E109 an unknown word", with("idempotency: always"), &["E109 error idempotency"]),
        ("E109 an unknown backoff", run("retry: {backoff: slow}"), &["E109 error start.retry.backoff"]),
        ("E109 both spellings", run("retry: {max_attempts: 2, maxAttempts: 2}"), &["E109 error start.retry.maxAttempts"]),
        ("E109 a duplicate key", with("description: a\ndescription: b"), &["E109 error description"]),
        ("E109 a duplicate unknown key", with("colour: a\ncolour: b"), &["E108 warning colour", "E109 error colour"]),
        ("E109 a duplicate key in a mapping", run("input: {a: {b: 1, b: 2}}"), &["E109 error start.input.a.b"]),
        ("E109 a duplicate outcome", starting("{run: \"@actions/a\", transitions: {success: flo.Completed, success: flo.Failed}}"), &["E109 error start.transitions.success"]),
        ("E109 a long name", format!("kind: Workflow\nname: {long}\nversion: \"1\"\n{START}"), &["E109 error name"]),
        ("E109 a long name of a search attribute", with(&format!("searchAttributes: [{{name: {long}, from: input.a}}]")), &["E109 error searchAttributes[0]"]),
        ("E109 too many search attributes", with(&format!("searchAttributes: [{}]", attributes.join(", "))), &["E109 error searchAttributes"]),
        ("E109 the name of the manager", format!("kind: Workflow\nname: {MANAGER}\nversion: \"1\"\n{START}"), &["E109 error name"]),
        ("E109 a name that is a path", format!("kind: Workflow\nname: ..\nversion: \"1\"\n{START}"), &["E109 error name"]),
        ("E109 a control character in the name", format!("kind: Workflow\nname: \"a\\0\"\nversion: \"1\"\n{START}"), &["E109 error name"]),
        ("E109 a control character in the version", format!("kind: Workflow\nname: a\nversion: \"1\\0\"\n{START}"), &["E109 error version"]),
        ("E109 another namespace", with("namespace: shop"), &["E109 error namespace"]),
        ("E109 a text that is not a namespace", with("namespace: a/b"), &["E109 error namespace"]),
        ("E109 an unlimited wait", wait("{type: x, timeoutMs: 0}"), &["E109 error start.waitForSignal.timeoutMs"]),
        ("E109 a wait of centuries", wait("{type: x, timeoutMs: 3153600000001}"), &["E109 error start.waitForSignal.timeoutMs"]),
        ("E109 a retry for centuries", run("retry: {within_ms: 9999999999999999}"), &["E109 error start.retry.within_ms"]),
        ("E109 a poll after centuries", run("poll: {initialDelayMs: 9999999999999999}"), &["E109 error start.poll.initialDelayMs"]),
        ("E109 an interval of centuries", with("schedule: {interval: 9999999999999999}"), &["E109 error schedule.interval"]),
        ("E109 a batch that waits for centuries", with("trigger: {stream: s, batch_timeout_ms: 9999999999999999}"), &["E109 error trigger.batch_timeout_ms"]),
        ("E109 a fallback that is not JSON", planned("executors: [{name: e, action: \"@actions/a\"}], fallback: {value: \"{\"}"), &["E109 error plans.p.fallback.value"]),
        ("E109 a search attribute without a path", with("searchAttributes: [{name: a}]"), &["E109 error searchAttributes[0]"]),
        ("E201 an unknown target", starting("{run: \"@actions/a\", transitions: {success: nowhere, failure: flo.Failed}}"), &["E201 error start.transitions.success"]),
        ("E201 an unknown target of a timeout", wait("{type: x, timeoutMs: 1, onTimeout: nowhere}"), &["E201 error start.waitForSignal.onTimeout"]),
        ("E201 the entry step", starting("{run: \"@actions/a\", transitions: {success: start, failure: flo.Failed}}"), &["E201 error start.transitions.success"]),
        ("E202 no prefix", target("charge"), &["E202 error start.run"]),
        ("E202 an unknown prefix", target("@action/charge"), &["E202 error start.run"]),
        ("E202 an empty name", target("@actions/"), &["E202 error start.run"]),
        ("E202 an unknown entity operation", target("@entity/drop"), &["E202 error start.run"]),
        ("E202 a version without a workflow", target("@workflow/:1"), &["E202 error start.run"]),
        ("E202 an executor that runs a plan", planned("executors: [{name: e, action: \"@plan/p\"}]"), &["E202 error plans.p.executors[0].action"]),
        ("E203 an unknown plan", target("@plan/p"), &["E203 error start.run"]),
        ("E204 the workflow itself", target("@workflow/w:1"), &["E507 warning start.run", "E204 warning start.run"]),
        ("E301 a step nobody reaches", with("steps:\n  a: {run: \"@actions/a\", transitions: {success: b}}\n  b: {run: \"@actions/a\", transitions: {success: flo.Failed}}\n"), &["E301 warning steps.a", "E301 warning steps.b"]),
        ("E302 a terminal nobody names", with("terminals: {T: {status: failed}}"), &["E302 warning terminals.T"]),
        ("E303 no way to an end", starting("{run: \"@actions/a\", transitions: {success: a}}\nsteps: {a: {run: \"@actions/a\", transitions: {success: a}}}"), &["E303 warning -"]),
        ("E401 no executions", run("retry: {max_attempts: 0}"), &["E401 error start.retry.max_attempts"]),
        ("E401 the first delay is too long", run("retry: {initial_delay_ms: 2, max_delay_ms: 1}"), &["E401 error start.retry.initial_delay_ms"]),
        ("E401 of an executor", executor("retry: {maxAttempts: 0}"), &["E401 error plans.p.executors[0].retry.max_attempts"]),
        ("E402 a threshold of none", executor("breaker: {failure_threshold: 0}"), &["E402 error plans.p.executors[0].breaker.failure_threshold"]),
        ("E402 no calls while half open", executor("breaker: {half_open_max_calls: 0}"), &["E402 error plans.p.executors[0].breaker.half_open_max_calls"]),
        ("E403 an empty rate limit", executor("rate_limit: {}"), &["E403 warning plans.p.executors[0].rate_limit"]),
    ];
    let cached = |cache: &str| {
        planned(&format!(
            "executors: [{{name: e, action: \"@actions/a\"}}], cache: {{{cache}}}"
        ))
    };
    let health = |health: &str| {
        planned(&format!(
            "executors: [{{name: e, action: \"@actions/a\"}}], health: {{{health}}}"
        ))
    };
    rows.extend([
        ("E404 a cache for no time", cached("key: k, ttl_ms: 0"), &["E404 error plans.p.cache.ttl_ms"][..]),
        ("E404 an empty key", cached("key: ''"), &["E404 error plans.p.cache"]),
        ("E404 no key", cached("ttl_ms: 1"), &["E404 error plans.p.cache"]),
        ("E405 a decay of zero", health("decay: 0"), &["E405 error plans.p.health.decay"]),
        ("E405 a decay above one", health("decay: 1.01"), &["E405 error plans.p.health.decay"]),
        ("E405 an empty window", health("window_ms: 0"), &["E405 error plans.p.health.window_ms"]),
        ("E405 no samples", health("min_samples: 0"), &["E405 error plans.p.health.min_samples"]),
        ("E405 health-weighted without health", planned("selection: health-weighted, executors: [{name: e, action: \"@actions/a\"}]"), &["E405 warning plans.p"]),
        ("E501 an unknown status", starting("{run: \"@actions/a\", transitions: {success: T}}\nterminals: {T: {status: done}}"), &["E501 error terminals.T.status"]),
        ("E501 a step and a terminal", starting("{run: \"@actions/a\", transitions: {success: T}}\nterminals: {T: {}}\nsteps: {T: {run: \"@actions/a\", transitions: {success: T}}}"), &["E501 error steps.T"]),
        ("E502 no transitions", starting("{run: \"@actions/a\"}"), &["E502 warning start", "E303 warning -"]),
        ("E503 a wait for ever", wait("{type: x}"), &["E503 warning start.waitForSignal"]),
        ("E504 neither cron nor interval", with("schedule: {paused: true}"), &["E504 error schedule"]),
        ("E504 both cron and interval", with("schedule: {cron: \"* * * * *\", interval: 1}"), &["E504 error schedule"]),
        ("E504 an interval of zero", with("schedule: {interval: 0}"), &["E504 error schedule.interval"]),
        ("E506 six fields", with("schedule: {cron: \"0 * * * * *\"}"), &["E506 error schedule.cron"]),
        ("E506 a field out of range", with("schedule: {cron: \"60 * * * *\"}"), &["E506 error schedule.cron"]),
        ("E506 a day that never comes", with("schedule: {cron: \"0 0 30 2 *\"}"), &["E506 warning schedule.cron"]),
        ("E507 a child", target("@workflow/other"), &["E507 warning start.run"]),
        ("E508 no stream", with("trigger: {mode: shared}"), &["E508 error trigger"]),
        ("E508 an empty stream", with("trigger: {stream: ''}"), &["E508 error trigger"]),
        ("E508 a batch of none", with("trigger: {stream: s, batch_size: 0}"), &["E508 error trigger.batch_size"]),
        ("E508 an unknown mode", with("trigger: {stream: s, mode: fast}"), &["E508 error trigger.mode"]),
    ]);
    rows
}

#[test]
fn every_code_is_raised_with_its_severity_and_location() {
    for (what, text, expected) in rows() {
        assert_eq!(found(&text), expected, "{what}\n{text}");
    }
}

#[test]
fn every_code_of_the_table_has_a_row_and_every_row_is_of_the_table() {
    let raised: BTreeSet<(String, bool)> = rows()
        .iter()
        .flat_map(|(_, _, findings)| findings.iter())
        .map(|finding| (finding[..4].to_owned(), finding[5..].starts_with("error")))
        .collect();
    let listed: BTreeSet<(String, bool)> = RULES
        .iter()
        .flat_map(|rule| {
            let severities = [(rule.error, true), (rule.warning, false)];
            severities
                .map(|(text, error)| (!text.is_empty()).then(|| (rule.code.to_owned(), error)))
        })
        .flatten()
        .collect();
    // E509 is about what is registered, so the service raises it.
    let listed: BTreeSet<_> = listed
        .into_iter()
        .filter(|(code, _)| code != "E509")
        .collect();
    assert_eq!(raised, listed);
    for (what, _, findings) in rows() {
        assert!(
            findings.iter().any(|finding| finding[..4] == what[..4]),
            "{what}"
        );
    }
}
