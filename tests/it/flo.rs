//! Step workflows at the command line.

use std::{io::Write as _, path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::support::command;

const VALID: &str = include_str!("fixtures/flo/order-processing.yaml");
const WRONG: &str = "kind: Workflow\nname: w\nversion: 1.0\nstart:\n  run: charge\n  transitions:\n    success: nowhere\n  colour: red\n";

/// Exit code, standard output and standard error of the command that is given the text.
fn validate(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = command(Path::new("."), &[])
        .args(["flo", "validate", "workflow"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // One that reads no input may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_valid_document_is_validated_from_a_file_and_from_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("order.yaml");
    std::fs::write(&file, VALID).expect("writes");
    let file = file.to_str().expect("text");
    for arguments in [["-f", file], ["--file", file], ["-f", "-"]] {
        let (code, printed, error) = validate(&arguments, VALID);
        assert_eq!(
            (code, &*printed, &*error),
            (Some(0), "0 errors, 0 warnings\n", "")
        );
    }
}

#[test]
fn every_finding_is_printed_and_an_error_is_exit_code_1() {
    let (code, printed, _) = validate(&["-f", "-"], WRONG);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 5, "{printed}");
    for (line, code, location) in [
        (lines[0], "[E202] error: ", " at 'start.run'"),
        (lines[1], "[E108] warning: ", " at 'start.colour'"),
        (
            lines[2],
            "[E201] error: ",
            " at 'start.transitions.success'",
        ),
        (lines[3], "[E303] warning: ", ""),
    ] {
        assert!(
            line.starts_with(code) && line.ends_with(location),
            "{printed}"
        );
    }
    assert_eq!(lines[4], "2 errors, 2 warnings");

    let (code, printed, _) = validate(&["-f", "-", "--format", "json"], WRONG);
    assert_eq!((code, printed.lines().count()), (Some(1), 1));
    let answer: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(answer["valid"], json!(false));
    assert_eq!(
        (&answer["errors"], &answer["warnings"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(answer["findings"][0]["code"], "E202");
    assert_eq!(answer["findings"][0]["severity"], "error");
    assert_eq!(answer["findings"][0]["location"], "start.run");
    assert!(answer["findings"][0]["message"].is_string());
}

#[test]
fn warnings_are_exit_code_0_and_json_has_two_names() {
    let odd = VALID.to_owned() + "colour: red\n";
    for option in ["--format", "--output"] {
        let (code, printed, _) = validate(&["-f", "-", option, "json"], &odd);
        let answer: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(code, Some(0));
        assert_eq!(answer["valid"], json!(true));
        assert_eq!(answer["findings"][0]["code"], "E108");
    }
}

#[test]
fn a_document_of_another_namespace_is_refused_where_one_is_named() {
    let text = VALID.to_owned() + "namespace: shop\n";
    for (arguments, expected) in [
        (&["-f", "-"][..], 0),
        (&["-f", "-", "-n", "shop"], 0),
        (&["-f", "-", "--namespace", "default"], 1),
        (&["-f", "-", "-n", "a/b"], 2),
    ] {
        assert_eq!(
            validate(arguments, &text).0,
            Some(expected),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_and_invalid_arguments_say_what_to_do() {
    let (code, _, error) = validate(&["-f", "missing.yaml"], "");
    assert!(
        code == Some(1) && error.contains("cannot read missing.yaml; give the path"),
        "{error}"
    );
    let (code, _, error) = validate(&[], "");
    assert!(
        code == Some(2) && error.contains("--file <FILE>"),
        "{error}"
    );
    let (code, printed, _) = validate(&["-f", "-"], &"x".repeat((1 << 20) + 1));
    assert!(
        code == Some(1) && printed.contains("larger than 1048576 bytes"),
        "{printed}"
    );
}

#[cfg(unix)]
#[test]
fn the_program_is_the_same_under_the_name_flo() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("flo");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_interlock"), &link).expect("links");
    let output = std::process::Command::new(&link)
        .args(["validate", "workflow", "--help"])
        .output()
        .expect("runs");
    let help = String::from_utf8(output.stdout).expect("text");
    assert!(
        output.status.success() && help.contains("Examples:"),
        "{help}"
    );
    let output = std::process::Command::new(&link)
        .arg("--version")
        .output()
        .expect("runs");
    let version = String::from_utf8(output.stdout).expect("text");
    assert!(version.starts_with("interlock 0."), "{version}");
}
