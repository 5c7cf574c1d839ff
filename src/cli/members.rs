//! `interlock members`: lists the connected members.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use super::{
    client,
    output::Table,
    remote::{CallOptions, with_service},
};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    options: CallOptions,
}

#[derive(Deserialize)]
struct MemberList {
    members: Vec<Connected>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connected {
    member_id: String,
    tags: Vec<String>,
    joined_at: String,
    last_seen: String,
    in_flight: i64,
    served: i64,
    failed: i64,
    /// The names of actions, if it has announced any.
    #[serde(default)]
    actions: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    with_service(&arguments.options, |service| async move {
        let answer = service.ask("ComputeMembersGet", |asked| asked).await?;
        let listed: MemberList = client::read(&answer)?;
        if service.is_json() {
            show!("{answer}");
        } else {
            table(&listed.members);
        }
        Ok(())
    })
}

fn table(members: &[Connected]) {
    let mut table = Table::new([
        "MEMBER",
        "JOINED",
        "LAST SEEN",
        "OUT",
        "SERVED",
        "FAILED",
        "TAGS",
        "ACTIONS",
    ]);
    for member in members {
        table.row([
            member.member_id.clone(),
            member.joined_at.clone(),
            member.last_seen.clone(),
            member.in_flight.to_string(),
            member.served.to_string(),
            member.failed.to_string(),
            member.tags.join(","),
            member.actions.join(","),
        ]);
    }
    show!("{table}");
}
