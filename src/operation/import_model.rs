//! Creates a model from a sample or a simple view, or widens one by it (`models-and-entities.md` §2
//! and §3).

use super::{Access, Context, Family, Operation, Output};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, DataFormat, model},
};
use crate::id::ModelKey;
use crate::model::Schema;
use crate::storage::ModelChange;

pub(super) struct ImportModel {
    model: ModelKey,
    schema: Schema,
    converter: model::Converter,
}

/// How long the name of a model may be. It is in an index of the database.
const NAME_BYTES_MAX: usize = 512;

impl Operation for ImportModel {
    type Payload = model::Import<'static>;
    type Answer = model::Imported;

    const REQUEST: EventType = EventType::EntityModelImportRequest;
    const RESPONSE: EventType = EventType::EntityModelImportResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let import: model::Import<'_> = payload::decode(payload)?;
        if import.model.name.is_empty() {
            return Err(Failure::malformed(
                "invalid payload: the name of the model is empty",
            ));
        }
        if import.model.name.len() > NAME_BYTES_MAX {
            return Err(Failure::malformed(format!(
                "invalid payload: the name of the model has more than {NAME_BYTES_MAX} bytes"
            )));
        }
        let schema = match (import.converter, import.data_format) {
            (model::Converter::SampleData, format) => Schema::infer(&format.read(import.payload)?),
            (model::Converter::SimpleView, DataFormat::Json) => {
                let view = model::simple_view(import.payload)?;
                Schema::from_simple_view(&view)
                    .map_err(|error| Failure::new(Code::BadRequest, error.to_string()))?
            }
            (model::Converter::SimpleView, DataFormat::Xml) => {
                return Err(unsupported("a SIMPLE_VIEW must be JSON"));
            }
            (model::Converter::JsonSchema, _) => {
                return Err(Failure::malformed(
                    "invalid payload: unsupported import converter; use SAMPLE_DATA or SIMPLE_VIEW",
                ));
            }
        };
        Ok(Self {
            model: import.model.into(),
            schema,
            converter: import.converter,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let is_sample = self.converter == model::Converter::SampleData;
        if !is_sample && cx.runtime().compat().models_come_from_samples() {
            return Err(unsupported("use SAMPLE_DATA"));
        }
        let change = ModelChange::Import(self.schema);
        let imported = model::Imported {
            model_id: AsText(self.model.id()),
        };
        cx.change_model(&self.model, change, &imported, &[]).await?;
        Ok(Output::one(imported))
    }
}

fn unsupported(advice: &str) -> Failure {
    let message = format!("unsupported import converter; {advice}");
    Failure::new(Code::BadRequest, message)
}
