//! What a request to a route of a bundle starts or fires (`runs.md` §7, *Routes*).

use std::sync::Arc;

use crate::error::{Code, Failure};
use crate::event::{EventType, payload::Object};
use crate::expr::{self, CelError, Template, Values};
use crate::id::Tenant;
use crate::operation::Services;
use crate::registry::bundle::{Route, RouteTarget, Routes};

/// A route that a request has met.
#[derive(Debug)]
pub struct Routed {
    /// All routes of the tenant as they were then.
    routes: Arc<Routes>,
    place: usize,
    /// The members of the path, as they are written.
    pub members: Vec<(String, String)>,
}

impl Routed {
    fn found(&self) -> &Route {
        self.routes.at(self.place)
    }

    /// The request that it is.
    pub fn kind(&self) -> EventType {
        match self.found().target {
            RouteTarget::Saga { .. } => EventType::RunStartRequest,
            RouteTarget::Machine { .. } => EventType::MachineTransitionRequest,
        }
    }

    /// Whether the filter of the route lets an input pass.
    ///
    /// # Errors
    /// It cannot be evaluated.
    pub async fn admits(
        &self,
        services: &Services,
        tenant: &Tenant,
        input: &Arc<str>,
    ) -> Result<bool, Failure> {
        let Some(filter) = self.found().filter.clone() else {
            return Ok(true);
        };
        let input = Arc::clone(input);
        let holds = move || expr::holds(&filter, &input);
        let holds = services.runtime.evaluate(tenant, holds).await?;
        holds.map_err(|error| {
            Failure::new(
                Code::BadRequest,
                format!("the filter of the route cannot be evaluated: {error}"),
            )
        })
    }

    /// The payload of that request.
    ///
    /// # Errors
    /// The entity, its id or the event is not in the input.
    pub async fn payload(
        &self,
        services: &Services,
        tenant: &Tenant,
        id: String,
        input: &Arc<str>,
    ) -> Result<String, Failure> {
        let (routes, place) = (Arc::clone(&self.routes), self.place);
        let input = Arc::clone(input);
        let payload = move || payload_of(routes.at(place), &id, &input);
        services.runtime.evaluate(tenant, payload).await?
    }
}

fn payload_of(route: &Route, id: &str, input: &str) -> Result<String, Failure> {
    let object = Object::with_room(input.len()).text("id", id);
    let object = object.text("namespace", &route.namespace);
    let object = match &route.target {
        RouteTarget::Saga { name } => object
            .text("definition", name)
            .text("kind", "saga")
            .raw("input", input),
        RouteTarget::Machine {
            name,
            entity,
            id,
            event,
            data,
            connector,
        } => {
            let values = Values::of_input(input);
            let object = object
                .text("machine", name)
                .raw("entity", &text("entity", entity, &values)?)
                .raw("entityId", &evaluated("id", id, &values)?)
                .raw("event", &text("event", event, &values)?)
                .raw("data", &data_of(data.as_ref(), input, &values)?);
            match connector {
                Some(connector) => object.text("connector", connector),
                None => object,
            }
        }
    };
    Ok(object.finish())
}

fn evaluated(what: &str, template: &Template, values: &Values<'_>) -> Result<String, Failure> {
    let value = template.evaluate(values);
    value.map_err(|error| without_value(what, &error))
}

fn without_value(what: &str, error: &CelError) -> Failure {
    let message = format!("the {what} of the state transition cannot be evaluated: {error}");
    Failure::new(Code::BadRequest, message)
}

/// A value that must be a text.
fn text(what: &str, template: &Template, values: &Values<'_>) -> Result<String, Failure> {
    let value = evaluated(what, template, values)?;
    if value.starts_with('"') {
        return Ok(value);
    }
    let message = format!("the {what} of the state transition is not a text");
    Err(Failure::new(Code::BadRequest, message))
}

/// What guards and actions read: an object that the flow composes, or the whole input where the flow
/// gives no object, or names one that is not in the request. If a member of a composed object has no
/// value, the request is refused: the whole input may have members that the flow leaves out.
fn data_of(data: Option<&Template>, input: &str, values: &Values<'_>) -> Result<String, Failure> {
    let Some(data) = data else {
        return Ok(input.to_owned());
    };
    let is_composed = matches!(data, Template::Object(_));
    match data.evaluate(values) {
        Ok(value) if value.starts_with('{') => Ok(value),
        Ok(_) => Ok(input.to_owned()),
        Err(CelError::Missing(_)) if !is_composed => Ok(input.to_owned()),
        Err(error) => Err(without_value("data", &error)),
    }
}

/// The route of a tenant that a request to this path meets; none if there is none.
///
/// # Errors
/// The routes cannot be read.
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
    let found = routes.find(method, path).map(|(place, members)| {
        let members = members.into_iter();
        let members = members.map(|(name, value)| (name.to_owned(), value.to_owned()));
        (place, members.collect())
    });
    Ok(found.map(|(place, members)| Routed {
        routes,
        place,
        members,
    }))
}
