//! The requests that start sagas, and fire events of machines.

use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::stored::{read, routes_key};
use crate::dialect::saga::{Bundle, overlap};
use crate::entity::Position;
use crate::expr::Template;
use crate::id::Tenant;
use crate::registry::{Error, Registry};

/// All routes of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routes {
    pub(super) routes: Vec<Route>,
}

/// A request that starts something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub method: String,
    /// Such as `/orders/:id`.
    pub path: String,
    /// A condition over `input`, in CEL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    pub namespace: Arc<str>,
    pub bundle: Arc<str>,
    pub target: RouteTarget,
}

/// What a route starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RouteTarget {
    Saga {
        name: String,
    },
    /// An event of a state machine; the values are over `input`.
    Machine {
        name: String,
        entity: Template,
        id: Template,
        event: Template,
        data: Option<Template>,
        /// None: the machine is one of entities.
        connector: Option<String>,
    },
}

impl Routes {
    /// The place of the route of a request, with the members of its path as they are written; a
    /// route without such members comes first.
    pub fn find<'a>(
        &'a self,
        method: &str,
        path: &'a str,
    ) -> Option<(usize, Vec<(&'a str, &'a str)>)> {
        let matching = self.routes.iter().enumerate();
        let matching = matching.filter(|(_, route)| route.method == method);
        let matching =
            matching.filter_map(|(place, route)| Some((place, matched(&route.path, path)?)));
        matching.min_by_key(|(_, members)| members.len())
    }

    /// The route at a place.
    pub fn at(&self, place: usize) -> &Route {
        &self.routes[place]
    }

    /// The routes of a bundle take the place of those it had.
    pub(super) fn replace(&mut self, namespace: &str, name: &str, bundle: Option<&Bundle>) {
        self.routes
            .retain(|route| &*route.namespace != namespace || &*route.bundle != name);
        self.routes.extend(
            bundle
                .into_iter()
                .flat_map(|bundle| of(bundle, namespace, name)),
        );
    }

    /// The route of another bundle that a request may match, too.
    pub(super) fn taken(
        &self,
        namespace: &str,
        bundle: &str,
        method: &str,
        path: &str,
    ) -> Option<&Route> {
        let others = self
            .routes
            .iter()
            .filter(|route| &*route.namespace != namespace || &*route.bundle != bundle);
        let mut others = others.filter(|route| overlap(method, path, &route.method, &route.path));
        others.next()
    }
}

fn of(bundle: &Bundle, namespace: &str, name: &str) -> Vec<Route> {
    let with = |route: &crate::dialect::saga::Route, target| Route {
        method: route.method.clone(),
        path: route.path.clone(),
        filter: route.filter.clone(),
        namespace: namespace.into(),
        bundle: name.into(),
        target,
    };
    let sagas = bundle.sagas.iter().filter_map(|saga| {
        let name = saga.name.clone();
        Some(with(saga.route.as_ref()?, RouteTarget::Saga { name }))
    });
    let flows = bundle.flows.iter().filter_map(|flow| {
        let fires = &flow.transition;
        let target = RouteTarget::Machine {
            name: fires.machine.clone(),
            entity: fires.entity.clone(),
            id: fires.id.clone(),
            event: fires.event.clone(),
            data: fires.data.clone(),
            connector: fires.connector.clone(),
        };
        Some(with(flow.route.as_ref()?, target))
    });
    sagas.chain(flows).collect()
}

/// The members of a path that a pattern names; none if the path is another.
fn matched<'a>(pattern: &'a str, path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    let mut members = Vec::new();
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(members),
            (Some(part), Some(given)) => match part.strip_prefix(':') {
                Some(name) if !given.is_empty() => members.push((name, given)),
                None if part == given => {}
                Some(_) | None => return None,
            },
            (Some(_), None) | (None, Some(_)) => return None,
        }
    }
}

/// The routes of a tenant as one commit left them.
type Known = (Tenant, Position, Arc<Routes>);

/// What was read of routes: few tenants have any, and each request on an unknown path asks.
#[derive(Debug, Default)]
pub(in crate::registry) struct KnownRoutes(RwLock<Vec<Known>>);

/// For how many tenants routes are kept as they were read.
const KNOWN_MAX: usize = 64;

impl KnownRoutes {
    fn get(&self, tenant: &Tenant, position: Position) -> Option<Arc<Routes>> {
        let known = self.0.read();
        let mut known = known.iter();
        let found = known.find(|(owner, at, _)| owner == tenant && *at == position);
        found.map(|(.., routes)| Arc::clone(routes))
    }

    fn put(&self, tenant: &Tenant, position: Position, routes: &Arc<Routes>) {
        let mut known = self.0.write();
        known.retain(|(owner, ..)| owner != tenant);
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push((tenant.clone(), position, Arc::clone(routes)));
    }
}

impl Registry {
    /// All routes of a tenant.
    pub async fn routes(&self, tenant: &Tenant) -> Result<Arc<Routes>, Error> {
        let Some(record) = self.0.storage.record(tenant, &routes_key()).await? else {
            return Ok(Arc::default());
        };
        if let Some(known) = self.0.routes.get(tenant, record.position) {
            return Ok(known);
        }
        let routes: Arc<Routes> = Arc::new(read("routes", &record)?);
        self.0.routes.put(tenant, record.position, &routes);
        Ok(routes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_with_the_fewest_members_is_found() {
        let route = |method: &str, path: &str| Route {
            method: method.into(),
            path: path.into(),
            filter: None,
            namespace: "default".into(),
            bundle: "b".into(),
            target: RouteTarget::Saga { name: path.into() },
        };
        let routes = Routes {
            routes: vec![
                route("POST", "/orders/:id"),
                route("POST", "/orders/new"),
                route("POST", "/:kind/:id/events"),
                route("GET", "/orders"),
            ],
        };
        for (request, expected) in [
            ("POST /orders/7", Some(("/orders/:id", vec![("id", "7")]))),
            ("POST /orders/new", Some(("/orders/new", vec![]))),
            (
                "POST /orders/7/events",
                Some(("/:kind/:id/events", vec![("kind", "orders"), ("id", "7")])),
            ),
            ("GET /orders", Some(("/orders", vec![]))),
            ("POST /orders", None),
            ("POST /orders/", None),
            ("PUT /orders/7", None),
        ] {
            let (method, path) = request.split_once(' ').expect("both");
            let found = routes.find(method, path);
            let found = found.map(|(place, members)| (&*routes.at(place).path, members));
            assert_eq!(found, expected, "{request}");
        }
    }
}
