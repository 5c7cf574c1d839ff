//! What the process tells of itself: its log, what it measures, and how much it would trace.
//!
//! May use: nothing of this crate.
//! Everything here belongs to the process and to nobody's data: no entity, no tenant is ever
//! named in a measurement.

mod log;
pub mod measure;
mod sampler;

use std::sync::Arc;

use tokio::sync::watch;
use tracing::Level;

pub use log::{has_panicked, level_name, log_panics, parse_level};
pub use sampler::{BadSampler, Sampler, Strategy};

/// A handle to what an operator may change while the process runs; cheap to clone. Changes are
/// forgotten when the process ends.
#[derive(Debug, Clone)]
pub struct Telemetry {
    log: log::Log,
    /// Read by whatever traces, which nothing does yet.
    sampler: Arc<watch::Sender<Sampler>>,
    exporter: measure::Exporter,
}

impl Telemetry {
    /// Begins to log what is at least as important as `level`, and to measure.
    pub fn start(level: Level) -> Self {
        Self {
            log: log::Log::start(level),
            sampler: Arc::new(watch::Sender::new(Sampler::default())),
            exporter: measure::Exporter::start(),
        }
    }

    /// What is logged now.
    pub fn log_level(&self) -> Level {
        self.log.level()
    }

    /// Logs what is at least as important as `level` from now on; what it was before.
    pub fn set_log_level(&self, level: Level) -> Level {
        self.log.set(level)
    }

    pub fn sampler(&self) -> Sampler {
        *self.sampler.borrow()
    }

    pub fn set_sampler(&self, sampler: Sampler) {
        self.sampler.send_replace(sampler);
    }

    /// What has been measured, in the text format of Prometheus.
    pub fn exporter(&self) -> &measure::Exporter {
        &self.exporter
    }
}
