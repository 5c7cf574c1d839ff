//! `flo validate`: checks a document without a service.

use std::{
    fs::File,
    io::{self, Read},
    process::ExitCode,
};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::failed;
use crate::cli::remote::{Format, namespace};
use crate::dialect::{DOCUMENT_BYTES_MAX, Finding, Findings, flo::Document};

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Check the document of a step workflow and print every finding.
    #[command(after_help = "\
Examples:
  interlock flo validate workflow -f order.yaml
  interlock flo validate workflow -f - < order.json
  interlock flo validate workflow -f order.yaml --format json | jq '.findings[].code'

The document is YAML or JSON, of at most 1 MiB. Errors refuse it, warnings do not. The exit code is
0 without errors, 1 with errors or if the file cannot be read, 2 for invalid arguments.

Topics: interlock help flo-documents.")]
    Workflow(Workflow),
}

#[derive(Args)]
pub(in crate::cli) struct Workflow {
    /// The document, or - for standard input.
    #[arg(short, long, value_name = "FILE")]
    file: String,
    /// The namespace the document is for: one that names another is refused.
    #[arg(short, long, value_parser = namespace)]
    namespace: Option<String>,
    /// How the findings are printed: a line each and the totals, or one JSON object.
    #[arg(long, visible_alias = "output", value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Why there are no findings.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {0}; give the path of a document, or - for standard input")]
pub(in crate::cli) struct Unreadable(String, #[source] io::Error);

/// What `--format json` prints: the answer of a validation by the service.
#[derive(Serialize)]
struct Validated<'a> {
    valid: bool,
    errors: usize,
    warnings: usize,
    findings: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a str>,
}

impl<'a> From<&'a Finding> for Listed<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity.as_str(),
            message: &finding.message,
            location: finding.location.as_deref(),
        }
    }
}

pub(super) fn run(command: &Command) -> ExitCode {
    let Command::Workflow(arguments) = command;
    let document = match read(&arguments.file) {
        Ok(document) => document,
        Err(error) => return failed(&error),
    };
    let (_, findings) = Document::read_in(arguments.namespace.as_deref(), &document);
    match arguments.format {
        Format::Text => show!("{findings}"),
        Format::Json => show!("{}", json(&findings)),
    }
    if findings.has_errors() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The bytes of a file, of which no more are read than show that it is too large.
pub(in crate::cli) fn read(file: &str) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    let most = DOCUMENT_BYTES_MAX as u64 + 1;
    let read = if file == "-" {
        io::stdin().take(most).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Unreadable(file.to_owned(), error)),
    }
}

fn json(findings: &Findings) -> String {
    let validated = Validated {
        valid: !findings.has_errors(),
        errors: findings.errors(),
        warnings: findings.warnings(),
        findings: findings.listed().iter().map(Listed::from).collect(),
    };
    serde_json::to_string(&validated).unwrap_or_default()
}
