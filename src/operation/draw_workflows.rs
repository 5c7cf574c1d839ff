//! Draws the workflows of a model (`stream.md` §3).

use super::{Access, Context, Family, Operation, Output, export_workflows::no_workflows};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        workflow::{self, DiagramFormat},
    },
};
use crate::id::ModelKey;
use crate::workflow::{Language, draw};

pub(super) struct DrawWorkflows {
    model: ModelKey,
    format: DiagramFormat,
}

impl Operation for DrawWorkflows {
    type Payload = workflow::Diagram;
    type Answer = workflow::Drawn;

    const REQUEST: EventType = EventType::EntityWorkflowDiagramRequest;
    const RESPONSE: EventType = EventType::EntityWorkflowDiagramResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let diagram: workflow::Diagram = payload::decode(payload)?;
        Ok(Self {
            model: diagram.model.into(),
            format: diagram.format,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions(&self.model).await?;
        let entries = &definitions.workflows.entries;
        if entries.is_empty() {
            return Err(no_workflows(&self.model));
        }
        let language = match self.format {
            DiagramFormat::Mermaid => Language::Mermaid,
            DiagramFormat::Dot => Language::Dot,
        };
        let text = draw(entries, language);
        Ok(Output::one(workflow::Drawn {
            model: self.model.into(),
            format: self.format,
            text,
        }))
    }
}
