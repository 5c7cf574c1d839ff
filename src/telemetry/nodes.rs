//! Metrics of processes that use one database.

use std::{sync::LazyLock, time::Instant};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

pub(super) const PULSE_DURATION: &str = "interlock_pulse_duration_seconds";
pub(super) const LINKS: &str = "interlock_links_total";
pub(super) const NODE_STREAMS: &str = "interlock_node_streams";
pub(super) const CLOCK_DIFFERENCE: &str = "interlock_clock_difference_seconds";

/// Records that the database was asked for the newest commit, from an instant until now.
pub fn pulse(begun: Instant, failed: bool) {
    static HISTOGRAMS: LazyLock<[Histogram; 2]> = LazyLock::new(|| {
        ["answered", "failed"].map(|result| histogram!(PULSE_DURATION, "result" => result))
    });
    HISTOGRAMS[usize::from(failed)].record(begun.elapsed());
}

/// Counts a batch of commits that was written.
pub fn batch_committed() {
    static COUNTER: LazyLock<Counter> = LazyLock::new(|| counter!(LINKS, "outcome" => "committed"));
    COUNTER.increment(1);
}

/// Counts a batch of commits that has to be validated again, because another node wrote first.
pub fn batch_overtaken() {
    static COUNTER: LazyLock<Counter> = LazyLock::new(|| counter!(LINKS, "outcome" => "overtaken"));
    COUNTER.increment(1);
}

/// Changes the number of streams to other nodes.
pub fn node_streams(more: f64) {
    static GAUGE: LazyLock<Gauge> = LazyLock::new(|| gauge!(NODE_STREAMS));
    GAUGE.increment(more);
}

/// Sets by how much the clock of the database server is ahead of that of this machine.
pub fn clock_difference(micros: i64) {
    static GAUGE: LazyLock<Gauge> = LazyLock::new(|| gauge!(CLOCK_DIFFERENCE));
    #[expect(
        clippy::cast_precision_loss,
        reason = "a clock is not wrong by centuries"
    )]
    GAUGE.set(micros as f64 / 1e6);
}
