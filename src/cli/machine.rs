//! `interlock machine`: state machines of bundles, and their events (`runs.md` §7).

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    client,
    output::Table,
    remote::{Error, Json, Options, Service, maybe, maybe_json, with_service},
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List state machines.
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  interlock machine list"
    )]
    List {
        #[command(flatten)]
        options: Options,
    },
    /// Fire an event for a row of a table, or for an entity.
    #[command(after_help = "\
Examples:
  interlock machine fire order_status orders 1 pay
  interlock machine fire order_status orders 1 ship '{\"tracking_number\":\"T1\"}'
  interlock machine fire review documents/2 01a1feaf-9657-73d8-8cc5-0f937d08e621 approve")]
    Fire(Fire),
}

#[derive(Args)]
pub(super) struct Fire {
    /// The state machine.
    machine: String,
    /// The table, or the model, such as documents/2.
    entity: String,
    /// The id of the row or the entity.
    id: String,
    event: String,
    /// What guards and actions read as `input`: a JSON object.
    #[arg(value_name = "JSON")]
    data: Option<Json>,
    /// The connector of the database with the table; by default that of the first flow that names
    /// the state machine.
    #[arg(long)]
    connector: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Deserialize)]
struct Listed {
    machine: String,
    bundle: String,
    initial: String,
    states: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fired {
    entity_id: String,
    previous_state: String,
    current_state: String,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::List { options } => with_service(options, listed),
        Command::Fire(given) => with_service(&given.options, |to| fire(to, given)),
    }
}

async fn listed(service: Service<'_>) -> Result<(), Error> {
    let request = |object| service.in_namespace(object);
    let items = service.items("MachinesGet", usize::MAX, request).await?;
    let mut table = Table::new(["MACHINE", "BUNDLE", "INITIAL", "STATES"]);
    for item in &items {
        if service.is_json() {
            show!("{item}");
            continue;
        }
        let listed: Listed = client::read(item.get())?;
        let states = listed.states.join(", ");
        table.row([listed.machine, listed.bundle, listed.initial, states]);
    }
    if !service.is_json() {
        show!("{table}");
    }
    Ok(())
}

async fn fire(service: Service<'_>, given: &Fire) -> Result<(), Error> {
    let request = |object| {
        let object = service
            .in_namespace(object)
            .text("machine", &given.machine)
            .text("entity", &given.entity)
            .text("entityId", &given.id)
            .text("event", &given.event);
        let object = maybe(object, "connector", given.connector.as_deref());
        maybe_json(object, "data", given.data.as_ref())
    };
    let answer = service.ask("MachineTransition", request).await?;
    if service.is_json() {
        show!("{answer}");
        return Ok(());
    }
    let fired: Fired = client::read(&answer)?;
    let Fired {
        entity_id,
        previous_state,
        current_state,
    } = fired;
    show!("{entity_id}: {previous_state} -> {current_state}");
    Ok(())
}
