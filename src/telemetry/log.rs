//! The log: lines of text with fields, on standard output.

use std::{
    error::Error,
    fmt::{self, Write as _},
    io::{self, IsTerminal as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;
use tracing::{
    Level, error,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer as _, Registry,
    field::RecordFields,
    filter::{LevelFilter, Targets},
    fmt::format,
    layer::SubscriberExt as _,
    reload,
    util::SubscriberInitExt as _,
};

use super::queue::Queue;
use crate::error::chain;

/// Set by the first panic and never reset: the state it left behind is unknown.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The log of this process.
#[derive(Debug, Clone)]
pub(super) struct Log {
    level: Arc<watch::Sender<Level>>,
    filter: reload::Handle<Targets, Registry>,
    queue: Arc<Queue>,
    reported: &'static str,
}

/// Everything of at least that `level`; for libraries, warnings. Of those whose failures the service
/// reports itself, errors.
fn targets(level: Level, reported: &'static str) -> Targets {
    Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(reported, LevelFilter::ERROR)
        .with_target("interlock", level)
}

/// Formats fields without colours. The usual formatter looks for colours even if there are none
/// (measured).
struct Plain;

impl<'w> format::FormatFields<'w> for Plain {
    fn format_fields<R: RecordFields>(&self, to: format::Writer<'w>, fields: R) -> fmt::Result {
        let mut plain = PlainFields {
            to,
            is_first: true,
            written: Ok(()),
        };
        fields.record(&mut plain);
        plain.written
    }
}

struct PlainFields<'w> {
    to: format::Writer<'w>,
    is_first: bool,
    written: fmt::Result,
}

impl PlainFields<'_> {
    /// The message is the field without a name.
    fn write(&mut self, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
        if !std::mem::take(&mut self.is_first) {
            self.to.write_char(' ')?;
        }
        let mut line = Line(&mut self.to);
        match field.name() {
            "message" => write!(line, "{value:?}"),
            name => {
                let name = name.strip_prefix("r#").unwrap_or(name);
                write!(line, "{name}={value:?}")
            }
        }
    }
}

impl Visit for PlainFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.written.is_ok() {
            self.written = self.write(field, value);
        }
    }

    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{}", chain(error)));
    }
}

/// Keeps what is written within one line: fields have texts of callers.
struct Line<'a, 'w>(&'a mut format::Writer<'w>);

impl fmt::Write for Line<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.bytes().any(|byte| byte.is_ascii_control()) {
            return self.0.write_str(text);
        }
        for char in text.chars() {
            if char.is_ascii_control() {
                write!(self.0, "{}", char.escape_default())?;
            } else {
                self.0.write_char(char)?;
            }
        }
        Ok(())
    }
}

impl Log {
    pub(super) fn start(level: Level, reported: &'static str) -> Self {
        let (filter, handle) = reload::Layer::new(targets(level, reported));
        let queue = Arc::<Queue>::default();
        let lines = tracing_subscriber::fmt::layer()
            .with_target(false)
            .with_writer(Arc::clone(&queue));
        let lines = if io::stdout().is_terminal() {
            lines.boxed()
        } else {
            lines.with_ansi(false).fmt_fields(Plain).boxed()
        };
        let subscriber = tracing_subscriber::registry().with(filter).with(lines);
        // A second start, as in tests, keeps the first.
        if subscriber.try_init().is_ok() {
            // Where no thread can be made, the service does not start, and says so elsewhere.
            let _ = queue.write_to(io::stdout());
        }
        Self {
            level: Arc::new(watch::Sender::new(level)),
            filter: handle,
            queue,
            reported,
        }
    }

    pub(super) fn flush(&self, within: Duration) {
        self.queue.flush(within);
    }

    pub(super) fn level(&self) -> Level {
        *self.level.borrow()
    }

    pub(super) fn set(&self, level: Level) -> Level {
        let previous = self.level.send_replace(level);
        // There is none to change if another start was first.
        let _ = self.filter.reload(targets(level, self.reported));
        previous
    }
}

/// The name of a level, as in settings and requests.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        _ => "debug",
    }
}

/// The level of that name, case-insensitive.
pub fn parse_level(name: &str) -> Option<Level> {
    [Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR]
        .into_iter()
        .find(|level| level_name(*level).eq_ignore_ascii_case(name))
}

/// Logs panics, wherever they are contained, and remembers that there was one.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANICKED.store(true, Ordering::Release);
        super::measure::panicked();
        let text = panic.payload_as_str().unwrap_or("without a message");
        let place = panic.location().map(ToString::to_string);
        error!(panic = text, place, "a panic was contained");
    }));
}

/// Whether anything in this process has panicked since it began.
pub fn has_panicked() -> bool {
    PANICKED.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names_that_lead_back_to_them() {
        for name in ["debug", "info", "warn", "error"] {
            assert_eq!(parse_level(name).map(level_name), Some(name));
        }
        assert_eq!(parse_level("WARN"), Some(Level::WARN));
        for name in ["", "trace", "off", "loud"] {
            assert_eq!(parse_level(name), None, "{name}");
        }
    }

    #[test]
    fn a_panic_that_was_contained_is_remembered() {
        let before = std::panic::take_hook();
        log_panics();
        let contained = std::panic::catch_unwind(|| panic!("of this test"));
        std::panic::set_hook(before);
        assert!(contained.is_err() && has_panicked());
    }
}
