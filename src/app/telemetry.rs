//! The log: lines of text with fields, on standard output.

use std::io::IsTerminal as _;

use tracing::Level;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Begins to log what is at least as important as `level`; of libraries, warnings.
pub fn start(level: Level) {
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("interlock", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stdout().is_terminal())
        .with_target(false);
    // A second start, as in tests, keeps the first.
    let _ = tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .try_init();
}
