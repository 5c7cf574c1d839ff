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
    #[command(
        subcommand,
        after_help = "Examples:\n  flo workflow create -f order.yaml\n  flo workflow start process-order '{\"order_id\":\"ORD-123\"}'\n  flo workflow history $RUN --follow\n\nTopics: interlock help runs, flo-documents."
    )]
    Workflow(workflow::Command),
    /// Register and invoke actions.
    #[command(
        subcommand,
        after_help = "Examples:\n  flo action register charge-payment\n  flo action invoke charge-payment '{\"amount\":99.99}'\n\nTopics: interlock help runs, actions."
    )]
    Action(action::Command),
    /// Work on tasks as a worker that pulls them.
    #[command(
        subcommand,
        after_help = "Examples:\n  flo worker register w1 --actions charge-payment\n  flo worker await w1 --actions charge-payment\n  flo worker complete $TASK '{\"charge_id\":\"ch_1\"}'\n\nTopics: interlock help actions, runs."
    )]
    Worker(worker::Command),
    /// Publish events to topics, and read them.
    #[command(
        subcommand,
        after_help = "Examples:\n  flo stream append orders '{\"order_id\":\"ORD-123\"}'\n  flo stream read orders\n\nTopics: interlock help topics, runs."
    )]
    Stream(stream::Command),
    /// Check a document without a service.
    #[command(
        subcommand,
        after_help = "Example:\n  flo validate workflow -f order.yaml\n\nTopics: interlock help flo-documents."
    )]
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
