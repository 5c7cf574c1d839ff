//! `interlock members`: lists the connected members.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use super::{
    Format, block_on,
    client::{self, Target},
    failed,
    output::Table,
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

/// Why the members are not known.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("{0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct MemberList {
    error: Option<Refusal>,
    #[serde(default)]
    members: Vec<Connected>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
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

pub(super) fn run(config: &Config, arguments: &Arguments) -> ExitCode {
    match block_on(list(config, arguments)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

async fn list(config: &Config, arguments: &Arguments) -> Result<(), Error> {
    let kind = EventType::ComputeMembersGetRequest;
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
    let listed: MemberList = client::read(&answer)?;
    if let Some(refusal) = listed.error {
        return Err(Error::Refused(refusal.message));
    }
    match arguments.format {
        Format::Json => show!("{answer}"),
        Format::Table => table(&listed.members),
    }
    Ok(())
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
