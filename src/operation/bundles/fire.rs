//! Fires an event of a state machine (`runs.md` §7, `orchestration.md` 2.6).

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        bundles::{self, Fired},
    },
};
use crate::expr;
use crate::operation::{
    Access, Context, Family, Operation, Output, once::WHOLE, paging, runs, turn::turn,
};
use crate::runtime::{
    again,
    machines::{self, EntityEvent, Fire, Native},
};

pub(in crate::operation) struct FireEvent {
    namespace: Arc<str>,
    machine: String,
    connector: Option<String>,
    entity: Box<str>,
    id: Box<str>,
    event: Box<str>,
    data: Arc<str>,
}

impl Operation for FireEvent {
    type Payload = bundles::Fire<'static>;
    type Answer = Fired;

    const REQUEST: EventType = EventType::MachineTransitionRequest;
    const RESPONSE: EventType = EventType::MachineTransitionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const NEEDS: Permission = Permission::RoleForSome(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: bundles::Fire<'_> = payload::decode(payload)?;
        let id = request.entity_id.unwrap_or(request.id).get();
        if !id.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()) {
            return Err(Failure::bad_parameter(
                "entityId",
                "the id is neither a text nor a number",
            ));
        }
        let data = runs::json(request.data, "{}", "data")?;
        if !data.starts_with('{') {
            return Err(Failure::bad_parameter("data", "the data is not an object"));
        }
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            machine: request.machine,
            connector: request.connector,
            entity: request.entity.into(),
            id: id.into(),
            event: request.event.into(),
            data: data.into(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        runs::check_size(&cx, &self.data, "data")?;
        let tenant = &cx.caller().tenant;
        let machine = cx
            .registry()
            .machine(tenant, &self.namespace, &self.machine)
            .await?
            .ok_or_else(|| unknown(&self.machine, &self.namespace))?;
        let connector = self.connector.as_deref();
        let connector = connector.or_else(|| machine.connector_of(&self.entity));
        let runtime = cx.runtime();
        let database = runtime
            .database_of(tenant, &self.namespace, &machine, connector)
            .await?;
        // Flows are an administrator's, who says by them which tables there are.
        if database.is_some()
            && !connector.is_some_and(|name| machine.is_fired_for(name, &self.entity))
        {
            Permission::Role(ROLE_ADMIN).check(cx.caller())?;
        }
        let fire = Fire {
            machine: Arc::new(machine),
            namespace: self.namespace,
            entity: self.entity,
            id: self.id,
            event: self.event,
            data: self.data,
        };
        match database {
            Some(database) => {
                let fired = runtime.fire_row(&cx.initiator(), &fire, &database).await?;
                cx.remembered(answer(&fire, fired)?).await
            }
            None => fire_entity(&cx, &fire).await,
        }
    }
}

/// Fires an event for an entity: again if others have changed the entity meanwhile, but for its
/// action, which is done once.
async fn fire_entity(cx: &Context, fire: &Fire) -> Result<Output<Fired>, Failure> {
    let (by, runtime) = (cx.initiator(), cx.runtime());
    let model = fire.model()?;
    // A model that is not there is named first.
    if let Err(failure) = cx.definitions(&model).await {
        let is_absent = failure.code() == Code::ModelNotFound;
        return Err(if is_absent {
            fire.without_model()
        } else {
            failure
        });
    }
    // No action is called for an event that another one makes too late.
    let _turn = turn(cx, ("entity", fire.entity_id()?)).await?;
    let event = EntityEvent::new(Arc::clone(&fire.data));
    let attempt = || async {
        let mut session = cx.session_for(WHOLE, |_, _| String::new()).await?;
        match runtime.fire_entity(&mut session, &by, fire, &event).await? {
            Native::Fired(fired, warnings) => {
                cx.finish(session, answer(fire, fired)?, warnings).await
            }
            Native::WithoutWorkflow => {
                drop(session);
                let workflow = fire.machine.workflow(&fire.namespace);
                let given = runtime.give_machine(&by.tenant, cx.attribution(), &model, &workflow);
                given.await?;
                // The next attempt begins after that commit.
                Err(Failure::new(
                    Code::Conflict,
                    "the workflow of the model changes all the time",
                ))
            }
        }
    };
    again(attempt).await
}

fn unknown(machine: &str, namespace: &str) -> Failure {
    let message = format!(
        "there is no state machine `{machine}` in the namespace `{namespace}`; apply its bundle"
    );
    Failure::new(Code::MachineNotFound, message)
}

fn answer(fire: &Fire, fired: machines::Fired) -> Result<Fired, Failure> {
    let result = fired
        .result
        .map(|json| RawValue::from_string(json.to_string()));
    let result = result.transpose();
    Ok(Fired {
        entity_id: expr::string(&fire.id).unwrap_or_else(|| fire.id.to_string()),
        machine: fire.machine.name.clone(),
        previous_state: fired.previous,
        current_state: fired.current,
        event: fire.event.to_string(),
        action_result: result.map_err(|error| Failure::internal(error.to_string()))?,
    })
}
