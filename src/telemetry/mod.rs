//! Telemetry: the log, metrics, and the trace sampler.
//!
//! May use: [`crate::error`].
//! Everything here belongs to the process and contains nobody's data: metrics never name an entity
//! or a tenant.

pub mod described;
mod lines;
mod log;
pub mod measure;
pub mod nodes;
mod queue;
mod sampler;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tracing::Level;

pub use lines::LimitedLines;
pub use log::{has_panicked, level_name, log_panics, parse_level};
pub use sampler::{BadSampler, Sampler, Strategy};

/// A handle to settings that an operator may change while the process runs; cheap to clone. Changes
/// are lost when the process ends.
#[derive(Debug, Clone)]
pub struct Telemetry {
    log: log::Log,
    /// To be read by tracing, which does not exist yet.
    sampler: Arc<watch::Sender<Sampler>>,
    exporter: measure::Exporter,
}

impl Telemetry {
    /// Starts the log at a level, and the metrics. Of libraries whose names begin with `reported`
    /// the log has errors only, since the service reports their failures itself.
    pub fn start(level: Level, reported: &'static str) -> Self {
        Self {
            log: log::Log::start(level, reported),
            sampler: Arc::new(watch::Sender::new(Sampler::default())),
            exporter: measure::Exporter::start(),
        }
    }

    /// The present log level.
    pub fn log_level(&self) -> Level {
        self.log.level()
    }

    /// Changes the log level; returns the previous one.
    pub fn set_log_level(&self, level: Level) -> Level {
        self.log.set(level)
    }

    /// Waits until the log is written, for so long at most: nobody may be reading it.
    pub fn flush_log(&self, within: Duration) {
        self.log.flush(within);
    }

    pub fn sampler(&self) -> Sampler {
        *self.sampler.borrow()
    }

    pub fn set_sampler(&self, sampler: Sampler) {
        self.sampler.send_replace(sampler);
    }

    /// The metrics, in the text format of Prometheus.
    pub fn exporter(&self) -> &measure::Exporter {
        &self.exporter
    }
}
