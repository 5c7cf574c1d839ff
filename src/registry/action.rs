//! TEMP
use super::{Error, Registry};
use crate::callout::Tags;
use crate::compute::tasks::Dispatch;
use crate::id::Tenant;
use std::{sync::Arc, time::Duration};
#[derive(Debug, Clone)]
pub struct Action {
    pub enabled: bool,
    pub dispatch: Dispatch,
    pub tags: Tags,
    pub context: Option<Arc<str>>,
    pub timeout_ms: u64,
    pub max_retries: u32,
    pub retry_delay_ms: u64,
    pub max_output_bytes: usize,
}
impl Action {
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
    pub fn retry_delay(&self) -> Duration {
        Duration::from_millis(self.retry_delay_ms)
    }
    pub fn wait(&self) -> Option<Duration> {
        None
    }
}
impl Registry {
    pub async fn action(
        &self,
        _tenant: &Tenant,
        _ns: &str,
        _name: &str,
    ) -> Result<Option<Arc<Action>>, Error> {
        Ok(None)
    }
}
