//! The signals that ask the process to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Begins to listen; the first signal cancels the token, and a second one ends the process. From
/// here on no signal is lost, and none has its default effect: it would end the process in the middle
/// of its start, or have none at all where this is the first process of a container.
pub(super) fn listen() -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let asked = CancellationToken::new();
    let first = asked.clone();
    tokio::spawn(async move {
        let signal = next(&mut terminate, &mut interrupt).await;
        info!(signal, "stopping; a second signal stops at once");
        first.cancel();
        let signal = next(&mut terminate, &mut interrupt).await;
        warn!(signal, "stopping at once");
        std::process::exit(2);
    });
    Ok(asked)
}

/// The name of the next signal.
async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
