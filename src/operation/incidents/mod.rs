//! Incidents: work that has stopped after it failed too often (`runs.md` §11).

mod cancel;
mod list;
mod retry;

pub(super) use cancel::CancelIncident;
pub(super) use list::ListIncidents;
pub(super) use retry::RetryIncident;
