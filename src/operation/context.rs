//! What an operation is given beside its request.

use std::{sync::Arc, time::Duration};

use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{
    Access, Output,
    answering::{Answering, AnswersTo},
    bundles::OwnRoutes,
    limits::Tenants,
    once::{Keys, Promised, WHOLE},
    receiving::{Hold, Receiving},
};
use crate::auth::{Authenticator, Caller, Login, Rules};
use crate::clock::Timestamp;
use crate::cluster::Cluster;
use crate::compute::{Members, Principal, tasks::Channels};
use crate::connector;
use crate::error::{Code, Failure};
use crate::event::{
    Event, TOKEN_ATTRIBUTE, Trace,
    payload::{
        self, answer,
        entity::{Chunk, Written},
    },
};
use crate::id::{EntityId, ModelKey, TransactionId};
use crate::registry::Registry;
use crate::runtime::{Announced, Critical, CriticalGuard, Initiator, Promise, Runtime, Session};
use crate::search::Jobs;
use crate::storage::{
    self, Assumption, Attribution, Committed, Definitions, ModelChange, NodeRow, Storage,
    StoredOutcome,
};
use crate::telemetry::Telemetry;

/// The services that operations use; cheap to clone.
#[derive(Debug, Clone)]
pub struct Services {
    pub runtime: Runtime,
    /// What runs are made of.
    pub registry: Registry,
    pub telemetry: Telemetry,
    /// How many groups grouped statistics may have.
    pub groups_max: usize,
    /// How many sort keys a search may have.
    pub sort_keys_max: usize,
    /// How long a search may take that somebody waits for.
    pub search_timeout: Duration,
    pub members: Members,
    /// Who does tasks.
    pub channels: Channels,
    /// Every request in flight, of any API.
    pub in_flight: TaskTracker,
    /// Cancelled when the server begins to stop; endless answers end then.
    pub stopping: CancellationToken,
    /// The idempotency keys of requests in flight.
    pub keys: Keys,
    /// Background searches.
    pub jobs: Jobs,
    /// Authentication, for operations that administer it.
    pub authenticator: Authenticator,
    pub rules: Rules,
    /// The limits of each tenant.
    pub tenants: Tenants,
    /// The bytes of requests that are held at once.
    pub receiving: Receiving,
    /// The bytes of answers that are not read yet.
    pub answering: Answering,
    /// What connectors of bundles may reach.
    pub connectors: Arc<connector::Settings>,
    /// The paths that no route of a bundle may take.
    pub routes: OwnRoutes,
    /// The other nodes, in a cluster.
    pub cluster: Option<Cluster>,
}

impl Services {
    /// Announces a request that its member has sent before the answer to its call, so that it is
    /// still part of the transaction.
    pub fn announce(&self, login: &Login, event: &Event) -> Option<Announced> {
        let token = event.attribute(TOKEN_ATTRIBUTE)?;
        self.runtime.announce(&login.caller.tenant, token)
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.runtime.storage().now()
    }
}

/// The caller, the request and the services. It is not passed further down: there, a function takes
/// the one thing it needs.
#[derive(Debug, Clone)]
pub struct Context {
    services: Services,
    login: Login,
    request: Arc<str>,
    token: Option<Arc<str>>,
    trace: Option<Trace>,
    cancel: CancellationToken,
    promised: Option<Arc<Promised>>,
    /// What the request assumes instead of waiting for a pulse, if anything.
    assumption: Option<Assumption>,
    /// Whether the request is one to a route of a bundle.
    is_routed: bool,
    /// The bytes of the request, for as long as it is worked on.
    _hold: Option<Arc<Hold>>,
    /// What of the request is finished if its caller leaves.
    critical: Critical,
    _in_flight: TaskTrackerToken,
}

impl Context {
    /// The context of one event. The token of the event itself comes before one that came with
    /// the whole call. A token that is empty or not a text is not the same as none: it is rejected,
    /// because what it is sent with is meant to be part of a transaction.
    pub fn new(
        services: &Services,
        login: Login,
        event: &Event,
        token: Option<&str>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            services: services.clone(),
            login,
            request: (*event.id).into(),
            token: match event.attributes.get(TOKEN_ATTRIBUTE) {
                Some(value) => Some(value.text().unwrap_or_default().into()),
                None => token.map(Into::into),
            },
            trace: event.trace(),
            cancel,
            promised: None,
            assumption: None,
            is_routed: false,
            _hold: None,
            critical: Critical::default(),
            _in_flight: services.in_flight.token(),
        }
    }

    /// The caller with its credentials.
    pub(super) const fn login(&self) -> &Login {
        &self.login
    }

    /// Lets the context hold the bytes of its request until it ends.
    #[must_use]
    pub fn holding(self, hold: Option<Arc<Hold>>) -> Self {
        Self {
            _hold: hold,
            ..self
        }
    }

    /// Marks the request as one to a route of a bundle.
    #[must_use]
    pub fn routed(self) -> Self {
        Self {
            is_routed: true,
            ..self
        }
    }

    pub(super) const fn is_routed(&self) -> bool {
        self.is_routed
    }

    pub const fn caller(&self) -> &Caller {
        &self.login.caller
    }

    /// The budget of answers to the request.
    pub fn answers(&self, access: Access) -> AnswersTo {
        self.services
            .answering
            .to(&self.login.caller.tenant, access)
    }

    /// The id of the envelope, to which answers refer.
    pub fn request(&self) -> &str {
        &self.request
    }

    pub const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    pub const fn search_timeout(&self) -> Duration {
        self.services.search_timeout
    }

    pub const fn stopping(&self) -> &CancellationToken {
        &self.services.stopping
    }

    /// Returns when nobody waits for the answer any more, or the service stops; with the reason.
    pub(super) async fn given_up(&self) -> Failure {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Failure::cancelled(),
            () = self.services.stopping.cancelled() => ended_by_stop(),
        }
    }

    pub const fn members(&self) -> &Members {
        &self.services.members
    }

    pub const fn channels(&self) -> &Channels {
        &self.services.channels
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

    /// All services.
    pub(super) const fn services(&self) -> &Services {
        &self.services
    }

    pub const fn registry(&self) -> &Registry {
        &self.services.registry
    }

    /// How many groups grouped statistics may have.
    pub const fn groups_max(&self) -> usize {
        self.services.groups_max
    }

    /// How many sort keys a search may have.
    pub const fn sort_keys_max(&self) -> usize {
        self.services.sort_keys_max
    }

    pub(super) const fn tenants(&self) -> &Tenants {
        &self.services.tenants
    }

    /// Whether the request is part of a transaction that is open.
    pub(super) fn is_joined(&self) -> bool {
        self.has_token() && self.check_token().is_ok()
    }

    /// Checks that the transaction of the request's token, if any, can be joined.
    pub(super) fn check_token(&self) -> Result<(), Failure> {
        match self.token.as_deref() {
            Some(token) => Ok(self.runtime().may_join(&self.login.caller.tenant, token)?),
            None => Ok(()),
        }
    }

    /// Whether the request carries a transaction token.
    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// While it is held, the request is worked on although its caller has left: what has to follow a
    /// commit is done all the same.
    pub(super) fn critical(&self) -> CriticalGuard {
        self.critical.enter()
    }

    /// What of the request is finished if its caller leaves.
    pub(super) const fn critical_parts(&self) -> &Critical {
        &self.critical
    }

    /// A copy of the request's context under an assumption.
    pub(super) fn assuming(&self, assumption: Assumption) -> Self {
        Self {
            assumption: Some(assumption),
            ..self.clone()
        }
    }

    /// The other node of the cluster on which the transaction of the request is open, if it is.
    pub(super) fn elsewhere(&self) -> Option<(&Cluster, NodeRow)> {
        let (token, cluster) = (self.token.as_deref()?, self.services.cluster.as_ref()?);
        Some((cluster, self.runtime().elsewhere(token)?))
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Refuses a transaction token, for what is not part of a transaction (`runs.md` §2).
    pub(super) fn refuse_token(&self) -> Result<(), Failure> {
        if self.has_token() {
            return Err(Failure::new(
                Code::BadRequest,
                "this operation is not part of a transaction; repeat the request without the \
                 transaction token",
            ));
        }
        Ok(())
    }

    pub fn initiator(&self) -> Initiator {
        Initiator {
            tenant: self.login.caller.tenant.clone(),
            principal: Principal {
                actor: self.login.caller.actor.clone(),
                roles: self.login.caller.roles.shared(),
                trace: self.trace.clone(),
            },
            cancel: self.cancel.clone(),
        }
    }

    pub fn attribution(&self) -> Attribution {
        Attribution {
            author: self.login.caller.actor.clone(),
            executor: None,
        }
    }

    /// A session on the transaction of the request's token, or on a new one.
    pub async fn session(&self) -> Result<Session, Failure> {
        let request = Arc::clone(&self.request);
        let so_far = move |transaction, entities: &[EntityId]| {
            let written = Written::one(Chunk::done(transaction, entities.to_vec()));
            answer::text(&request, &[], &written)
        };
        self.session_for(WHOLE, so_far).await
    }

    /// A session on the transaction of the request's token, or on a new one. The request may use
    /// several, one for each `part`; `so_far` is its answer if only some of them are committed.
    pub(super) async fn session_for(
        &self,
        part: u32,
        so_far: impl Fn(TransactionId, &[EntityId]) -> String + Send + Sync + 'static,
    ) -> Result<Session, Failure> {
        let by = self.initiator();
        let mut session = tokio::select! {
            session = self.runtime().session(&by, self.token.as_deref()) => session?,
            // It may have to wait for the transaction.
            () = self.cancel.cancelled() => return Err(Failure::cancelled()),
        };
        session.belongs_to(self.critical.clone());
        if let Some(assumption) = &self.assumption {
            session.rest_on(assumption.clone())?;
        }
        if let Some(promised) = &self.promised {
            session.promise(Promise::new(promised.part(self, part), so_far));
        }
        Ok(session)
    }

    /// Commits what a session did, with its answer. Every operation that writes ends so, or with
    /// [`Self::change_model`].
    pub async fn finish<A: payload::Answer>(
        &self,
        session: Session,
        answer: A,
        warnings: Vec<String>,
    ) -> Result<Output<A>, Failure> {
        let text = self.outcome_text(&answer, &warnings);
        match session.finish_with(&text, &self.cancel).await {
            Ok(()) => Ok(Output::One(answer, warnings)),
            Err(failure) => Err(failure.warned(warnings)),
        }
    }

    /// Answers a request whose work is not a commit. If the request is to be done once, the answer is
    /// stored for a repeat.
    pub(super) async fn remembered<A: payload::Answer>(
        &self,
        answer: A,
    ) -> Result<Output<A>, Failure> {
        if self.promised.is_none() {
            return Ok(Output::one(answer));
        }
        let session = self.session_for(WHOLE, |_, _| String::new()).await?;
        self.finish(session, answer, Vec::new()).await
    }

    /// The text that is stored for a repeat, if the request is to be done once.
    fn outcome_text<A: payload::Answer>(&self, answer: &A, warnings: &[String]) -> String {
        match self.promised {
            Some(_) => answer::text(&self.request, warnings, answer),
            None => String::new(),
        }
    }

    /// Changes a model, with the answer that will say so.
    pub async fn change_model<A: payload::Answer>(
        &self,
        model: &ModelKey,
        change: ModelChange,
        answer: &A,
        warnings: &[String],
    ) -> Result<Committed, storage::Error> {
        let outcome = self.outcome(answer, warnings);
        let (tenant, by) = (&self.login.caller.tenant, self.attribution());
        self.storage()
            .change_model_once(tenant, by, model, change, outcome)
            .await
    }

    /// The outcome to store with a change outside of a unit, if the request has an idempotency key.
    pub(super) fn outcome<A: payload::Answer>(
        &self,
        answer: &A,
        warnings: &[String],
    ) -> Option<StoredOutcome> {
        let promised = self.promised.as_deref()?;
        let text = answer::text(&self.request, warnings, answer);
        Some(promised.outcome(self, &text))
    }

    pub const fn authenticator(&self) -> &Authenticator {
        &self.services.authenticator
    }

    /// What tenants may administer.
    pub const fn rules(&self) -> &Rules {
        &self.services.rules
    }

    /// Tasks that continue without the caller.
    pub(super) const fn in_flight(&self) -> &TaskTracker {
        &self.services.in_flight
    }

    pub const fn jobs(&self) -> &Jobs {
        &self.services.jobs
    }

    pub(super) const fn keys(&self) -> &Keys {
        &self.services.keys
    }

    pub(super) fn promise(&mut self, promised: Promised) {
        self.promised = Some(Arc::new(promised));
    }

    /// The request's idempotency key, if any.
    pub(super) fn promised(&self) -> Option<&Promised> {
        self.promised.as_deref()
    }

    /// The model of that name, as it is now.
    pub async fn definitions(&self, model: &ModelKey) -> Result<Arc<Definitions>, Failure> {
        let definitions = self
            .storage()
            .definitions(&self.login.caller.tenant, model)
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
}

/// Why a request is refused that comes while the server stops.
pub fn stopping() -> Failure {
    let message = "the server is stopping; connect again";
    Failure::new(Code::StorageUnavailable, message)
}

/// Why an answer without an end ends.
fn ended_by_stop() -> Failure {
    Failure::new(
        Code::StorageUnavailable,
        "the server is stopping; resume after the last sequence that was received",
    )
}
