//! The resources of this process: files and memory.

use std::path::Path;

use rlimit::Resource;

/// Files that are not connections of clients: of the database, of the admin port, of requests to
/// providers.
const FILES_RESERVED: u64 = 192;

/// The maximum number of connections, whatever the file limit.
const CONNECTIONS_MAX: u64 = 16_384;

/// The number of connections that the file limit leaves room for, and that limit, which is raised
/// as far as permitted.
pub(in crate::app) fn file_limit() -> (usize, u64) {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1_024);
    // A process with a very low limit uses half of it for connections.
    let room = files.saturating_sub(FILES_RESERVED).max(files / 2);
    let room = usize::try_from(room.min(CONNECTIONS_MAX)).unwrap_or(usize::MAX);
    (room, files)
}

/// The memory that this process may still take, in bytes: that of the machine, of its control group,
/// or of its address space, whichever is least.
pub(in crate::app) fn memory_limit() -> Option<u64> {
    // The program itself and its stacks count as address space, not only what is in use of them.
    let address_space = [(Resource::AS, "VmSize:"), (Resource::DATA, "VmData:")]
        .into_iter()
        .filter_map(|(resource, taken)| {
            let taken = kibibytes("/proc/self/status", taken).unwrap_or(0);
            let limit = resource.get_soft().ok()?;
            Some(limit.saturating_sub(taken))
        });
    let groups = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let groups = groups
        .into_iter()
        .filter_map(|path| number_in(path.as_ref()));
    kibibytes("/proc/meminfo", "MemTotal:")
        .into_iter()
        .chain(groups)
        .chain(address_space)
        .min()
}

fn number_in(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A line such as `MemTotal: 16384 kB` of a file, in bytes.
fn kibibytes(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1_024)
}
