//! `interlock help`: the topics that the service also serves over HTTP.

use std::process::ExitCode;

use clap::{CommandFactory as _, ValueEnum};

use super::{WRONG_ARGUMENTS, output};
use crate::app;
use crate::help::{Found, plain};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The topic, with spaces, dots or slashes between its parts, optionally followed by an action.
    topic: Vec<String>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Form::Auto)]
    format: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text on a terminal, Markdown elsewhere.
    Auto,
    Text,
    Markdown,
    Json,
}

impl Form {
    fn resolved(self) -> Self {
        match self {
            Self::Auto if std::io::IsTerminal::is_terminal(&std::io::stdout()) => Self::Text,
            Self::Auto => Self::Markdown,
            Self::Text | Self::Markdown | Self::Json => self,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let library = app::help("/api");
    let asked = arguments.topic.join("/");
    let form = arguments.format.resolved();
    let found = match library.find(&asked) {
        Ok(found) => found,
        Err(error) => return of_command(&arguments.topic, &error),
    };
    let (markdown, described) = match found {
        Found::Everything => (library.summary() + MORE, library.describe()),
        Found::Topic(topic) => (
            library.with_references(topic),
            library.describe_topic(topic),
        ),
        Found::Output(action) => {
            output::print(format_args!("{}", action.text));
            return ExitCode::SUCCESS;
        }
    };
    match form {
        Form::Json => show!("{described:#}"),
        Form::Text => output::print(format_args!("{}", plain(&markdown))),
        Form::Auto | Form::Markdown => output::print(format_args!("{markdown}")),
    }
    ExitCode::SUCCESS
}

const MORE: &str = "
`interlock help <topic>` shows one of them, `interlock <command> --help` what a command takes.
";

/// A word that is not a topic may be a command.
fn of_command(words: &[String], error: &crate::help::Error) -> ExitCode {
    let mut command = super::Arguments::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        let Some(below) = found.find_subcommand_mut(word) else {
            eprintln!("interlock: {error}");
            return ExitCode::from(WRONG_ARGUMENTS);
        };
        found = below;
    }
    output::check(found.print_long_help());
    ExitCode::SUCCESS
}
