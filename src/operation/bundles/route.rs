//! What a request to a route of a bundle starts (`runs.md` §7, *Routes*).

use std::sync::Arc;

use crate::error::{Code, Failure};
use crate::expr;
use crate::id::Tenant;
use crate::operation::Services;
use crate::registry::bundle::RouteTarget;

/// A route that a request has met.
#[derive(Debug)]
pub struct Routed {
    pub namespace: Arc<str>,
    /// The saga that it starts.
    pub saga: String,
    /// The members of the path, as they are written.
    pub members: Vec<(String, String)>,
    /// A condition over `input`, in CEL.
    filter: Option<String>,
}

impl Routed {
    /// Whether the filter of the route lets an input pass.
    ///
    /// # Errors
    /// It cannot be evaluated.
    pub fn admits(&self, input: &str) -> Result<bool, Failure> {
        let Some(filter) = &self.filter else {
            return Ok(true);
        };
        expr::holds(filter, input).map_err(|error| {
            Failure::new(
                Code::BadRequest,
                format!("the filter of the route cannot be evaluated: {error}"),
            )
        })
    }
}

/// The route of a tenant that a request to this path meets; none if there is none.
///
/// # Errors
/// The route fires an event of a state machine, which requests cannot do yet.
pub async fn routed(
    services: &Services,
    tenant: &Tenant,
    method: &str,
    path: &str,
) -> Result<Option<Routed>, Failure> {
    let Some(path) = path.strip_prefix(services.routes.prefix()) else {
        return Ok(None);
    };
    let routes = services.registry.routes(tenant).await?;
    let Some((route, members)) = routes.find(method, path) else {
        return Ok(None);
    };
    let RouteTarget::Saga { name } = &route.target else {
        return Err(Failure::new(
            Code::NotImplemented,
            "requests cannot fire events of state machines yet; use a saga",
        ));
    };
    let members = members.into_iter();
    Ok(Some(Routed {
        namespace: Arc::clone(&route.namespace),
        saga: name.clone(),
        members: members
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        filter: route.filter.clone(),
    }))
}
