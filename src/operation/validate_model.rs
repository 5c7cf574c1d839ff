//! Validates a document against a model, and reports every violation (`rest.md` §2.2).

use super::{
    Access, Context, Family, Operation, Output,
    conditions::{PLAIN_AT_ONCE, reading},
};
use crate::entity::Document;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;

pub(super) struct ValidateModel {
    model: ModelKey,
    document: Document,
}

impl Operation for ValidateModel {
    type Payload = model::Validate<'static>;
    type Answer = model::Validated;

    const REQUEST: EventType = EventType::EntityModelValidateRequest;
    const RESPONSE: EventType = EventType::EntityModelValidateResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: model::Validate<'_> = payload::decode(payload)?;
        let document = Document::from_raw(request.payload)
            .map_err(|error| Failure::malformed(format!("invalid document: {error}")))?;
        Ok(Self {
            model: request.model.into(),
            document,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions_seen(&self.model).await?;
        let compat = cx.runtime().compat();
        let is_large = self.document.json().as_str().len() > PLAIN_AT_ONCE;
        let check = move || {
            let violations = definitions.model.violations(&self.document, compat);
            model::Validated::new(&self.model, &violations)
        };
        let validated = if is_large {
            Box::pin(reading(&cx, check)).await?
        } else {
            check()
        };
        Ok(Output::one(validated))
    }
}
