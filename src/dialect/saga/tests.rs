#![cfg(test)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::dialect::{Findings, Severity};
use crate::expr::{Read, Values};

const EXAMPLES: [(&str, &str); 6] = [
    (
        "connectors.hcl",
        include_str!("../../../tests/it/fixtures/mycel/connectors.hcl"),
    ),
    (
        "create_order.hcl",
        include_str!("../../../tests/it/fixtures/mycel/create_order.hcl"),
    ),
    (
        "loan_approval.hcl",
        include_str!("../../../tests/it/fixtures/mycel/loan_approval.hcl"),
    ),
    (
        "onboarding.hcl",
        include_str!("../../../tests/it/fixtures/mycel/onboarding.hcl"),
    ),
    (
        "order_status.hcl",
        include_str!("../../../tests/it/fixtures/mycel/order_status.hcl"),
    ),
    (
        "service.hcl",
        include_str!("../../../tests/it/fixtures/mycel/service.hcl"),
    ),
];

fn files<'a>(given: &[(&'a str, &'a str)]) -> Vec<File<'a>> {
    let files = given.iter();
    files.map(|(path, text)| File { path, text }).collect()
}

fn read_all(given: &[(&str, &str)]) -> (Option<Bundle>, Findings) {
    read(&files(given), &|name| name != "NOWHERE")
}

/// The findings of one file, each as `code severity line`, without those about missing `from` and
/// undeclared connectors unless they are asked for.
fn found(text: &str) -> Vec<String> {
    let (bundle, findings) = read_all(&[("a.hcl", text)]);
    assert_eq!(bundle.is_none(), findings.has_errors(), "{text}");
    let listed = findings.listed().iter().map(|finding| {
        let location = finding.location.as_deref().expect("a location");
        let line = location.strip_prefix("a.hcl:").expect(location);
        format!("{} {} {line}", finding.code, finding.severity.as_str())
    });
    listed.collect()
}

/// Connectors in six lines, then the given text.
fn with(text: &str) -> String {
    format!(
        "connector \"api\" {{ type = \"rest\" }}\n\
         connector \"m\" {{ type = \"queue\" }}\n\
         connector \"e\" {{ type = \"entity\" }}\n\
         connector \"db\" {{\n type = \"database\"\n driver = \"sqlite\"\n database = \"a.db\"\n}}\n\
         connector \"web\" {{\n type = \"http\"\n base_url = \"http://a\"\n}}\n\
         {text}"
    )
}

/// The line of what [`with`] is given.
const HERE: usize = 13;

/// A saga that a request starts, with these lines in it.
fn saga(lines: &str) -> String {
    with(&format!(
        "saga \"s\" {{\n from {{\n connector = \"api\"\n operation = \"POST /s\"\n }}\n{lines}\n}}"
    ))
}

/// A saga of one step whose action has these lines.
fn action(lines: &str) -> String {
    saga(&format!("step \"a\" {{\n action {{\n{lines}\n }}\n }}"))
}

const INSERT: &str = "step \"x\" {\n action {\n connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n }\n }";

fn machine(lines: &str) -> String {
    with(&format!(
        "state_machine \"sm\" {{\n initial = \"a\"\n state \"b\" {{ final = true }}\n{lines}\n}}"
    ))
}

fn flow(lines: &str) -> String {
    machine(&format!(
        "state \"a\" {{ final = true }}\n}}\nflow \"f\" {{\n from {{\n connector = \"api\"\n operation = \"POST /f\"\n }}\n{lines}"
    ))
}

#[test]
fn the_examples_are_read_as_they_are() {
    let (bundle, findings) = read_all(&EXAMPLES);
    let bundle = bundle.unwrap_or_else(|| panic!("{findings}"));
    assert_eq!(findings.to_string(), "0 errors, 0 warnings");
    let names: Vec<_> = bundle.sagas.iter().map(|saga| &*saga.name).collect();
    assert_eq!(names, ["create_order", "loan_approval", "onboarding"]);
    let routes: Vec<_> = bundle
        .routes()
        .map(|(name, route)| format!("{name} {} {}", route.method, route.path))
        .collect();
    assert_eq!(
        routes,
        [
            "create_order POST /orders",
            "loan_approval POST /loans",
            "onboarding POST /onboard",
            "update_order_status POST /orders/:id/events",
        ]
    );
    let mirror = bundle.service.mirror.as_ref().expect("a mirror");
    assert_eq!(
        (&*mirror.connector, &*mirror.table),
        ("db", "mycel_workflows")
    );
    assert!(
        bundle.sagas[0]
            .text
            .starts_with("saga \"create_order\" {\n  from {")
    );
    assert!(
        bundle.sagas[0].text.ends_with('}'),
        "{}",
        bundle.sagas[0].text
    );
    assert_eq!(
        variables(&files(&EXAMPLES)),
        BTreeSet::from(["SMTP_PASSWORD".to_owned(), "STRIPE_KEY".to_owned()])
    );
    let stripe = bundle.connectors.iter().find(|one| one.name == "stripe");
    assert_eq!(
        stripe.expect("it is declared").config,
        r#"{"type":"http","base_url":"http://127.0.0.1:7001","timeout":5000,"headers":{"X-Shop":"one"},"retry":{"attempts":3},"auth":{"type":"bearer","token":{"$env":"STRIPE_KEY"}}}"#
    );
}

#[test]
fn the_examples_without_their_connectors_have_warnings_only() {
    let (bundle, findings) = read_all(&EXAMPLES[1..]);
    assert!(bundle.is_some(), "{findings}");
    assert!(
        findings
            .listed()
            .iter()
            .all(|finding| finding.code == "S303")
    );
    assert_eq!(
        findings.listed()[0].location.as_deref(),
        Some("create_order.hcl:3")
    );
}

#[test]
fn steps_have_what_is_written() {
    let (bundle, _) = read_all(&EXAMPLES);
    let bundle = bundle.expect("they are valid");
    let loan = &bundle.sagas[1];
    let hours = |hours: u64| Some(std::time::Duration::from_hours(hours));
    assert_eq!(loan.timeout, hours(168));
    let wait = &loan.steps[1];
    assert_eq!(
        (wait.awaits.as_deref(), wait.timeout),
        (Some("loan_approved"), hours(48))
    );
    let pause = &bundle.sagas[2].steps[1];
    assert_eq!((&*pause.name, pause.delay), ("wait_24h", hours(24)));
}

fn request(call: &Call, input: &str) -> String {
    let steps = |name: &str| (name == "order").then_some(r#"{"id":7}"#);
    let values = Values {
        input,
        signal: None,
        steps: &steps,
        error: Some(r#"{"message":"no stock"}"#),
        read: Read::default(),
    };
    call.request.evaluate(&values).expect("a value")
}

#[test]
fn requests_have_the_values_of_their_run() {
    let (bundle, _) = read_all(&EXAMPLES);
    let bundle = bundle.expect("they are valid");
    let order = &bundle.sagas[0];
    let input = r#"{"user_id":7,"amount":99.90,"currency":"GBP","quantity":2,"product_id":"p"}"#;
    let of = |call: &Option<Call>| request(call.as_ref().expect("a call"), input);
    for (call, expected) in [
        (
            &order.steps[0].action,
            r#"{"operation":"INSERT","target":"orders","payload":{"status":"pending","user_id":7}}"#,
        ),
        (
            &order.steps[0].undo,
            r#"{"operation":"DELETE","target":"orders","where":{"id":7}}"#,
        ),
        (
            &order.steps[1].action,
            r#"{"operation":"POST /charges","payload":{"amount":99.90,"currency":"GBP"}}"#,
        ),
        (
            &order.steps[2].action,
            r#"{"operation":"UPDATE","target":"inventory","set":{"reserved":{"$column":"reserved","$op":"+","$value":2}},"where":{"product_id":"p"}}"#,
        ),
        (
            &order.on_failure,
            r#"{"operation":"POST /send","payload":{"user_id":7,"reason":"no stock","template":"order_failed"},"template":"order_failed"}"#,
        ),
        (
            &bundle.sagas[1].steps[0].action,
            r#"{"operation":"INSERT","target":"loans","payload":{"user_id":7,"amount":99.90,"currency":"GBP","quantity":2,"product_id":"p"}}"#,
        ),
    ] {
        assert_eq!(of(call), expected);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn every_kind_of_finding_is_found_where_it_is() {
    let here = |line: usize, code: &str| vec![format!("{code} error {}", HERE + line)];
    let cases: Vec<(String, Vec<String>)> = vec![
        // S101
        (
            "saga \"a\" {\n  step {{\n".into(),
            vec!["S101 error 2".into()],
        ),
        (
            format!("\na = {}1{}", "[".repeat(10_000), "]".repeat(10_000)),
            vec!["S101 error 2".into()],
        ),
        // S102
        (with("thing \"x\" {}"), here(0, "S102")),
        (with("x = 1"), here(0, "S102")),
        (saga(&format!("colour = 1\n{INSERT}")), here(5, "S102")),
        (
            saga(&format!("{INSERT}\nsteps \"b\" {{}}")),
            here(12, "S102"),
        ),
        (saga(&format!("step = 1\n{INSERT}")), here(5, "S102")),
        (
            with("connector \"x\" {\n type = \"http\"\n base_url = \"u\"\n url = \"u\"\n}"),
            here(3, "S102"),
        ),
        // S103
        (saga(""), here(0, "S103")),
        (saga("step \"a\" {}"), here(5, "S103")),
        (saga("step {\n delay = \"1s\"\n}"), here(5, "S103")),
        (
            saga("step \"a\" \"b\" {\n delay = \"1s\"\n}"),
            here(5, "S103"),
        ),
        (saga("step \"\" {\n delay = \"1s\"\n}"), here(5, "S103")),
        (
            saga("step \"a\" {\n delay = \"1s\"\n await = \"e\"\n}"),
            here(7, "S103"),
        ),
        (saga("step \"a\" {\n await = \"\"\n}"), {
            let mut both = here(5, "S103");
            both.extend(here(6, "S103"));
            both
        }),
        (
            saga("step \"a\" {\n delay = \"1s\"\n on_error = \"retry\"\n}"),
            here(7, "S103"),
        ),
        (
            action("connector = \"db\"\n operation = \"INSERT\""),
            here(6, "S103"),
        ),
        (
            action("connector = \"db\"\n operation = \"DROP\"\n target = \"t\""),
            here(8, "S103"),
        ),
        (
            action("connector = \"db\"\n operation = \"INSERT\"\n target = \"t; drop\""),
            here(9, "S103"),
        ),
        (
            action("connector = \"db\"\n operation = \"DELETE\"\n target = \"t\""),
            here(6, "S103"),
        ),
        (
            action(
                "connector = \"db\"\n operation = \"UPDATE\"\n target = \"t\"\n set = { a = 1 }\n where = {}",
            ),
            here(6, "S103"),
        ),
        (
            action("connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n data = \"x\""),
            here(10, "S103"),
        ),
        (
            action(
                "connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n data = { a = { \"$column\" = 1 } }",
            ),
            here(10, "S103"),
        ),
        (
            action(
                "connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n data = { a = 1 + 2 }",
            ),
            here(10, "S103"),
        ),
        (
            action(
                "connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n data = { a = \"${x}\" }",
            ),
            here(10, "S103"),
        ),
        (
            action(
                "connector = \"db\"\n operation = \"INSERT\"\n target = \"t\"\n data = { a = env(\"X\") }",
            ),
            here(10, "S103"),
        ),
        (
            action("connector = \"web\"\n operation = \"INSERT\""),
            here(8, "S103"),
        ),
        (
            action("connector = \"web\"\n operation = \"post /x\""),
            here(8, "S103"),
        ),
        (
            action("connector = \"api\"\n operation = \"POST /x\""),
            here(8, "S103"),
        ),
        (
            action("connector = \"e\"\n operation = \"INSERT\"\n target = \"order\""),
            here(9, "S103"),
        ),
        (
            action(
                "connector = \"e\"\n operation = \"UPDATE\"\n target = \"order/1\"\n where = { sku = \"A\" }\n set = { a = 1 }",
            ),
            here(6, "S103"),
        ),
        (
            action("connector = \"e\"\n operation = \"TRANSITION ship\"\n target = \"order/1\""),
            here(6, "S103"),
        ),
        (
            action(
                "connector = \"e\"\n operation = \"DELETE\"\n target = \"order/1\"\n where = { id = 7 }",
            ),
            here(10, "S103"),
        ),
        (
            action("connector = \"e\"\n operation = \"GET\"\n target = \"order/1\""),
            here(6, "S103"),
        ),
        (
            action(
                "connector = \"e\"\n operation = \"GET\"\n target = \"order/1\"\n params = { id = \"input.id\" }\n where = { a = 1 }",
            ),
            here(11, "S103"),
        ),
        (action("connector = \"web\""), here(6, "S103")),
        (with("connector \"x\" { type = \"http\" }"), here(0, "S103")),
        (
            with("connector \"x\" {\n base_url = \"u\"\n}"),
            here(0, "S103"),
        ),
        (
            with(
                "connector \"x\" {\n type = \"database\"\n driver = \"oracle\"\n database = \"d\"\n}",
            ),
            here(2, "S103"),
        ),
        (
            with(
                "connector \"x\" {\n type = \"email\"\n host = \"h\"\n from = \"f\"\n port = 70000\n}",
            ),
            here(4, "S103"),
        ),
        (
            with("connector \"x\" {\n type = \"http\"\n base_url = 5\n}"),
            here(2, "S103"),
        ),
        (
            with(
                "connector \"x\" {\n type = \"http\"\n base_url = \"u\"\n auth { type = \"magic\" }\n}",
            ),
            here(3, "S103"),
        ),
        (
            with(
                "saga \"s\" {\n from {\n connector = \"api\"\n operation = \"orders\"\n}\nstep \"a\" { delay = \"1s\" }\n}",
            ),
            here(3, "S103"),
        ),
        (
            with(
                "saga \"s\" {\n from {\n connector = \"db\"\n operation = \"POST /s\"\n}\nstep \"a\" { delay = \"1s\" }\n}",
            ),
            here(2, "S103"),
        ),
        (
            with("service {\n workflow { table = \"t\" }\n}"),
            here(1, "S103"),
        ),
        (with("service {\n name = \"a b\"\n}"), here(1, "S103")),
        (flow(""), here(5, "S103")),
        (
            machine("state \"a\" {\n final = true\n on \"e\" { transition_to = \"b\" }\n}"),
            here(5, "S103"),
        ),
        (machine("state \"a\" {\n on \"e\" {}\n}"), here(4, "S103")),
        (
            machine("state \"a\" {\n on \"1 e\" { transition_to = \"b\" }\n}"),
            here(4, "S103"),
        ),
        // S104
        (saga(&format!("{INSERT}\n{INSERT}")), here(12, "S104")),
        (
            saga(&format!("timeout = \"1s\"\ntimeout = \"2s\"\n{INSERT}")),
            vec![],
        ),
        (
            saga(&format!("{INSERT}\non_failure {{}}\non_failure {{}}")),
            here(13, "S104"),
        ),
        (
            with("connector \"api\" { type = \"rest\" }"),
            here(0, "S104"),
        ),
        (machine("state \"a\" {}\nstate \"a\" {}"), here(4, "S104")),
        (
            machine(
                "state \"a\" {\n on \"e\" { transition_to = \"b\" }\n on \"e\" { transition_to = \"a\" }\n}",
            ),
            here(5, "S104"),
        ),
        (with("service {}\nservice {}"), here(1, "S104")),
        // S105
        (
            machine("state \"a\" {\n on \"e\" { transition_to = \"c\" }\n}"),
            here(4, "S105"),
        ),
        (machine(""), here(1, "S105")),
        (
            flow(
                "state_transition {\n machine = \"other\"\n entity = \"o\"\n id = \"input.id\"\n event = \"input.e\"\n}",
            ),
            here(11, "S105"),
        ),
        // S106
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"input.a +\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"inputs.a + input.b\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"step.b.c\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"step.a.c\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"error.message\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"reserved + input.a\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"frobnicate(input.a)\"\n}",
            ),
            here(10, "S106"),
        ),
        (
            action(&format!(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {{\n a = \"input.a{}\"\n}}",
                " ".repeat(5_000)
            )),
            here(10, "S106"),
        ),
        (
            machine(
                "state \"a\" {\n on \"e\" {\n transition_to = \"b\"\n guard = \"step.x.y\"\n}\n}",
            ),
            here(6, "S106"),
        ),
        (
            with(
                "saga \"s\" {\n from {\n connector = \"api\"\n operation = \"POST /s\"\n filter = \"input.a >\"\n}\nstep \"a\" { delay = \"1s\" }\n}",
            ),
            here(4, "S106"),
        ),
        // S107
        (saga("step \"a\" {\n delay = \"7w\"\n}"), here(6, "S107")),
        (saga("step \"a\" {\n delay = 5\n}"), here(6, "S107")),
        (
            saga(&format!("timeout = \"soon\"\n{INSERT}")),
            here(5, "S107"),
        ),
        // S201
        (
            with("connector \"x\" {\n type = \"http\"\n base_url = env(\"NOWHERE\")\n}"),
            here(2, "S201"),
        ),
        // S203
        (
            saga(&format!(
                "{INSERT}\n}}\nsaga \"t\" {{\n from {{\n connector = \"api\"\n operation = \"POST /s\"\n }}\n{INSERT}"
            )),
            here(14, "S203"),
        ),
        // Warnings.
        (
            with(&format!("saga \"s\" {{\n{INSERT}\n}}")),
            vec![format!("S301 warning {HERE}")],
        ),
        (
            with("connector \"x\" {\n type = \"rest\"\n port = 8080\n}"),
            vec![format!("S302 warning {}", HERE + 2)],
        ),
        (
            with("service {\n workflow {\n storage = \"db\"\n api { port = 9091 }\n }\n}"),
            vec![format!("S302 warning {}", HERE + 3)],
        ),
        (
            action("connector = \"other\"\n operation = \"get\"\n data = {\n a = 1\n}"),
            vec![
                format!("S303 warning {}", HERE + 7),
                format!("S302 warning {}", HERE + 9),
            ],
        ),
        (
            action("connector = \"other\"\n operation = \"do\""),
            vec![format!("S303 warning {}", HERE + 7)],
        ),
        (
            action(
                "connector = \"db\"\n operation = \"UPDATE\"\n target = \"t\"\n set = {\n n = \"n + 1\"\n m = \"n + input.one\"\n text = \"on-hold\"\n}\n where = { id = 1 }",
            ),
            vec![format!("S305 warning {}", HERE + 11)],
        ),
        (
            action(
                "connector = \"db\"\n operation = \"SELECT\"\n target = \"t\"\n where = { id = 1 }",
            ),
            vec![format!("S302 warning {}", HERE + 10)],
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = {\n a = \"imput.amount\"\n b = \"steps.a.id\"\n c = \"order.id\"\n}",
            ),
            vec![
                format!("S306 warning {}", HERE + 10),
                format!("S306 warning {}", HERE + 11),
            ],
        ),
        (
            flow(
                "state_transition {\n machine = \"sm\"\n entity = \"'order/1'\"\n id = \"input.id\"\n event = \"'e' + input.e\"\n}",
            ),
            vec![format!("S306 warning {}", HERE + 12)],
        ),
        (
            with(
                "saga \"s\" {\n from {\n connector = \"gate\"\n operation = \"POST /s\"\n}\nstep \"a\" { delay = \"1s\" }\n}",
            ),
            vec![format!("S303 warning {}", HERE + 2)],
        ),
    ];
    let mut seen = BTreeSet::new();
    for (text, expected) in cases {
        let found = found(&text);
        if expected.is_empty() {
            // The parser may report it, or the reader.
            assert!(!found.is_empty(), "{text}");
            continue;
        }
        assert_eq!(found, expected, "{text}");
        seen.extend(expected.iter().map(|one| one[..4].to_owned()));
    }
    // The two others are about what is stored and about settings.
    let known = RULES.iter().map(|rule| rule.code.to_owned());
    let elsewhere = ["S202", "S304"].map(str::to_owned);
    let known: BTreeSet<_> = known.filter(|code| !elsewhere.contains(code)).collect();
    assert_eq!(seen, known);
}

#[test]
fn every_operation_of_a_database_is_accepted() {
    for (operation, values) in [
        ("INSERT_ONE", "data = { a = 1 }"),
        ("UPSERT", "data = { id = 1 }"),
        ("upsert", "data = { a = 1 }\n where = { b = 2 }"),
        ("UPDATE_ONE", "set = { a = 1 }\n where = { id = 1 }"),
        ("DELETE_ONE", "where = { id = 1 }"),
        ("GET", "params = { id = 1 }"),
    ] {
        let lines =
            format!("connector = \"db\"\n operation = \"{operation}\"\n target = \"t\"\n {values}");
        assert_eq!(found(&action(&lines)), Vec::<String>::new(), "{operation}");
    }
}

#[test]
fn a_member_receives_what_its_operation_is_given() {
    for (values, expected) in [
        (
            "data = { n = \"input.n\" }",
            r#"{"operation":"reserve","payload":{"n":1}}"#,
        ),
        (
            "body = { n = \"input.n\" }",
            r#"{"operation":"reserve","payload":{"n":1}}"#,
        ),
        (
            "params = { n = \"input.n\" }",
            r#"{"operation":"reserve","params":{"n":1}}"#,
        ),
    ] {
        let lines = format!("connector = \"m\"\n operation = \"reserve\"\n {values}");
        let (bundle, _) = read_all(&[("a.hcl", &action(&lines))]);
        let bundle = bundle.expect("it is valid");
        let call = bundle.sagas[0].steps[0].action.as_ref().expect("a call");
        assert_eq!(request(call, r#"{"n":1}"#), expected);
    }
}

#[test]
fn all_findings_of_all_files_are_reported_at_once() {
    let (bundle, findings) = read_all(&[
        ("b.hcl", "saga \"a\" {\n"),
        (
            "a.hcl",
            "thing {}\nsaga \"a\" {\n x = 1\n step \"s\" { delay = \"7w\" }\n}\n",
        ),
        ("mail.html", "saga {{.field}}"),
    ]);
    assert!(bundle.is_none());
    let listed: Vec<_> = findings
        .listed()
        .iter()
        .map(|finding| {
            format!(
                "{} {}",
                finding.code,
                finding.location.as_deref().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            "S101 b.hcl:1",
            "S102 a.hcl:1",
            "S301 a.hcl:2",
            "S102 a.hcl:3",
            "S107 a.hcl:4"
        ]
    );
    assert_eq!(findings.listed()[1].severity, Severity::Error);
}

#[test]
fn every_message_says_what_to_do() {
    for (text, part) in [
        (saga("step \"a\" {\n delay = \"7w\"\n}"), "write \"300ms\""),
        (with("connector \"x\" { type = \"http\" }"), "add base_url"),
        (saga("step \"a\" {}"), "add action, delay or await"),
        (with("thing \"x\" {}"), "known are service, connector, saga"),
        (saga(&format!("step = 1\n{INSERT}")), "step is a block"),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = { a = \"See input.txt\" }",
            ),
            "single quotes",
        ),
        (
            action(
                "connector = \"e\"\n operation = \"DELETE\"\n target = \"order/1\"\n where = { sku = \"A\" }",
            ),
            "add where = { id = ",
        ),
        (
            action(
                "connector = \"web\"\n operation = \"POST /x\"\n body = { a = \"imput.amount\" }",
            ),
            "did you mean \"input.amount\"?",
        ),
    ] {
        let (_, findings) = read_all(&[("a.hcl", &text)]);
        assert!(findings.to_string().contains(part), "{findings}");
    }
}

/// The parser has limits of its own; this shows that they hold on the stack of any thread.
#[test]
fn what_nests_deep_is_answered() {
    let nested = |open: &str, close: &str, times: usize| {
        format!("a = {}1{}\n", open.repeat(times), close.repeat(times))
    };
    for times in [60, 64, 65, 120, 10_000] {
        for text in [
            nested("[", "]", times),
            nested("(", ")", times),
            nested("{a=", "}", times),
            nested("\"${", "}\"", times),
            nested("!", "", times),
            nested("-", "", times),
            nested("1+", "", times),
            nested("1?1:", "", times),
            nested("f(", ")", times),
            nested("[for x in ", ": x]", times),
            format!("a = \"{}\"", "%{if a}".repeat(times)),
            format!("{}{}", "a {\n ".repeat(times), "}\n".repeat(times)),
            "a {".repeat(times),
        ] {
            let (bundle, findings) = read_all(&[("a.hcl", &text)]);
            assert!(bundle.is_none() && findings.has_errors(), "{text}");
        }
    }
}

#[test]
fn large_texts_are_read_in_bounded_time() {
    let long = "x".repeat(1 << 20);
    let (bundle, findings) = read_all(&[(
        "a.hcl",
        &action(&format!(
            "connector = \"web\"\n operation = \"POST /x\"\n body = {{ a = \"{long}\" }}"
        )),
    )]);
    assert!(bundle.is_some(), "{findings}");
    let saga = |n: usize| format!("saga \"s{n}\" {{\n step \"a\" {{\n delay = \"1s\"\n }}\n}}\n");
    let many: Vec<_> = (0..2_000).map(saga).collect();
    let many = many.concat();
    let (bundle, _) = read_all(&[("a.hcl", &many)]);
    assert_eq!(bundle.expect("valid").sagas.len(), 2_000);
}

proptest! {
    #[test]
    fn any_text_of_signs_is_answered(text in "[a-c \"{}\\[\\]()=.,:$%!?<>*/#\\\\\n0-9é-]{0,200}") {
        let (bundle, findings) = read_all(&[("a.hcl", &text)]);
        prop_assert_eq!(bundle.is_none(), findings.has_errors());
    }

    /// A file in which one byte is another, or is not there, is answered.
    #[test]
    fn a_damaged_file_is_answered(
        example in 0..EXAMPLES.len(),
        at in any::<prop::sample::Index>(),
        byte in 0_u8..128,
        removed in any::<bool>(),
    ) {
        let mut bytes = EXAMPLES[example].1.as_bytes().to_vec();
        let at = at.index(bytes.len());
        if removed {
            bytes.remove(at);
        } else {
            bytes[at] = byte;
        }
        let text = String::from_utf8(bytes).expect("ASCII");
        let (bundle, findings) = read_all(&[("a.hcl", &text)]);
        prop_assert_eq!(bundle.is_none(), findings.has_errors());
    }
}
