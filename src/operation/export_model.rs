//! Exports a model (`models-and-entities.md` §5).

use super::{Access, Answer, Context, Family, Operation, set_indexes::items};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, Object, model},
};
use crate::id::ModelKey;
use crate::model::{json_schema, simple_view};

pub(super) struct ExportModel {
    model: ModelKey,
    converter: model::Converter,
}

impl Operation for ExportModel {
    type Payload = model::Export;

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

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let definitions = cx.definitions_seen(&self.model).await?;
        let shape = match self.converter {
            model::Converter::SimpleView => simple_view(&definitions.model.schema),
            model::Converter::JsonSchema => json_schema(&definitions.model.schema),
            model::Converter::SampleData => {
                return Err(Failure::new(
                    Code::BadRequest,
                    "unsupported export converter; use SIMPLE_VIEW or JSON_SCHEMA",
                ));
            }
        };
        let document = Object::new()
            .text("currentState", definitions.model.lock.as_str())
            .raw("model", &shape.to_string());
        let document = if definitions.has_unique_keys() {
            let keys = model::unique_keys(&definitions.model.unique_keys);
            document.raw("uniqueKeys", &keys)
        } else {
            document
        };
        let indexes = cx.storage().indexes(&definitions);
        let document = if indexes.is_empty() {
            document
        } else {
            document.raw("indexes", &model::indexes(items(&indexes)))
        }
        .finish();
        cx.answer(
            Self::RESPONSE,
            model::exported(cx.request(), &self.model, &document),
        )
    }
}
