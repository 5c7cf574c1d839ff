//! Keeps CPU-heavy work from delaying other tasks of the same thread.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The size in bytes from which validating a document takes about a millisecond.
const LARGE_BYTES: usize = 256 << 10;

/// Does some work; if it concerns at least that many bytes, other tasks of this thread move to
/// another one.
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
