//! What the kernel counts: time on the cores, and memory.

use std::time::Duration;

/// The kernel counts in hundredths of a second, whatever its own clock does.
const TICK: Duration = Duration::from_millis(10);

/// Time on the cores: all of them, and the part of it that somebody used.
#[derive(Clone, Copy)]
pub(crate) struct Cores {
    total: Duration,
    used: Duration,
}

impl Cores {
    pub(crate) fn now() -> Self {
        let stat = read("/proc/stat");
        // user, nice, system, idle, iowait, irq, softirq, steal
        let ticks: Vec<u32> = stat
            .lines()
            .next()
            .into_iter()
            .flat_map(|line| line.split_whitespace().skip(1).take(8))
            .map(|field| field.parse().expect("a number"))
            .collect();
        let total: u32 = ticks.iter().sum();
        Self {
            total: TICK * total,
            used: TICK * (total - ticks[3] - ticks[4]),
        }
    }

    /// The share of the machine that others than us used since then.
    pub(crate) fn others_since(&self, before: &Self, ours: Duration) -> f64 {
        let used = self.used.saturating_sub(before.used + ours);
        let total = self.total.saturating_sub(before.total);
        used.as_secs_f64() / total.as_secs_f64().max(f64::EPSILON)
    }
}

/// The time that the threads of a process have been on a core.
pub(crate) fn cpu_time_of(process: u32) -> Duration {
    let stat = read(&format!("/proc/{process}/stat"));
    // The name of the program, in parentheses, may hold anything; utime and stime are the 12th
    // and 13th fields after it.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| TICK * field.parse::<u32>().expect("a number"))
        .sum()
}

/// The resident memory of a process, in bytes.
pub(crate) fn memory_of(process: u32) -> u64 {
    status_of(process, "VmRSS:")
}

/// The most it ever was, in bytes.
pub(crate) fn peak_memory_of(process: u32) -> u64 {
    status_of(process, "VmHWM:")
}

fn status_of(process: u32, name: &str) -> u64 {
    let status = read(&format!("/proc/{process}/status"));
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let text = line.expect("a line").trim().trim_end_matches(" kB");
    text.parse::<u64>().expect("a number") * 1_024
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
