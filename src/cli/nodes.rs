//! `interlock nodes`: lists the processes that use the database.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use super::{
    Format, block_on,
    client::{self, Target},
    failed,
};
use crate::app::config::Config;
use crate::event::{Event, EventType, payload::Object};
use crate::id::MessageId;
use crate::operation::Route;

#[derive(Args)]
pub(super) struct Arguments {
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    target: Target,
}

/// Why the nodes are not known.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct NodeList {
    error: Option<Refusal>,
    #[serde(default)]
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    name: String,
    address: String,
    version: String,
    live: bool,
    members: u64,
    beat_age_ms: u64,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> ExitCode {
    match block_on(list(config, arguments)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

async fn list(config: &Config, arguments: &Arguments) -> Result<(), Error> {
    let kind = EventType::NodesGetRequest;
    let Some(route) = Route::of(kind) else {
        return Ok(());
    };
    let id = MessageId::fresh().to_string();
    let mut event = Event::ours(kind, Object::new().text("id", &id).finish());
    event.id = id.into();
    let mut answer = String::new();
    let mut keep = |text: &str| {
        text.clone_into(&mut answer);
        Ok(())
    };
    arguments
        .target
        .ask(config, route, event, &mut keep)
        .await?;
    let listed: NodeList = client::read(&answer)?;
    if let Some(refusal) = listed.error {
        return Err(Error::Refused(refusal.message));
    }
    match arguments.format {
        Format::Json => show!("{answer}"),
        Format::Table => table(&listed.nodes),
    }
    Ok(())
}

fn table(nodes: &[Node]) {
    show!(
        "{:<24} {:<36} {:<12} {:>5} {:>8} {:>10}",
        "NODE",
        "ADDRESS",
        "VERSION",
        "LIVE",
        "MEMBERS",
        "BEAT"
    );
    for node in nodes {
        show!(
            "{:<24} {:<36} {:<12} {:>5} {:>8} {:>7} ms",
            node.name,
            node.address,
            node.version,
            if node.live { "yes" } else { "no" },
            node.members,
            node.beat_age_ms
        );
    }
}
