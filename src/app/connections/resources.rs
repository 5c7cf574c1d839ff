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

/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";

/// The memory that this process may still take, in bytes: that of the machine, of its control group
/// and those around it, or of its address space, whichever is least.
pub(in crate::app) fn memory_limit() -> Option<u64> {
    // The program itself and its stacks count as address space, not only what is in use of them.
    let address_space = [(Resource::AS, "VmSize:"), (Resource::DATA, "VmData:")]
        .into_iter()
        .filter_map(|(resource, taken)| {
            let taken = kibibytes("/proc/self/status", taken).unwrap_or(0);
            let limit = resource.get_soft().ok()?;
            Some(limit.saturating_sub(taken))
        });
    let named = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    kibibytes("/proc/meminfo", "MemTotal:")
        .into_iter()
        .chain(group_limit(&named, GROUPS.as_ref()))
        .chain(address_space)
        .min()
}

/// The least limit of the control groups that a process is in, which `/proc/self/cgroup` names. In a
/// container that may be by a path that is mounted elsewhere: then the mount itself has the limit.
fn group_limit(named: &str, mount: &Path) -> Option<u64> {
    let limits = named.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let (mount, files) = if controllers.is_empty() {
            (mount.to_owned(), &["memory.max", "memory.high"][..])
        } else if controllers.split(',').any(|name| name == "memory") {
            (mount.join("memory"), &["memory.limit_in_bytes"][..])
        } else {
            return None;
        };
        let group = mount.join(group.trim_start_matches('/'));
        let around = group.ancestors().take_while(|at| at.starts_with(&mount));
        let files = around.flat_map(|at| files.iter().map(move |file| at.join(file)));
        files.filter_map(|file| number_in(&file)).min()
    });
    limits.min()
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let mount = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            ("system.slice/memory.max", "max"),
            ("system.slice/a.service/memory.max", "900"),
            ("system.slice/a.service/memory.high", "800"),
            ("system.slice/b.service/memory.max", "100"),
            ("parent.slice/memory.max", "500"),
            ("parent.slice/child/memory.max", "max"),
            ("memory/memory.limit_in_bytes", "9223372036854771712"),
            ("memory/parent/memory.limit_in_bytes", "300"),
            ("memory/parent/child/memory.limit_in_bytes", "400"),
        ] {
            let path = mount.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, format!("{text}\n")).expect("written");
        }
        for (named, expected) in [
            ("0::/\n", None),
            ("0::/system.slice/a.service\n", Some(800)),
            ("0::/parent.slice/child\n", Some(500)),
            ("0::/../elsewhere\n", None),
            (
                "3:cpu:/x\n2:hugetlb,memory:/parent/child\n0::/\n",
                Some(300),
            ),
            // A container whose groups have their names on the host.
            ("2:memory:/docker/4f\n", Some(9_223_372_036_854_771_712)),
            ("", None),
        ] {
            assert_eq!(group_limit(named, mount.path()), expected, "{named}");
        }
        fs::write(mount.path().join("memory.max"), "700").expect("written");
        assert_eq!(group_limit("0::/docker/4f", mount.path()), Some(700));
    }
}
