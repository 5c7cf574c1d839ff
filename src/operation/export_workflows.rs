//! Exports the workflows of a model (`workflow-engine.md` §5).

use super::{Access, Context, Family, Operation, Output};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, RawJson, workflow},
};
use crate::id::ModelKey;

pub(super) struct ExportWorkflows {
    model: ModelKey,
}

impl Operation for ExportWorkflows {
    type Payload = workflow::Export;
    type Answer = workflow::Exported;

    const REQUEST: EventType = EventType::EntityWorkflowExportRequest;
    const RESPONSE: EventType = EventType::EntityWorkflowExportResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let export: workflow::Export = payload::decode(payload)?;
        Ok(Self {
            model: export.model.into(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions(&self.model).await?;
        let entries = &definitions.workflows.entries;
        if entries.is_empty() {
            return Err(no_workflows(&self.model));
        }
        let compat = cx.runtime().compat();
        let exported = entries.iter().map(|entry| {
            let definition = entry.workflow.definition.export(entry.active, compat);
            definition.map(RawJson)
        });
        let exported: Result<Vec<_>, _> = exported.collect();
        let workflows = exported.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Output::one(workflow::Exported {
            model: self.model.into(),
            workflows,
        }))
    }
}

/// The built-in workflow is nobody's: it is neither exported nor drawn.
pub(super) fn no_workflows(model: &ModelKey) -> Failure {
    let ModelKey { name, version } = model;
    Failure::new(
        Code::WorkflowNotFound,
        format!("no workflows found for model {name}/{version}"),
    )
}
