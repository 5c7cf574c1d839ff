//! Modules, good and hostile, written in the text format.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};

use super::*;
use crate::dialect::Severity;

/// Variables in memory, or none that can be reached.
#[derive(Debug, Default)]
struct Kept {
    values: Mutex<BTreeMap<String, Vec<u8>>>,
    is_away: bool,
}

impl Variables for Kept {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, Unavailable>> {
        let value = self.lock().map(|values| values.get(name).cloned());
        Box::pin(async move {
            tokio::task::yield_now().await;
            value
        })
    }

    fn set<'a>(&'a self, name: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), Unavailable>> {
        let done = self.lock().map(|mut values| {
            values.insert(name.to_owned(), value);
        });
        Box::pin(std::future::ready(done))
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, Unavailable>> {
        let done = self.lock().map(|mut values| values.remove(name).is_some());
        Box::pin(std::future::ready(done))
    }
}

impl Kept {
    fn lock(&self) -> Result<MutexGuard<'_, BTreeMap<String, Vec<u8>>>, Unavailable> {
        if self.is_away {
            return Err(Unavailable);
        }
        Ok(self.values.lock())
    }
}

/// What most modules have: a memory, and an allocator that starts at 4096.
const BASE: &str = r#"
  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 4096))
  (func (export "alloc") (param i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.add (global.get $next) (local.get 0)))
    (local.get $at))
  (func (export "dealloc") (param i32 i32))
"#;

/// A module with the base, an entry point of that body, and more before and after.
fn module(imports: &str, body: &str, more: &str) -> String {
    let handle = format!(r#"(func (export "handle") (param i32 i32) (result i64) {body})"#);
    format!("(module {imports} {BASE} {handle} {more})")
}

/// The place and the length of a text at 16, as an entry point returns them.
fn text(text: &str) -> (String, String) {
    let data = format!(r#"(data (i32.const 16) "{}")"#, text.replace('"', "\\\""));
    let packed = (16_u64 << 32) | text.len() as u64;
    (format!("(i64.const {packed})"), data)
}

const ECHO: &str = "(i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) \
                    (i64.extend_i32_u (local.get 1)))";

const FOR_EVER: &str = "(loop (br 0)) (unreachable)";

/// Says that a module runs until its deadline, which is then soon.
const ENDLESS: &str = ";; endless\n";

fn action(wat: &str) -> Action {
    Action {
        name: "tested".into(),
        module: Module::new(wat.as_bytes().to_vec()),
        entrypoint: "handle".into(),
        memory_bytes_max: MEMORY_BYTES_MAX,
        output_bytes_max: 1 << 20,
        timeout: Duration::from_mins(1),
    }
}

fn wasm() -> Wasm {
    Wasm::new(Clock::System, 2, CancellationToken::new())
}

async fn call(wasm: &Wasm, action: Action, input: &str, variables: Arc<Kept>) -> Answer {
    let call = wasm.call(Call {
        tenant: Tenant::from("a"),
        action: Arc::new(action),
        task: "wfrun-1.1".into(),
        input: input.into(),
        variables,
    });
    let limit = Duration::from_mins(2);
    let answer = tokio::time::timeout(limit, call).await;
    answer.expect("it ends").expect("the service runs")
}

/// How a call of the module ends: an outcome with its output, or a code.
async fn ended(wat: &str, input: &str) -> String {
    let mut action = action(wat);
    if wat.contains(FOR_EVER) || wat.contains(ENDLESS) {
        action.timeout = Duration::from_millis(50);
    }
    let answer = call(&wasm(), action, input, Arc::default()).await;
    match answer {
        Answer::Outcome { outcome, output } => format!("{outcome} {output}"),
        Answer::Deadline => "timeout".to_owned(),
        Answer::Lost { code, .. } => code.into(),
    }
}

#[tokio::test]
async fn what_the_entry_point_returns_is_the_outcome() {
    let (fraud, data) = text(r#"{"outcome":"fraud","output":{"score":0.10}}"#);
    for (wat, expected) in [
        (module("", ECHO, ""), r#"success {"order":1.50}"#),
        (module("", "(i64.const 0)", ""), "success {}"),
        (module("", &fraud, &data), r#"fraud {"score":0.10}"#),
        (
            module("", "(i64.const -1)", ""),
            r#"failure {"error":"the module rejected its input","error_code":"INVALID_INPUT"}"#,
        ),
        (
            module("", "(i64.const -2)", ""),
            r#"failure {"error":"the module could not allocate memory","error_code":"ALLOCATION_FAILED"}"#,
        ),
        (
            module("", "(i64.const -77)", ""),
            r#"failure {"error":"the module returned -77","error_code":"EXECUTION_ERROR"}"#,
        ),
    ] {
        assert_eq!(ended(&wat, r#"{"order":1.50}"#).await, expected, "{wat}");
    }
}

/// A module of that entry point.
fn handle(body: &str) -> String {
    module("", body, "")
}

/// A module with more than it needs.
fn with(more: &str) -> String {
    module("", "(i64.const 0)", more)
}

/// What an entry point returns for an output there.
fn output(at: u64, length: u64) -> String {
    format!("(i64.const {})", (at << 32) | length)
}

async fn all_end(modules: &[(&str, String, &str)]) {
    for (name, wat, expected) in modules {
        assert_eq!(ended(wat, "{}").await, *expected, "{name}");
    }
}

#[tokio::test]
async fn a_module_that_takes_too_much_is_stopped() {
    let random = r#"(import "wasi_snapshot_preview1" "random_get"
        (func $random (param i32 i32) (result i32)))"#;
    let random = module(
        random,
        "(loop (drop (call $random (i32.const 0) (i32.const 65536))) (br 0)) (unreachable)",
        ENDLESS,
    );
    let fills = "(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536)) (br 0)) \
                 (unreachable)";
    let start = format!("(func $f {FOR_EVER}) (start $f)");
    let init = format!(r#"(func (export "init") (result i32) {FOR_EVER})"#);
    let grows = "(loop (drop (memory.grow (i32.const 1))) (br 0)) (unreachable)";
    let nests = "(func $f (param i32) (call $f (i32.add (local.get 0) (i32.const 1)))) \
                 (func $start (call $f (i32.const 0))) (start $start)";
    let frames = format!(
        "(func $f (local {}) (call $f)) (start $f)",
        "i64 ".repeat(2_000)
    );
    let huge = "(func $f (drop (memory.grow (i32.const 64)))) (start $f)";
    all_end(&[
        ("loops", handle(FOR_EVER), "timeout"),
        ("start loops", with(&start), "timeout"),
        ("init loops", with(&init), "timeout"),
        ("asks for chance for ever", random, "timeout"),
        (
            "fills memory for ever",
            module("", fills, ENDLESS),
            "timeout",
        ),
        ("grows without end", handle(grows), "WASM_MEMORY_LIMIT"),
        ("calls itself without end", with(nests), "WASM_TRAP"),
        ("has large frames", with(&frames), "WASM_TRAP"),
        (
            "huge output",
            module("", &output(0, 2 << 20), huge),
            "WASM_OUTPUT_TOO_LARGE",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_module_that_breaks_a_rule_gives_no_answer() {
    let exits = module(
        r#"(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))"#,
        "(call $exit (i32.const 0)) (unreachable)",
        "",
    );
    let logs = module(
        r#"(import "flo" "log" (func $log (param i32 i32 i32)))"#,
        "(call $log (i32.const 1) (i32.const 0) (i32.const -1)) (i64.const 0)",
        "",
    );
    let writes = "(i32.store (i32.const -4) (i32.const 1)) (i64.const 0)";
    let divides = "(i64.div_s (i64.const 1) (i64.const 0))";
    let init = r#"(func (export "init") (result i32) unreachable)"#;
    let refuses = r#"(func (export "init") (result i32) (i32.const 3))"#;
    let beyond = output(0x7fff_ffff, 0xffff_ffff);
    all_end(&[
        ("traps", handle("(unreachable)"), "WASM_TRAP"),
        ("divides by zero", handle(divides), "WASM_TRAP"),
        ("writes out of bounds", handle(writes), "WASM_TRAP"),
        (
            "start traps",
            with("(func $f unreachable) (start $f)"),
            "WASM_TRAP",
        ),
        ("init traps", with(init), "WASM_TRAP"),
        ("init refuses", with(refuses), "WASM_INIT_FAILED"),
        ("exits", exits, "WASM_EXITED"),
        ("logs out of bounds", logs, "WASM_TRAP"),
        (
            "output partly outside",
            handle(&output(65_530, 7)),
            "WASM_OUTPUT_INVALID",
        ),
        ("output far outside", handle(&beyond), "WASM_OUTPUT_INVALID"),
        (
            "output of zeros",
            handle(&output(0, 3)),
            "WASM_OUTPUT_INVALID",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_allocator_that_misbehaves_is_no_answer() {
    let memory = r#"(memory (export "memory") 1) (func (export "dealloc") (param i32 i32))
        (func (export "handle") (param i32 i32) (result i64) (i64.const 0))"#;
    for (alloc, expected) in [
        ("(i32.const 0)", "WASM_ALLOCATION_FAILED"),
        ("(i32.const -1)", "WASM_ALLOCATION_FAILED"),
        ("(i32.const 65535)", "WASM_ALLOCATION_FAILED"),
        ("(i32.const 65534)", "success {}"),
        ("(unreachable)", "WASM_TRAP"),
        (FOR_EVER, "timeout"),
    ] {
        let wat = format!(
            r#"(module {memory} (func (export "alloc") (param i32) (result i32) {alloc}))"#
        );
        assert_eq!(ended(&wat, "{}").await, expected, "{alloc}");
    }
}

async fn findings(action: Action) -> Vec<&'static str> {
    let found = wasm().check(&Tenant::from("a"), &action).await;
    let found = found.listed();
    assert!(found.iter().all(|one| one.severity == Severity::Error));
    assert!(found.iter().all(|one| one.location.is_some()));
    found.iter().map(|one| one.code).collect()
}

#[tokio::test]
async fn a_module_that_cannot_be_called_is_refused_with_all_findings() {
    let handle = r#"(func (export "handle") (param i32 i32) (result i64) (i64.const 0))"#;
    let good = module("", "(i64.const 0)", "");
    let foreign = r#"(import "env" "abort" (func)) (import "flo" "sleep" (func))
        (import "flo" "limit" (global i32))"#;
    for (wat, expected) in [
        (good.clone(), &[][..]),
        (String::new(), &["W101"]),
        ("{}".to_owned(), &["W101"]),
        ("(module (func (result i32)))".to_owned(), &["W101"]),
        ("\0asm".to_owned(), &["W101"]),
        ("\0asm\x01\0\0\0\x08\x01\x07".to_owned(), &["W101"]),
        ("(".repeat(100_000), &["W101"]),
        ("(module)".to_owned(), &["W102", "W102", "W102"]),
        (format!("(module {BASE})"), &["W102"]),
        (
            format!(r#"(module {handle} (memory (export "memory") 1))"#),
            &["W102", "W102"],
        ),
        (
            format!(
                r#"(module (func (export "memory")) (global (export "alloc") i32 (i32.const 1))
                (func (export "dealloc") (param i32)) (func (export "init")) {handle})"#
            ),
            &["W103", "W103", "W103", "W103"],
        ),
        (
            format!(
                r#"(module {BASE} (func (export "handle") (param i32) (result i64) (i64.const 0)))"#
            ),
            &["W103"],
        ),
        (
            format!("(module {foreign} {BASE} {handle})"),
            &["W104", "W104", "W104"],
        ),
        (
            module(
                r#"(import "flo" "log" (func (param i64)))"#,
                "(i64.const 0)",
                "",
            ),
            &["W105"],
        ),
        (good.replace("\"memory\") 1", "\"memory\") 257"), &["W106"]),
        (
            good.replace("\"memory\") 1", "\"memory\") i64 1"),
            &["W101"],
        ),
        (good.replace("(global", "(memory 1) (global"), &["W101"]),
        (
            module("", "(i64.const 0)", "(table 20000 funcref)"),
            &["W107"],
        ),
        (
            module("", "(i64.const 0)", r#"(data (i32.const 65535) "ab")"#),
            &["W107"],
        ),
        (
            module(
                "",
                "(i64.const 0)",
                &format!("(;{};)", "x".repeat(MODULE_BYTES_MAX)),
            ),
            &["W101"],
        ),
    ] {
        let begins = &wat[..wat.len().min(300)];
        let found = findings(action(&wat)).await;
        assert_eq!(found, expected, "{begins}");
    }
}

#[tokio::test]
async fn an_action_says_which_function_is_called_and_how_much_memory_there_is() {
    let good = module("", "(i64.const 0)", "");
    let other = r#"(func (export "other") (param i32 i32) (result i64) (i64.const -3))"#;
    let other = module("", "(i64.const 0)", other);
    for (wat, entrypoint, memory, expected) in [
        (&good, "other", MEMORY_BYTES_MAX, &["W102"][..]),
        (&good, "alloc", MEMORY_BYTES_MAX, &["W103"]),
        (&good, "handle", 65_535, &["W106"]),
        (&good, "handle", 65_536, &[]),
        (&good, "handle", MEMORY_BYTES_MAX + 1, &["W106"]),
        (&other, "other", MEMORY_BYTES_MAX, &[]),
    ] {
        let mut action = action(wat);
        action.entrypoint = entrypoint.into();
        action.memory_bytes_max = memory;
        assert_eq!(findings(action).await, expected, "{entrypoint} {memory}");
    }
    let mut named = action(&other);
    named.entrypoint = "other".into();
    let answer = call(&wasm(), named, "{}", Arc::default()).await;
    assert!(matches!(answer, Answer::Outcome { outcome, .. } if &*outcome == "failure"));
    let unknown = call(&wasm(), action("(module)"), "{}", Arc::default()).await;
    assert!(matches!(unknown, Answer::Lost { code, .. } if &*code == "WASM_MODULE_INVALID"));
}

#[tokio::test]
async fn functions_that_are_not_the_entry_point_are_called_before_it_in_order() {
    let more = r#"
        (func $digit (param i32)
          (global.set $at (i32.add (global.get $at) (i32.const 1)))
          (i32.store8 (i32.add (i32.const 15) (global.get $at)) (local.get 0)))
        (global $at (mut i32) (i32.const 0))
        (func $start (call $digit (i32.const 49))) (start $start)
        (func (export "_initialize") (call $digit (i32.const 50)))
        (func (export "init") (result i32) (call $digit (i32.const 51)) (i32.const 0))"#;
    let three = format!("(i64.const {})", (16_u64 << 32) | 3);
    assert_eq!(ended(&module("", &three, more), "{}").await, "success 123");
    // The start function of a module without other exports before it.
    let bare = format!(
        r#"(module (func $f (i32.store8 (i32.const 16) (i32.const 55))) (start $f) {BASE}
           (func (export "handle") (param i32 i32) (result i64) (i64.const {})))"#,
        (16_u64 << 32) | 1
    );
    assert_eq!(ended(&bare, "{}").await, "success 7");
}

#[tokio::test]
async fn each_call_has_an_instance_of_its_own() {
    let count = format!(
        "(i32.store8 (i32.const 16) (i32.add (i32.load8_u (i32.const 16)) (i32.const 1))) \
         (i64.const {})",
        (16_u64 << 32) | 1
    );
    let (wasm, wat) = (wasm(), module("", &count, r#"(data (i32.const 16) "0")"#));
    for _ in 0..3 {
        let answer = call(&wasm, action(&wat), "{}", Arc::default()).await;
        let expected = Answer::Outcome {
            outcome: "success".into(),
            output: "1".into(),
        };
        assert_eq!(answer, expected);
    }
}

const KV: &str = r#"
  (import "flo" "kv_get" (func $get (param i32 i32 i32 i32) (result i32)))
  (import "flo" "kv_set" (func $set (param i32 i32 i32 i32) (result i32)))
  (import "flo" "kv_delete" (func $delete (param i32 i32) (result i32)))"#;

/// Calls a function about variables and returns minus a thousand minus its code.
async fn code(body: &str, variables: &Arc<Kept>) -> String {
    let body = format!("(i64.sub (i64.const -1000) (i64.extend_i32_s {body}))");
    let wat = module(KV, &body, r#"(data (i32.const 16) "name and value")"#);
    match call(&wasm(), action(&wat), "{}", Arc::clone(variables)).await {
        Answer::Outcome { output, .. } => {
            let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
            let error = output["error"].as_str().expect("a text");
            let returned = error.strip_prefix("the module returned ").expect("a code");
            (-1000 - returned.parse::<i64>().expect("a number")).to_string()
        }
        other @ (Answer::Deadline | Answer::Lost { .. }) => format!("{other:?}"),
    }
}

const GET: &str = "(call $get (i32.const 16) (i32.const 4) (i32.const 100) (i32.const 5))";
const SET: &str = "(call $set (i32.const 16) (i32.const 4) (i32.const 25) (i32.const 5))";
const DELETE: &str = "(call $delete (i32.const 16) (i32.const 4))";

#[tokio::test]
async fn variables_are_read_and_written_with_the_documented_codes() {
    let (kept, away) = (
        Arc::new(Kept::default()),
        Arc::new(Kept {
            is_away: true,
            ..Kept::default()
        }),
    );
    for (body, expected) in [
        (GET, "-1"),
        (DELETE, "-1"),
        (SET, "0"),
        (GET, "5"),
        (
            "(call $get (i32.const 16) (i32.const 4) (i32.const 100) (i32.const 4))",
            "-3",
        ),
        (
            "(call $get (i32.const 16) (i32.const 4) (i32.const 65535) (i32.const 5))",
            "-6",
        ),
        (
            "(call $get (i32.const 16) (i32.const -1) (i32.const 100) (i32.const 5))",
            "-6",
        ),
        (
            "(call $get (i32.const 16) (i32.const 0) (i32.const 100) (i32.const 5))",
            "-6",
        ),
        (
            "(call $get (i32.const 16) (i32.const 257) (i32.const 100) (i32.const 5))",
            "-6",
        ),
        (
            "(call $set (i32.const -1) (i32.const 4) (i32.const 25) (i32.const 5))",
            "-6",
        ),
        (
            "(call $set (i32.const 16) (i32.const 4) (i32.const 25) (i32.const -5))",
            "-6",
        ),
        ("(call $delete (i32.const 70000) (i32.const 4))", "-6"),
    ] {
        assert_eq!(code(body, &kept).await, expected, "{body}");
    }
    let stored = kept.lock().expect("there").get("name").cloned();
    assert_eq!(stored.as_deref(), Some(&b"value"[..]));
    for body in [GET, SET, DELETE] {
        assert_eq!(code(body, &away).await, "-5", "{body}");
    }
    assert_eq!(code(DELETE, &kept).await, "0");
    assert_eq!(code(GET, &kept).await, "-1");
    // What is too small for the value is left as it was; what has room holds the value.
    let body = "(drop (call $set (i32.const 16) (i32.const 4) (i32.const 25) (i32.const 5))) \
                (drop (call $get (i32.const 16) (i32.const 4) (i32.const 201) (i32.const 5))) \
                (i32.store8 (i32.const 200) (i32.const 34)) \
                (i32.store8 (i32.const 206) (i32.const 34)) ";
    let body = format!("{body} (i64.const {})", (200_u64 << 32) | 7);
    let wat = module(KV, &body, r#"(data (i32.const 16) "name and value")"#);
    let answer = call(&wasm(), action(&wat), "{}", kept).await;
    assert!(matches!(answer, Answer::Outcome { output, .. } if &*output == r#""value""#));
}

const WASI: &str = r#"
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))"#;

#[tokio::test]
async fn a_module_built_against_wasi_finds_time_chance_and_a_log() {
    let micros = 1_795_000_000_000_000;
    let clock = crate::clock::ManualClock::default();
    clock.set(crate::clock::Timestamp::from_micros(micros));
    let data = r#"(data (i32.const 16) "\18\00\00\00\05\00\00\00hello")"#;
    for (body, expected) in [
        // The real time, in nanoseconds.
        (
            "(drop (call $clock (i32.const 0) (i64.const 1) (i32.const 100))) \
             (i64.sub (i64.const 0) (i64.load (i32.const 100)))",
            format!("the module returned -{}", micros * 1_000),
        ),
        (
            "(i64.sub (i64.const -100) (i64.extend_i32_s \
             (call $clock (i32.const 9) (i64.const 1) (i32.const 100))))",
            "the module returned -128".to_owned(),
        ),
        // Eight random bytes are not all zero.
        (
            "(drop (call $random (i32.const 100) (i32.const 8))) \
             (i64.sub (i64.const -100) (i64.extend_i32_s \
             (i64.eqz (i64.load (i32.const 100)))))",
            "the module returned -100".to_owned(),
        ),
        // As many bytes are written as there are.
        (
            "(drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 100))) \
             (i64.sub (i64.const -100) (i64.load (i32.const 100)))",
            "the module returned -105".to_owned(),
        ),
        (
            "(i64.sub (i64.const -100) (i64.extend_i32_s \
             (call $write (i32.const 3) (i32.const 16) (i32.const 1) (i32.const 100))))",
            "the module returned -108".to_owned(),
        ),
        (
            "(i64.sub (i64.const -100) (i64.extend_i32_s \
             (call $write (i32.const 1) (i32.const 65530) (i32.const 1) (i32.const 100))))",
            "the module returned -121".to_owned(),
        ),
        (
            "(i64.store (i32.const 100) (i64.const -1)) \
             (drop (call $args (i32.const 100) (i32.const 104))) \
             (i64.sub (i64.const -100) (i64.load (i32.const 100)))",
            "the module returned -100".to_owned(),
        ),
        (
            "(i64.sub (i64.const -100) (i64.extend_i32_s (call $close (i32.const 1))))",
            "the module returned -108".to_owned(),
        ),
    ] {
        let wasm = Wasm::new(Clock::Manual(clock.clone()), 1, CancellationToken::new());
        let wat = module(WASI, body, data);
        let answer = call(&wasm, action(&wat), "{}", Arc::default()).await;
        let Answer::Outcome { output, .. } = answer else {
            panic!("{body}: {answer:?}");
        };
        assert!(output.contains(&expected), "{body}: {output}");
    }
}

#[tokio::test]
async fn a_call_that_loops_leaves_others_their_turns() {
    let (wasm, loops) = (
        Wasm::new(Clock::System, 1, CancellationToken::new()),
        module("", FOR_EVER, ""),
    );
    let endless = tokio::spawn({
        let wasm = wasm.clone();
        async move { call(&wasm, action(&loops), "{}", Arc::default()).await }
    });
    for number in 0..20 {
        let input = number.to_string();
        let answer = wasm.call(Call {
            tenant: Tenant::from("b"),
            action: Arc::new(action(&module("", ECHO, ""))),
            task: "wfrun-2.1".into(),
            input: input.as_str().into(),
            variables: Arc::new(Kept::default()),
        });
        let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
        let answer = answer.expect("its turn comes").expect("the service runs");
        assert!(matches!(answer, Answer::Outcome { output, .. } if *output == *input));
    }
    // Nobody waits for the other one any more: its place is free for its own tenant, too.
    endless.abort();
    assert!(endless.await.expect_err("aborted").is_cancelled());
    let echo = action(&module("", ECHO, ""));
    let answer = call(&wasm, echo, "7", Arc::default()).await;
    assert!(matches!(answer, Answer::Outcome { output, .. } if &*output == "7"));
}

#[test]
fn a_slice_gets_the_fuel_that_lasts_for_it() {
    let ms = Duration::from_millis;
    for (given, took, expected) in [
        (200_000, ms(2), 200_000),
        (200_000, ms(1), 400_000),
        (200_000, Duration::ZERO, 800_000),
        (200_000, ms(3), 133_333),
        (200_000, ms(100), 100_000),
        (FUEL_MIN, ms(100), FUEL_MIN),
        (FUEL_MAX, ms(1), FUEL_MAX),
    ] {
        assert_eq!(next_fuel(given, took), expected, "{given} in {took:?}");
    }
}

#[tokio::test]
async fn the_example_modules_serve_the_quick_start() {
    let (wasm, kept) = (wasm(), Arc::new(Kept::default()));
    macro_rules! example {
        ($name:literal) => {
            action(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/clients/python/examples/flo/modules/",
                $name,
                ".wat"
            )))
        };
    }
    let large = format!(r#"{{"x":"{}","order_id":1}}"#, "y".repeat(900_000));
    let order = r#"{"order_id":"ORD-123","amount":99.99}"#;
    let validate = example!("validate-order");
    let (charge, ship) = (example!("charge-payment"), example!("create-shipment"));
    for (action, input, outcome, output) in [
        (&validate, order, "success", r#"{"valid":true}"#),
        (&validate, &large, "success", r#"{"valid":true}"#),
        (&validate, "{}", "failure", "INVALID_INPUT"),
        (&validate, r#"{"order_i":1}"#, "failure", "INVALID_INPUT"),
        (&charge, order, "success", r#"{"charge_id":"ch_00001"}"#),
        (&charge, order, "success", r#"{"charge_id":"ch_00002"}"#),
        (&ship, order, "success", r#"{"tracking":"TRK-"#),
    ] {
        let tenant = Tenant::from("a");
        assert_eq!(wasm.check(&tenant, action).await.listed(), []);
        let answer = call(&wasm, action.clone(), input, Arc::clone(&kept)).await;
        let Answer::Outcome {
            outcome: is,
            output: has,
        } = &answer
        else {
            panic!("{answer:?}");
        };
        assert_eq!(&**is, outcome);
        assert!(has.contains(output), "{has}");
    }
    for _ in 2..10 {
        call(&wasm, charge.clone(), order, Arc::clone(&kept)).await;
    }
    let stored = kept.lock().expect("there").get("charges").cloned();
    assert_eq!(stored.as_deref(), Some(&b"00010"[..]));
}

#[tokio::test]
async fn a_call_ends_without_an_answer_when_the_service_stops() {
    let stop = CancellationToken::new();
    let wasm = Wasm::new(Clock::System, 1, stop.clone());
    let mut calling = Box::pin(wasm.call(Call {
        tenant: Tenant::from("a"),
        action: Arc::new(action(&handle(FOR_EVER))),
        task: "wfrun-1.1".into(),
        input: "{}".into(),
        variables: Arc::new(Kept::default()),
    }));
    assert!(futures_util::poll!(&mut calling).is_pending());
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), calling).await;
    assert_eq!(ended.expect("it ends"), None);
}
