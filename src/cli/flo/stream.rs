//! `flo stream`: topics, which Flo calls streams.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::client;
use crate::cli::remote::{Error, Json, Options, PAGE, Service, maybe, number, with_service};
use crate::event::payload::{Object, list};

#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// Append an event to a topic and print its sequence.
    #[command(after_help = "\
Examples:
  flo stream append orders '{\"order_id\":\"ORD-123\"}'
  flo stream append payments '{\"payment_id\":\"p-1\"}' --type payment.refunded --key C-7

A topic begins with its first event. Triggers that name it start runs.

Topics: interlock help runs.")]
    Append(Append),
    /// Print the events of a topic, one JSON object per line.
    #[command(
        after_help = "Examples:\n  flo stream read orders\n  flo stream read orders --from 42 | jq .payload\n\nTopics: interlock help runs."
    )]
    Read(Read),
}

#[derive(Args)]
pub(in crate::cli) struct Append {
    /// The name of the topic.
    name: String,
    /// The payload of the event.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    payload: Json,
    /// The key: triggers with mode `key_shared` start the runs of one key in order.
    #[arg(long)]
    key: Option<String>,
    /// The type, which plans can name to clear their caches.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(in crate::cli) struct Read {
    /// The name of the topic.
    name: String,
    /// Print what follows this sequence.
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    from: u64,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Append(given) => with_service(&given.options, |to| append(to, given)),
        Command::Read(given) => with_service(&given.options, |to| read(to, given)),
    }
}

async fn append(service: Service<'_>, given: &Append) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Published {
        sequences: Vec<u64>,
    }
    let event = Object::new().raw("payload", given.payload.get());
    let event = maybe(event, "type", given.kind.as_deref());
    let event = maybe(event, "key", given.key.as_deref()).finish();
    let request = |object| {
        let object = service.in_namespace(object).text("topic", &given.name);
        object.raw("events", &list([&event]))
    };
    let answer = service.ask("TopicPublish", request).await?;
    if service.is_json() {
        show!("{answer}");
        return Ok(());
    }
    let Published { sequences } = client::read(&answer)?;
    for sequence in sequences {
        show!("{sequence}");
    }
    Ok(())
}

async fn read(service: Service<'_>, given: &Read) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Page {
        /// The newest event of the topic.
        last: u64,
        items: Vec<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    struct Numbered {
        sequence: u64,
    }
    let mut reached = given.from;
    loop {
        let request = |object| {
            let object = service.in_namespace(object).text("topic", &given.name);
            let object = object.raw("fromSequence", &reached.to_string());
            number(object, "limit", PAGE)
        };
        let answer = service.ask("TopicGet", request).await?;
        let Page { last, items } = client::read(&answer)?;
        for item in &items {
            show!("{item}");
            reached = client::read::<Numbered>(item.get())?.sequence;
        }
        // A page of large events has fewer than it may have.
        if items.is_empty() || reached >= last {
            return Ok(());
        }
    }
}
