//! Exports a model (`models-and-entities.md` §5).

use super::{Access, Context, Family, Operation, Output, set_indexes::items};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, RawJson, model},
};
use crate::id::ModelKey;
use crate::model::{json_schema, simple_view};

pub(super) struct ExportModel {
    model: ModelKey,
    converter: model::Converter,
}

impl Operation for ExportModel {
    type Payload = model::Export;
    type Answer = model::Exported;

    const REQUEST: EventType = EventType::EntityModelExportRequest;
    const RESPONSE: EventType = EventType::EntityModelExportResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let export: model::Export = payload::decode(payload)?;
        Ok(Self {
            model: export.model.into(),
            converter: export.converter,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions_seen(&self.model).await?;
        let shape = match self.converter {
            model::Converter::SimpleView => simple_view(&definitions.model.schema)
                .map_err(|error| Failure::new(Code::BadRequest, error.to_string()))?,
            model::Converter::JsonSchema => json_schema(&definitions.model.schema),
            model::Converter::SampleData => {
                return Err(Failure::new(
                    Code::BadRequest,
                    "unsupported export converter; use SIMPLE_VIEW or JSON_SCHEMA",
                ));
            }
        };
        let has_keys = definitions.has_unique_keys();
        Ok(Output::one(model::Exported {
            model_id: AsText(self.model.id()),
            model: self.model.into(),
            payload: model::Payload::Shape(model::Shape {
                current_state: definitions.model.lock.into(),
                model: RawJson::trusted(shape.to_string()),
                unique_keys: has_keys.then(|| model::unique_keys(&definitions.model.unique_keys)),
                indexes: items(&cx.storage().indexes(&definitions)),
            }),
        }))
    }
}
