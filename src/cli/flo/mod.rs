//! `flo`, and `interlock flo`: step workflows, their actions, workers and topics (`runs.md` §4.1).

mod action;
mod history;
mod run;
mod stream;
mod task;
pub(super) mod validate;
mod worker;
mod workflow;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Create, start, signal and follow workflows.
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// Register and invoke actions.
    #[command(subcommand)]
    Action(action::Command),
    /// Work on tasks as a worker that pulls them.
    #[command(subcommand)]
    Worker(worker::Command),
    /// Publish events to topics, and read them.
    #[command(subcommand)]
    Stream(stream::Command),
    /// Check a document without a service.
    #[command(subcommand)]
    Validate(validate::Command),
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Workflow(command) => workflow::run(command),
        Command::Action(command) => action::run(command),
        Command::Worker(command) => worker::run(command),
        Command::Stream(command) => stream::run(command),
        Command::Validate(command) => validate::run(command),
    }
}
