//! Answers a version of a definition with its document.

use std::sync::Arc;

use super::texts;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, RawJson, definitions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};
use crate::registry::producer::{self, Producer};

pub(in crate::operation) struct GetDefinition {
    namespace: Arc<str>,
    name: String,
    version: Option<String>,
}

impl Operation for GetDefinition {
    type Payload = definitions::Get;
    type Answer = definitions::Described;

    const REQUEST: EventType = EventType::RunDefinitionGetRequest;
    const RESPONSE: EventType = EventType::RunDefinitionGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: definitions::Get = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
            version: request.version,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let described =
            cx.registry()
                .described(tenant, &self.namespace, &self.name, self.version.as_deref());
        let described = described.await?;
        let schedule = schedule(&cx, &self.namespace, &self.name).await?;
        let trigger = trigger(&cx, &self.namespace, &self.name).await?;
        Ok(Output::one(definitions::Described {
            item: described.listed.into(),
            digest: described.digest.to_string(),
            document: RawJson::trusted(described.document.get()),
            disabled_versions: texts(&described.disabled_versions),
            findings: described.findings.into_iter().map(Into::into).collect(),
            plans: described.plans,
            schedule,
            trigger,
        }))
    }
}

/// The schedule of a definition, as it is now.
async fn schedule(
    cx: &Context,
    namespace: &Arc<str>,
    name: &str,
) -> Result<Option<definitions::Schedule>, Failure> {
    let tenant = &cx.caller().tenant;
    let key = producer::schedule_key(namespace, name);
    let record = cx.storage().record(tenant, &key).await?;
    let Some(Producer::Schedule(schedule)) = record.map(|it| Producer::read(&it)).transpose()?
    else {
        return Ok(None);
    };
    let latest = cx
        .registry()
        .definition(tenant, namespace, name, None)
        .await?;
    let active = !schedule.paused && !latest.is_disabled();
    let next = schedule.next(cx.storage().now()).filter(|_| active);
    let live = cx.runtime().still_live(tenant, &schedule.live).await?;
    Ok(Some(definitions::Schedule {
        cron: schedule.cron.as_deref().map(Into::into),
        interval_ms: schedule.interval_ms,
        active,
        next_fire_at: next.map(AsText),
        last_fire_at: schedule.last_fire().map(AsText),
        running: live.len(),
        skipped: schedule.skipped,
    }))
}

/// The trigger of a definition, as it is now.
async fn trigger(
    cx: &Context,
    namespace: &Arc<str>,
    name: &str,
) -> Result<Option<definitions::Trigger>, Failure> {
    let tenant = &cx.caller().tenant;
    let key = producer::trigger_key(namespace, name);
    let record = cx.storage().record(tenant, &key).await?;
    let Some(Producer::Trigger(trigger)) = record.map(|it| Producer::read(&it)).transpose()? else {
        return Ok(None);
    };
    let latest = cx
        .registry()
        .definition(tenant, namespace, name, None)
        .await?;
    let topic = cx
        .storage()
        .topic(tenant, &trigger.topic(), trigger.position, 0)
        .await?;
    let (first, lag) = topic.map_or((0, 0), |(topic, _)| {
        let read = trigger.position.max(topic.first - 1);
        (topic.first, (topic.last - read).max(0))
    });
    let missed = trigger.missed(first);
    Ok(Some(definitions::Trigger {
        topic: trigger.topic.into(),
        namespace: trigger.namespace.into(),
        consumer_group: trigger.consumer_group.into(),
        mode: trigger.mode.into(),
        batch_size: trigger.batch_size,
        active: !latest.is_disabled() && !trigger.paused,
        position: trigger.position,
        lag,
        missed: (missed > 0).then_some(missed),
    }))
}
