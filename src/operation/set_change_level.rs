//! Sets how far documents may widen a model (`models-and-entities.md` §4.3).

use super::{Access, Context, Family, Operation, Output};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;
use crate::model::ChangeLevel;
use crate::storage::ModelChange;

pub(super) struct SetChangeLevel {
    model: ModelKey,
    level: String,
}

impl Operation for SetChangeLevel {
    type Payload = model::SetChangeLevel;
    type Answer = model::ChangeLevelSet;

    const REQUEST: EventType = EventType::EntityModelSetChangeLevelRequest;
    const RESPONSE: EventType = EventType::EntityModelSetChangeLevelResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: model::SetChangeLevel = payload::decode(payload)?;
        Ok(Self {
            model: request.model.into(),
            level: request.change_level,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.definitions(&self.model).await?;
        let level =
            ChangeLevel::from_name(&self.level).ok_or_else(|| invalid(&self.model, self.level))?;
        let change = ModelChange::SetChangeLevel(level);
        let set = model::ChangeLevelSet::new(&self.model, level);
        cx.change_model(&self.model, change, &set, &[]).await?;
        Ok(Output::one(set))
    }
}

fn invalid(model: &ModelKey, given: String) -> Failure {
    let names = ChangeLevel::ALL.map(ChangeLevel::as_str);
    let message = format!("`{given}` is not a change level; use {}", names.join(", "));
    Failure::new(Code::InvalidChangeLevel, message)
        .with("entityName", &*model.name)
        .with("entityVersion", model.version)
        .with("suppliedValue", given)
        .with("validValues", names.to_vec())
}
