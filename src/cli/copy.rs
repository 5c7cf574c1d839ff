//! `interlock copy`: a whole database into one of another kind.

use std::{
    io::{IsTerminal as _, stderr},
    process::ExitCode,
    time::Instant,
};

use super::{block_on, failed, warn_of, wrong};
use crate::app::{config::Sources, databases};
use crate::storage::{CopyStep, Moved, Storage};

/// How wide the bar is, in characters.
const BAR: u64 = 30;

pub(super) fn run(from: &str, to: &str) -> ExitCode {
    let places = Sources::of_process().and_then(|sources| {
        warn_of(sources.warnings());
        let from = databases::named(&sources, from)?;
        Ok((from, databases::named(&sources, to)?))
    });
    let (from, to) = match places {
        Ok(places) => places,
        Err(error) => return wrong(&error),
    };
    let started = Instant::now();
    let copied = block_on(Storage::copy(&from, &to, &progress));
    if stderr().is_terminal() {
        // Clears the line of the progress.
        eprint!("\r\x1b[K");
    }
    match copied {
        Ok(Ok(moved)) => {
            show!("{}", summary(moved, started));
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn summary(moved: Moved, started: Instant) -> String {
    let resumed = if moved.resumed > 0 {
        format!(" ({} of them by the interrupted copy)", moved.resumed)
    } else {
        String::new()
    };
    format!(
        "copied {} rows in {:.1} s{resumed}; both databases have the same content\nuse only one of them from now on",
        moved.rows,
        started.elapsed().as_secs_f64()
    )
}

/// One line that is written over, where somebody looks at it.
fn progress(step: &CopyStep) {
    if !stderr().is_terminal() || step.total == 0 {
        return;
    }
    let done = step.done.min(step.total);
    let full = usize::try_from(done * BAR / step.total).unwrap_or_default();
    let empty = usize::try_from(BAR)
        .unwrap_or_default()
        .saturating_sub(full);
    eprint!(
        "\r\x1b[K{} [{}{}] {:3} % of {} rows, {}",
        if step.is_check {
            "checking"
        } else {
            "copying "
        },
        "#".repeat(full),
        " ".repeat(empty),
        done * 100 / step.total,
        step.total,
        step.table
    );
}
