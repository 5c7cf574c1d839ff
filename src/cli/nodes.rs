//! `interlock nodes`: lists the processes that use the database.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use super::{
    client,
    remote::{CallOptions, with_service},
};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    options: CallOptions,
}

#[derive(Deserialize)]
struct NodeList {
    nodes: Vec<Node>,
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

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    with_service(&arguments.options, |service| async move {
        let answer = service.ask("NodesGet", |asked| asked).await?;
        let listed: NodeList = client::read(&answer)?;
        if service.is_json() {
            show!("{answer}");
        } else {
            table(&listed.nodes);
        }
        Ok(())
    })
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
