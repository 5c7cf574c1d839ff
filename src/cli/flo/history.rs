//! `flo workflow history`: what has happened in a run, and what happens next.

use std::{ops::ControlFlow, process::ExitCode, time::Duration};

use clap::Args;
use serde::{Deserialize, Serialize};

use super::run::Run;
use crate::cli::client;
use crate::cli::output;
use crate::cli::remote::{
    Error, Options, PAGE, Pagination, Refusal, Service, number, refused, with_service,
};
use crate::clock::Timestamp;
use crate::event::payload::Object;

/// The pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);

/// How many events are printed unless a number is given.
const USUAL: usize = 100;

#[derive(Args)]
pub(in crate::cli) struct History {
    /// The id of the run.
    run: String,
    /// How many events at most; by default 100, with --follow all.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print events as they happen, until the run ends.
    #[arg(long)]
    follow: bool,
    /// Print what follows this sequence.
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    from: u64,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryEvent {
    sequence: u64,
    event_type: String,
    detail: String,
    time: String,
}

/// A line of `--format json`.
#[derive(Serialize)]
struct Line<'a> {
    event_type: &'a str,
    detail: &'a str,
    timestamp_ms: i64,
}

pub(super) fn run(given: &History) -> ExitCode {
    with_service(&given.options, |service| async move {
        if given.follow {
            follow(&service, given).await
        } else {
            read(&service, given).await
        }
    })
}

async fn read(service: &Service<'_>, given: &History) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Page {
        items: Vec<HistoryEvent>,
        pagination: Pagination,
    }
    let mut left = given.limit.unwrap_or(USUAL);
    let mut reached = given.from;
    let printer = Printer::new(service.is_json());
    printer.head();
    while left > 0 {
        let size = left.min(PAGE);
        let request = |object: Object| {
            let object = object.text("runId", &given.run);
            let object = object.raw("fromSequence", &reached.to_string());
            number(object, "limit", size)
        };
        let answer = service.ask("RunHistoryGet", request).await?;
        let Page { items, pagination } = client::read(&answer)?;
        for event in &items {
            printer.print(event)?;
            reached = event.sequence;
        }
        left -= items.len().min(left);
        if !pagination.has_next {
            break;
        }
    }
    Ok(())
}

async fn follow(service: &Service<'_>, given: &History) -> Result<(), Error> {
    let mut followed = Followed {
        reached: given.from,
        left: given.limit.unwrap_or(usize::MAX),
        is_over: false,
        refusal: None,
        printer: Printer::new(service.is_json()),
    };
    followed.printer.head();
    let mut was_reached = false;
    loop {
        let from = followed.reached;
        let request = |object: Object| {
            let object = object.text("runId", &given.run);
            object.raw("fromSequence", &from.to_string())
        };
        let mut hear = |text: &str| followed.hear(text);
        let ended = service
            .send("RunHistorySubscribe", request, &mut hear)
            .await;
        let is_new = followed.reached > from;
        was_reached |= is_new;
        if let Some(refusal) = followed.refusal.take() {
            return Err(Error::Refused(refusal));
        }
        if followed.is_over || !output::is_writable() {
            return Ok(());
        }
        match ended {
            Ok(()) if !is_new && is_finished(service, given).await? => return Ok(()),
            Err(Error::Client(error)) if !error.is_lost(was_reached) => return Err(error.into()),
            Ok(()) | Err(Error::Client(_)) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// Whether the run has ended: of one that has, all events may be older than what is followed.
async fn is_finished(service: &Service<'_>, given: &History) -> Result<bool, Error> {
    #[derive(Deserialize)]
    struct Got {
        run: Run,
    }
    let request = |object: Object| object.text("runId", &given.run);
    let answer = service.ask("RunGet", request).await?;
    let Got { run } = client::read(&answer)?;
    Ok(run.is_finished())
}

/// What has been printed of a run that is followed.
struct Followed {
    reached: u64,
    left: usize,
    is_over: bool,
    refusal: Option<Refusal>,
    printer: Printer,
}

impl Followed {
    fn hear(&mut self, text: &str) -> Result<ControlFlow<()>, client::Error> {
        if let Some(refusal) = refused(text)? {
            self.refusal = Some(refusal);
            return Ok(ControlFlow::Break(()));
        }
        let event: HistoryEvent = client::read(text)?;
        self.printer.print(&event)?;
        self.reached = event.sequence;
        self.left -= 1;
        self.is_over = event.is_last() || self.left == 0;
        Ok(if self.is_over {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}

/// Prints events as lines of a table, or of JSON.
struct Printer {
    is_json: bool,
}

impl Printer {
    const fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    fn head(&self) {
        if !self.is_json {
            show!("{}", row("SEQUENCE", "TIME", "EVENT", "DETAIL"));
        }
    }

    fn print(&self, event: &HistoryEvent) -> Result<(), client::Error> {
        let line = if self.is_json {
            event.json()?
        } else {
            event.row()
        };
        show!("{line}");
        Ok(())
    }
}

impl HistoryEvent {
    /// Whether the run has ended with it.
    fn is_last(&self) -> bool {
        matches!(
            &*self.event_type,
            "workflow_completed" | "workflow_failed" | "workflow_cancelled" | "workflow_timed_out"
        )
    }

    fn json(&self) -> Result<String, client::Error> {
        let time = Timestamp::parse(&self.time)
            .map_err(|error| client::Error::Answer(error.to_string()))?;
        let line = Line {
            event_type: &self.event_type,
            detail: &self.detail,
            timestamp_ms: time.millis(),
        };
        Ok(serde_json::to_string(&line).unwrap_or_default())
    }

    fn row(&self) -> String {
        let sequence = self.sequence.to_string();
        row(&sequence, &self.time, &self.event_type, &self.detail)
    }
}

/// Columns that are wide enough for every type of event, because later events are not known yet.
fn row(sequence: &str, time: &str, event: &str, detail: &str) -> String {
    let line = format!("{sequence:>8}  {time:<27}  {event:<23}  {detail}");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"id":"h","runId":"wfrun-1","sequence":5,"position":9,
        "eventType":"step_completed","detail":"start","time":"2026-11-23T07:00:00.123456Z"}"#;

    fn event() -> HistoryEvent {
        serde_json::from_str(EVENT).expect("an event")
    }

    #[test]
    fn an_event_is_a_row_or_a_line_of_json() {
        assert_eq!(
            event().row(),
            "       5  2026-11-23T07:00:00.123456Z  step_completed           start"
        );
        assert_eq!(
            event().json().expect("a time"),
            r#"{"event_type":"step_completed","detail":"start","timestamp_ms":1795417200123}"#
        );
    }

    #[test]
    fn the_heads_stand_above_their_columns() {
        let head = row("SEQUENCE", "TIME", "EVENT", "DETAIL");
        let event = event().row();
        assert_eq!(head.find("EVENT"), event.find("step_completed"));
        assert_eq!(head.find("DETAIL"), event.find("start"));
    }

    #[test]
    fn following_ends_with_the_last_event_or_with_a_refusal() {
        let mut followed = Followed {
            reached: 0,
            left: 3,
            is_over: false,
            refusal: None,
            printer: Printer::new(true),
        };
        assert!(followed.hear(EVENT).expect("printed").is_continue());
        assert_eq!((followed.reached, followed.is_over), (5, false));
        let last = EVENT.replace("step_completed", "workflow_completed");
        assert!(followed.hear(&last).expect("printed").is_break());
        assert!(followed.is_over);
        let refused = r#"{"success":false,"error":{"message":"RUN_NOT_FOUND: no"}}"#;
        assert!(followed.hear(refused).expect("read").is_break());
        assert!(followed.refusal.is_some());
    }
}
