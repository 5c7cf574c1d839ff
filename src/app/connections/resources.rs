//! What this process may have of files and memory.

use std::path::Path;

use rlimit::Resource;

/// Files that are no connections of clients: of the database, of the admin port, of what is asked
/// elsewhere.
const FILES_RESERVED: u64 = 192;

/// How many connections there are at most, however many files there may be.
const CONNECTIONS_MAX: u64 = 16_384;

/// How many connections the process's limit of files leaves room for, and that limit, which is
/// raised as far as the process may.
pub(in crate::app) fn file_limit() -> (usize, u64) {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1_024);
    // A process with very few files has half of them for connections.
    let room = files.saturating_sub(FILES_RESERVED).max(files / 2);
    let room = usize::try_from(room.min(CONNECTIONS_MAX)).unwrap_or(usize::MAX);
    (room, files)
}

/// The memory that this process may have, in bytes: that of the machine, of its control group, or
/// of its address space, whichever is least.
pub(in crate::app) fn memory_limit() -> Option<u64> {
    let address_space = [Resource::AS, Resource::DATA]
        .into_iter()
        .filter_map(|resource| resource.get_soft().ok());
    let groups = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let groups = groups
        .into_iter()
        .filter_map(|path| number_in(path.as_ref()));
    machine()
        .into_iter()
        .chain(groups)
        .chain(address_space)
        .min()
}

fn number_in(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1_024)
}
