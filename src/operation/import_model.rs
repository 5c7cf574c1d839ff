//! Makes a model from a sample, or adds a sample to one (`models-and-entities.md` §2 and §3).

use super::{Access, Answer, Context, Family, Operation};
use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;
use crate::model::Schema;
use crate::storage::ModelChange;

pub(super) struct ImportModel {
    model: ModelKey,
    schema: Schema,
}

impl Operation for ImportModel {
    const REQUEST: EventType = EventType::EntityModelImportRequest;
    const RESPONSE: EventType = EventType::EntityModelImportResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let import: model::Import<'_> = payload::decode(payload)?;
        import.data_format.require_json()?;
        if import.converter != model::Converter::SampleData {
            return Err(Failure::new(
                Code::BadRequest,
                "unsupported import converter; use SAMPLE_DATA",
            ));
        }
        let sample = Document::from_raw(import.payload)
            .map_err(|error| Failure::malformed(format!("invalid sample: {error}")))?;
        Ok(Self {
            model: import.model.into(),
            schema: Schema::infer(&sample),
        })
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let change = ModelChange::Import(self.schema);
        cx.storage()
            .change_model(&cx.caller().tenant, cx.attribution(), &self.model, change)
            .await?;
        cx.answer(Self::RESPONSE, model::imported(cx.request(), &self.model))
    }
}
