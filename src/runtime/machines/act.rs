//! The actions of state machines.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};

use super::{Fire, failure_of};
use crate::compute::{DispatchSpec, Failed, Work};
use crate::connector::{Call as Called, CallFailed, Config, Connector};
use crate::dispatch::{Attachment, CallSettings, Callee, Reply, Tags};
use crate::error::{Code, Failure};
use crate::expr::Values;
use crate::id::{DispatchKey, EntityId};
use crate::program::Call;
use crate::runtime::{Initiator, Runtime, Session, apart::compute, runs::EntityCall};

/// An action that is to be done for an event.
pub(super) struct Action {
    pub(super) connector: Arc<Connector>,
    /// A JSON object.
    pub(super) request: String,
    /// The same for all tries of one event.
    pub(super) key: String,
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(Code::WorkflowFailed, message)
}

impl Runtime {
    /// The action of an event with the values of its data.
    pub(super) async fn action(
        &self,
        by: &Initiator,
        fire: &Fire,
        call: &Call,
        key: String,
    ) -> Result<Action, Failure> {
        let registry = &self.0.registry;
        let (tenant, digest) = (&by.tenant, &fire.machine.digest);
        let connector = registry.connector(tenant, &fire.namespace, digest, &call.connector);
        let connector = connector.await?.ok_or_else(|| {
            let message = format!("there is no connector \"{}\"", call.connector);
            Failure::new(Code::ConnectorUnavailable, message)
        })?;
        let (request, data) = (call.request.clone(), Arc::clone(&fire.data));
        let evaluated = move || request.evaluate(&Values::of_input(&data));
        let request = self.evaluate(tenant, evaluated).await?;
        let request = request.map_err(|error| {
            failed(format!(
                "the action of the event `{}` cannot be evaluated: {error}",
                fire.event
            ))
        })?;
        Ok(Action {
            connector,
            request,
            key,
        })
    }

    /// Does an action outside of the transaction of the event.
    pub(super) async fn act(
        &self,
        by: &Initiator,
        fire: &Fire,
        action: &Action,
    ) -> Result<Arc<str>, Failure> {
        match action.connector.config {
            Config::Entity => {
                let mut session = self.session(by, None).await?;
                let done = self.act_on_entity(&mut session, by, action).await?;
                session.finish(&by.cancel).await?;
                Ok(done)
            }
            Config::Http(_) | Config::Database(_) | Config::Email(_) => {
                // Without its type, which is that of three drivers of databases.
                let calling: BoxFuture<'_, _> = self.call_out(by, action).boxed();
                calling.await.map_err(failure_of)
            }
            Config::Member | Config::Rest => self.ask_member(by, fire, action).await,
        }
    }

    /// Calls a connector that this process serves.
    async fn call_out(&self, by: &Initiator, action: &Action) -> Result<Arc<str>, CallFailed> {
        let call = Called {
            tenant: &by.tenant,
            connector: &action.connector,
            request: &action.request,
            idempotency_key: &action.key,
            is_repeated: false,
            timeout: self.0.settings.limits.time,
            cancel: &by.cancel,
            given_up: &by.cancel,
            compute: &compute,
        };
        self.0.calls.connectors().call(call).await
    }

    /// Does the work of the connector `entity`, in the transaction of a session.
    pub(super) async fn act_on_entity(
        &self,
        session: &mut Session,
        by: &Initiator,
        action: &Action,
    ) -> Result<Arc<str>, Failure> {
        let call = EntityCall::parse(&action.request).map_err(failed)?;
        let before = session.keep_whole(true);
        let done = Box::pin(self.entity_action(session, by, &call)).await;
        session.keep_whole(before);
        done.map_err(|failure| {
            let code = failure.code();
            failed(format!("{code}: {}", failure.message()))
        })
    }
}

impl Runtime {
    /// Has a member with the tag of the connector do an action: as a processor of its name, whose
    /// parameters are the request.
    async fn ask_member(
        &self,
        by: &Initiator,
        fire: &Fire,
        action: &Action,
    ) -> Result<Arc<str>, Failure> {
        let name = &action.connector.name;
        let settings = CallSettings {
            tags: Tags::parse(&format!("connector:{name}")),
            attachment: Attachment::Nothing,
            ..CallSettings::default()
        };
        let work = Work {
            callee: Callee::Processor((&**name).into()),
            workflow: fire.machine.name.as_str().into(),
            transition_context: None,
            entity: EntityId::NIL,
            transaction: None,
            context: Some(action.request.as_str().into()),
            attached: None,
            principal: by.principal.clone(),
        };
        let spec = DispatchSpec {
            tenant: &by.tenant,
            settings: &settings,
            dispatch: DispatchKey::fresh(),
            token: None,
            work: Arc::new(work),
            until: tokio::time::Instant::now().checked_add(self.0.settings.limits.time),
        };
        let calling = self.0.members.dispatch(&spec, &self.0.settings.calls);
        let called = by.cancel.run_until_cancelled(calling).await;
        let called = called.ok_or(crate::runtime::Error::Cancelled)?;
        match called.outcome {
            Ok(Reply::Processed(Some(document))) => Ok(document.json().as_str().into()),
            Ok(_) => Ok("null".into()),
            Err(Failed::Rejected(message)) => Err(failed(format!("{name}: {message}"))),
            Err(Failed::TooMany { limit }) => {
                let message = format!("the tenant already has {limit} calls to members in flight");
                Err(Failure::new(Code::TooManyRequests, message))
            }
            Err(Failed::NoMember { tags }) => {
                let message =
                    format!("no compute member with the tags [{tags}] is connected; start one");
                Err(Failure::new(Code::ConnectorUnavailable, message))
            }
            Err(Failed::TimedOut { .. } | Failed::Disconnected | Failed::NotForwarded) => {
                let message = format!("the member of the connector {name} has not answered");
                Err(Failure::new(Code::ConnectorUnavailable, message))
            }
        }
    }
}
