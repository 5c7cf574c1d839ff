//! Work that is done again while others commit first.

use crate::error::{Code, Failure};

/// How often work is tried before its caller receives the conflict.
const ATTEMPTS: usize = 20;

/// Does work, again while others commit first.
pub async fn again<T, W>(mut work: impl FnMut() -> W) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    for _ in 1..ATTEMPTS {
        match work().await {
            Err(failure) if failure.code() == Code::Conflict => {}
            done => return done,
        }
    }
    work().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of work that fails with this code so often, and how often it was tried.
    async fn tried(code: Code, failures: usize) -> (Result<usize, Code>, usize) {
        let mut tries = 0;
        let done = again(|| {
            tries += 1;
            let this = tries;
            async move {
                if this <= failures {
                    return Err(Failure::new(code, "it failed"));
                }
                Ok(this)
            }
        });
        let done = done.await.map_err(|failure| failure.code());
        (done, tries)
    }

    #[tokio::test]
    async fn only_conflicts_are_tried_again_and_not_for_ever() {
        assert_eq!(tried(Code::Conflict, 0).await, (Ok(1), 1));
        assert_eq!(tried(Code::Conflict, 19).await, (Ok(20), 20));
        let given_up = (Err(Code::Conflict), 20);
        assert_eq!(tried(Code::Conflict, 20).await, given_up);
        let refused = (Err(Code::BadRequest), 1);
        assert_eq!(tried(Code::BadRequest, 1).await, refused);
    }
}
