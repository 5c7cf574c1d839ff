//! `interlock workflow`: workflows of a running service, or of a file.

use std::{io::Read as _, process::ExitCode, sync::Arc};

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    client::{self, Target},
    failed,
    model::Model,
    output,
    remote::with_service,
};
use crate::event::payload::{ModelName, Object, json, workflow::DiagramFormat};
use crate::workflow::{Entry, Language, Workflow, draw};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Draw workflows in the language of Mermaid or Graphviz.
    #[command(after_help = "\
Examples:
  interlock workflow draw order.json                      a file, without a service
  interlock workflow draw --model order/1                 the workflows of a running service
  interlock workflow draw --model order/1 --format dot | dot -Tsvg > order.svg
  curl -s localhost:8080/api/model/order/1/workflow/export | interlock workflow draw -

The file contains a workflow, a list of workflows, or the body of an import or export. It is
validated as by an import: errors are printed instead of a picture, and warnings beside it.

The picture shows for each transition whether it is automated (if a state has several, in which
order they are tried), manual, scheduled or disabled, its criterion, and its processors with their
modes and tags. In DOT manual transitions are dashed, scheduled ones blue,
disabled ones dotted and gray. A state from which nothing leads on is an end.

Markdown shows Mermaid in a code block of the language mermaid; https://mermaid.live does, too.

Topics: interlock help workflows, criteria, processors, timers.")]
    Draw(Draw),
}

#[derive(Args)]
#[command(group = ArgGroup::new("source").args(["file", "model"]).required(true))]
pub(super) struct Draw {
    /// A JSON file with workflows, or - for standard input.
    file: Option<String>,
    /// Draw the workflows of this model of a running service.
    #[arg(long, value_name = "NAME/VERSION")]
    model: Option<Model>,
    /// The language of the picture.
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    format: Format,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Mermaid,
    Dot,
}

/// Why nothing is drawn.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read {0}")]
    Unreadable(String, #[source] std::io::Error),
    #[error("{0} is not valid JSON: {1}")]
    NotJson(String, serde_json::Error),
    #[error("{0} contains no workflow")]
    Nothing(String),
    #[error(transparent)]
    Workflow(#[from] crate::workflow::Error),
}

pub(super) fn run(command: &Command) -> ExitCode {
    let Command::Draw(arguments) = command;
    match (&arguments.model, &arguments.file) {
        (Some(model), _) => draw_model(arguments, model),
        (None, file) => match draw_file(file.as_deref().unwrap_or("-"), arguments.format) {
            Ok(text) => {
                output::print(format_args!("{text}"));
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        },
    }
}

fn draw_model(arguments: &Draw, model: &Model) -> ExitCode {
    #[derive(Deserialize)]
    struct Drawn {
        text: String,
    }
    let format = match arguments.format {
        Format::Mermaid => DiagramFormat::Mermaid,
        Format::Dot => DiagramFormat::Dot,
    };
    with_service(&arguments.target, |service| async move {
        let payload = |object: Object| {
            let object = object.raw("model", &json(&ModelName::from(model.0.clone())));
            object.text("format", format.as_str())
        };
        let answer = service.ask("EntityWorkflowDiagram", payload).await?;
        let drawn: Drawn = client::read(&answer)?;
        output::print(format_args!("{}", drawn.text));
        Ok(())
    })
}

fn draw_file(file: &str, format: Format) -> Result<String, Error> {
    let (name, text) = read(file)?;
    let mut entries = Vec::new();
    for definition in definitions(&text).map_err(|error| Error::NotJson(name.clone(), error))? {
        let parsed = Workflow::parse(definition.get())?;
        for warning in parsed.warnings.iter().chain(&parsed.workflow.review(None)) {
            eprintln!("warning: {warning}");
        }
        entries.push(Entry {
            workflow: Arc::new(parsed.workflow),
            active: parsed.active.unwrap_or(true),
        });
    }
    if entries.is_empty() {
        return Err(Error::Nothing(name));
    }
    let language = match format {
        Format::Mermaid => Language::Mermaid,
        Format::Dot => Language::Dot,
    };
    Ok(draw(&entries, language))
}

/// The name of a file in messages, and its content.
fn read(file: &str) -> Result<(String, String), Error> {
    let name = if file == "-" { "standard input" } else { file }.to_owned();
    let mut text = String::new();
    let outcome = if file == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    match outcome {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(Error::Unreadable(name, error)),
    }
}

/// The definitions in a file: those of an import or an export, of a list, or the file itself.
fn definitions(text: &str) -> Result<Vec<&RawValue>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(default, borrow)]
        workflows: Option<Vec<&'a RawValue>>,
    }
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text);
    }
    let body: Body<'_> = serde_json::from_str(text)?;
    match body.workflows {
        Some(workflows) => Ok(workflows),
        None => Ok(vec![serde_json::from_str(text)?]),
    }
}
