//! What a turn asks for within its unit of work.

use std::sync::Arc;

use super::{
    Runtime, Session, advance::Advancing, entity_call::EntityCall, start::StartRun, state,
};
use crate::error::{Code, Failure};
use crate::program::{Ask, Availability, Reply, StartedBy, StartedChild};
use crate::storage::RunName;

impl Runtime {
    pub(super) async fn reply(
        &self,
        session: &mut Session,
        advancing: &mut Advancing<'_>,
        ask: Ask,
    ) -> Result<Reply, Failure> {
        Ok(match ask {
            Ask::Load(sequences) => {
                let mut values = Vec::with_capacity(sequences.len());
                for sequence in sequences {
                    values.push((sequence, self.value(session, advancing, sequence).await?));
                }
                Reply::Loaded(values)
            }
            Ask::Action(name) => Reply::Action(self.availability(advancing, &name).await?),
            Ask::Call { action, input } => {
                // It may take as long as its action allows.
                session.leave_slot();
                let answer = self.call_here(advancing, &action, input).await?;
                session.take_slot().await;
                Reply::Called(answer)
            }
            Ask::Child { reference, input } => {
                Reply::Child(self.child(session, advancing, &reference, input).await?)
            }
            Ask::Entity {
                step,
                input,
                wanted,
            } => {
                let call = EntityCall::of_step(step, input);
                let working = Box::pin(self.work_on(session, advancing, &call, &wanted));
                Reply::Entity(working.await?)
            }
            Ask::Order { plan, cache_key } => {
                Reply::Order(self.order(advancing, &plan, cache_key.as_deref()))
            }
            Ask::Connector(name) => Reply::Connector(self.reach(advancing, &name).await?),
            Ask::CallConnector { request, .. } => {
                Reply::Called(self.call_connector(session, advancing, &request).await?)
            }
            Ask::Permit { plan, executor } => {
                Reply::Permit(self.permit(advancing, &plan, &executor))
            }
        })
    }

    /// The value that an event of the run has.
    async fn value(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        sequence: u64,
    ) -> Result<Arc<str>, Failure> {
        let mut events = advancing.uncommitted.iter();
        if let Some(event) = events.find(|event| event.sequence == sequence) {
            return Ok(event.payload().into());
        }
        for text in session.unit()?.run_events(advancing.run) {
            let event = state::event(text)?;
            if event.sequence == sequence {
                return Ok(event.payload().into());
            }
        }
        self.stored_value(advancing.run, sequence).await
    }

    /// The value that a stored event has.
    pub(super) async fn stored_value(
        &self,
        run: crate::id::RunId,
        sequence: u64,
    ) -> Result<Arc<str>, Failure> {
        let stored = self.storage();
        let found = stored
            .run_events(run, sequence.saturating_sub(1), 1)
            .await?;
        for advance in found {
            for event in state::events(&advance.record)? {
                if event.sequence == sequence {
                    return Ok(event.payload().into());
                }
            }
        }
        Err(Failure::internal(format!(
            "run {run} has no event {sequence}"
        )))
    }

    async fn availability(
        &self,
        advancing: &Advancing<'_>,
        name: &str,
    ) -> Result<Availability, Failure> {
        let namespace = &advancing.name.namespace;
        let action = self.action_of(&advancing.by.tenant, namespace, name);
        let action = action.await?;
        Ok(match action {
            None => Availability::Missing,
            Some(action) if !action.enabled => Availability::Disabled,
            Some(action) if action.wasm.is_some() => Availability::Here,
            Some(action) => Availability::Ready {
                timeout: Some(action.timeout()),
            },
        })
    }

    /// Starts a run below another, in the commit of that one.
    async fn child(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        reference: &str,
        input: Arc<str>,
    ) -> Result<StartedChild, Failure> {
        let namespace = Arc::clone(&advancing.name.namespace);
        let start = |name: &str, version: Option<&str>| {
            let name = RunName {
                namespace: Arc::clone(&namespace),
                name: name.into(),
            };
            StartRun {
                version: version.map(Into::into),
                parent: Some((advancing.run, advancing.depth + 1)),
                ..StartRun::new(name, Arc::clone(&input), StartedBy::Parent)
            }
        };
        // The whole is tried as a name before what follows its last colon is a version.
        let mut wanted = vec![start(reference, None)];
        if let Some((name, version)) = reference.rsplit_once(':') {
            wanted.push(start(name, Some(version)));
        }
        for start in wanted {
            match self.start_run(session, advancing.by, start).await {
                Ok(started) => return Ok(StartedChild::Started { run: started.id }),
                Err(failure) if failure.code() == Code::RunDefinitionNotFound => {}
                Err(failure) if failure.code() == Code::RunDefinitionDisabled => {
                    return Ok(StartedChild::Disabled);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(StartedChild::Missing)
    }
}
