//! What an operation is given beside its request.

use std::sync::Arc;

use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{Answer, reply::cancelled};
use crate::auth::Caller;
use crate::compute::Principal;
use crate::error::Failure;
use crate::event::{Event, EventType, TOKEN_ATTRIBUTE};
use crate::id::ModelKey;
use crate::runtime::{Initiator, Runtime, Session};
use crate::storage::{self, Attribution, Definitions, Storage};
use crate::telemetry::Telemetry;

/// The services that operations use; cheap to clone.
#[derive(Debug, Clone)]
pub struct Services {
    pub runtime: Runtime,
    pub telemetry: Telemetry,
    /// How many groups grouped statistics may have.
    pub groups_max: usize,
    /// Every request in work, through whatever door it came.
    pub in_work: TaskTracker,
    /// Cancelled when the server begins to stop; answers without an end of their own end then.
    pub stopping: CancellationToken,
}

/// Who asks, for what, and with which services. It stops here: below, a function takes the one
/// thing it needs.
#[derive(Debug, Clone)]
pub struct Context {
    services: Services,
    caller: Caller,
    request: Arc<str>,
    token: Option<Arc<str>>,
    cancel: CancellationToken,
    _in_work: TaskTrackerToken,
}

impl Context {
    /// The context of one event. The token of the event itself comes before one that came with
    /// the whole call.
    pub fn new(
        services: &Services,
        caller: Caller,
        event: &Event,
        token: Option<&str>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            services: services.clone(),
            caller,
            request: (*event.id).into(),
            token: event
                .attribute(TOKEN_ATTRIBUTE)
                .or(token)
                .filter(|token| !token.is_empty())
                .map(Into::into),
            cancel,
            _in_work: services.in_work.token(),
        }
    }

    pub const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The id of the envelope, which answers quote.
    pub fn request(&self) -> &str {
        &self.request
    }

    pub const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    pub const fn stopping(&self) -> &CancellationToken {
        &self.services.stopping
    }

    pub const fn runtime(&self) -> &Runtime {
        &self.services.runtime
    }

    pub const fn telemetry(&self) -> &Telemetry {
        &self.services.telemetry
    }

    pub fn storage(&self) -> &Storage {
        self.services.runtime.storage()
    }

    /// How many groups grouped statistics may have.
    pub const fn groups_max(&self) -> usize {
        self.services.groups_max
    }

    /// Whether the request quotes a transaction.
    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    pub fn initiator(&self) -> Initiator {
        Initiator {
            tenant: self.caller.tenant.clone(),
            principal: Principal {
                actor: self.caller.actor.clone(),
                roles: self.caller.roles.iter().map(Into::into).collect(),
            },
            cancel: self.cancel.clone(),
        }
    }

    pub fn attribution(&self) -> Attribution {
        Attribution {
            author: self.caller.actor.clone(),
            executor: None,
        }
    }

    /// A session on the transaction the request quotes, or on one of its own.
    pub async fn session(&self) -> Result<Session, Failure> {
        let by = self.initiator();
        tokio::select! {
            session = self.runtime().session(&by, self.token.as_deref()) => Ok(session?),
            // It may have to wait for the transaction.
            () = self.cancel.cancelled() => Err(cancelled()),
        }
    }

    /// The model of that name, as it is now.
    pub async fn definitions(&self, model: &ModelKey) -> Result<Arc<Definitions>, Failure> {
        let definitions = self
            .storage()
            .definitions(&self.caller.tenant, model)
            .await?;
        Ok(definitions.ok_or_else(|| storage::Error::ModelNotFound(model.clone()))?)
    }

    /// The model of that name, as the transaction sees it that the request joins, if it joins one.
    pub async fn definitions_seen(&self, model: &ModelKey) -> Result<Arc<Definitions>, Failure> {
        if !self.has_token() {
            return self.definitions(model).await;
        }
        let mut session = self.session().await?;
        let definitions = self.definitions_in(&mut session, model).await?;
        session.finish(&self.cancel).await?;
        Ok(definitions)
    }

    /// The model of that name, as a session sees it.
    pub async fn definitions_in(
        &self,
        session: &mut Session,
        model: &ModelKey,
    ) -> Result<Arc<Definitions>, Failure> {
        let definitions = session.unit()?.definitions(model).await?;
        Ok(definitions.ok_or_else(|| storage::Error::ModelNotFound(model.clone()))?)
    }

    /// The answer that is one event.
    pub fn answer(&self, kind: EventType, json: String) -> Result<Answer, Failure> {
        Ok(Answer::One(Event::ours(kind, json)))
    }
}
