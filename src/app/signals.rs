//! The signals that ask the process to stop.

use std::{io, process, thread, time::Duration};

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::telemetry::Telemetry;

/// How long a process that stops at once tries to write its log.
const LOG_PATIENCE: Duration = Duration::from_millis(100);

/// Begins to listen; the first signal cancels the token, and a second one ends the process. From
/// here on no signal is lost, and none has its default effect: it would end the process in the middle
/// of its start, or have none at all where this is the first process of a container.
///
/// It listens on a thread of its own, which no work holds up. Where `reloads`, SIGHUP
/// reloads the TLS files and stops nothing.
pub(super) fn listen(telemetry: Telemetry, reloads: bool) -> io::Result<CancellationToken> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _runtime = runtime.enter();
        Signals::new(reloads)?
    };
    let asked = CancellationToken::new();
    let first = asked.clone();
    let obey = async move {
        let signal = signals.next().await;
        first.cancel();
        info!(signal, "stopping; a second signal stops at once");
        let signal = signals.next().await;
        warn!(signal, "stopping at once");
        telemetry.flush_log(LOG_PATIENCE);
        process::exit(2);
    };
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(obey))?;
    Ok(asked)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal was closed. None if it is ignored, as `nohup` sets it for the programs it starts.
    hang_up: Option<Signal>,
    /// Whether that has the TLS files reloaded, and does not stop the process.
    reloads: bool,
}

impl Signals {
    fn new(reloads: bool) -> io::Result<Self> {
        let hang_up = (!is_hang_up_ignored()).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: hang_up.transpose()?,
            reloads,
        })
    }

    /// The name of the next signal.
    async fn next(&mut self) -> &'static str {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) if !self.reloads => signal.recv().await,
                Some(_) | None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hang_up => "SIGHUP",
        }
    }
}

/// Whether the process ignores SIGHUP, by the mask of ignored signals of the system, if it has one.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits & 1 == 1)
}
