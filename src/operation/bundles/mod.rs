//! Bundles: what HCL files declare (`runs.md` §7).

mod apply;
mod definitions;
mod delete;
mod fire;
mod get;
mod list;
mod machines;
mod models;
mod route;
mod routes;

use crate::event::payload::{AsText, bundles::Item};
use crate::registry::bundle::BundleView;

pub(super) use apply::ApplyBundle;
pub use definitions::{DefinitionsError, apply_definitions, is_step_workflow};
pub(super) use delete::DeleteBundle;
pub(super) use fire::FireEvent;
pub(super) use get::GetBundle;
pub(super) use list::ListBundles;
pub(super) use machines::ListMachines;
pub use route::{Routed, routed};
pub use routes::OwnRoutes;

fn item(view: BundleView) -> Item {
    Item {
        bundle: view.name.to_string(),
        version: view.version,
        sagas: view.summary.sagas,
        machines: view.summary.machines,
        routes: view.summary.routes,
        connectors: view.summary.connectors,
        findings: view.findings.into_iter().map(Into::into).collect(),
        applied_at: AsText(view.applied),
    }
}
