//! Actions in WebAssembly, which are done within the advance of their run.

use std::sync::Arc;

use super::{Runtime, advance::Advancing};
use crate::error::Failure;
use crate::program::Answer;

impl Runtime {
    /// Does an action within the unit of its run.
    pub(super) async fn call_here(
        &self,
        advancing: &Advancing<'_>,
        action: &str,
        input: Arc<str>,
    ) -> Result<Answer, Failure> {
        let _ = (advancing, action, input);
        Ok(Answer::Lost {
            code: "FEATURE_DISABLED".into(),
            message: "actions in WebAssembly are not available".into(),
        })
    }
}
