//! Bundles: HCL files that are applied together, and what they declare (`runs.md` §7).
//!
//! A bundle is replaced as a whole by one unit of work. What runs need of it beyond their program,
//! its connectors, is a record of its own that is named by the digest of the bundle: a run that has
//! started finds the connectors it started with.

mod apply;
mod connectors;
mod convert;
mod locked;
mod machine;
mod new;
mod read;
mod routes;
mod stored;
mod workflow;

pub use apply::{Applied, delete};
pub use connectors::Mirror;
pub use machine::{Machine, MachineEvent, MachineFlow, MachineState};
pub use new::{BundleFile, CallOnModel, NewBundle, OfEntities, Variables};
pub use read::BundleView;
pub use routes::{Route, RouteTarget, Routes};
pub use stored::Summary;
pub use workflow::of_model;

pub(super) use connectors::{Connectors, Mirrors, known as known_connectors, known_mirrors};
pub(super) use routes::KnownRoutes;
