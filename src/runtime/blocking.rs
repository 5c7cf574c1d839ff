//! Work that takes a core for long is not done where others wait for the thread.

use tokio::runtime::{Handle, RuntimeFlavor};

/// From how many bytes of a document on it takes long to judge it: about a millisecond.
const LARGE_BYTES: usize = 256 << 10;

/// Does some work; if it is about so many bytes, what waits for this thread gets another one.
pub(super) fn blocking<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let is_shared = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes >= LARGE_BYTES && is_shared() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
