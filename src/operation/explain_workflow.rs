//! Explains why an entity did or did not move (`stream.md` §3): in the past, now, or
//! hypothetically.

use super::{
    Access, Context, Family, Operation, Output, audit_finished::unknown, writing::document,
};
use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, entity::entity_id, explain},
};
use crate::id::{EntityId, ModelKey, StateName, TransactionId, TransitionName};
use crate::runtime::Supposed;

pub(super) struct ExplainWorkflow {
    subject: Subject,
    transition: Option<TransitionName>,
}

enum Subject {
    Entity(EntityId),
    Past(EntityId, TransactionId),
    Supposed {
        model: ModelKey,
        document: Box<Document>,
        state: Option<StateName>,
    },
}

impl Operation for ExplainWorkflow {
    type Payload = explain::Explain<'static>;
    type Answer = explain::Explanation;

    const REQUEST: EventType = EventType::WorkflowExplainRequest;
    const RESPONSE: EventType = EventType::WorkflowExplainResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: explain::Explain<'_> = payload::decode(payload)?;
        let transaction = request
            .transaction_id
            .as_deref()
            .map(|text| text.parse::<TransactionId>().map_err(|_| unknown(text)));
        let subject = match (&request.entity_id, request.model, request.data) {
            (Some(id), None, None) => match transaction.transpose()? {
                Some(transaction) => Subject::Past(entity_id(id)?, transaction),
                None => Subject::Entity(entity_id(id)?),
            },
            (None, Some(model), Some(data)) => Subject::Supposed {
                model: model.into(),
                document: Box::new(document(data)?),
                state: request.state.map(StateName::from),
            },
            _ => {
                return Err(Failure::new(
                    Code::BadRequest,
                    "set `entityId`, or `model` and `data`",
                ));
            }
        };
        Ok(Self {
            subject,
            transition: request.transition.map(TransitionName::from),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (runtime, tenant) = (cx.runtime(), &cx.caller().tenant);
        let entity = match &self.subject {
            Subject::Entity(id) | Subject::Past(id, _) => Some(*id),
            Subject::Supposed { .. } => None,
        };
        let explained = match self.subject {
            Subject::Entity(id) => runtime.explain_present(tenant, id, self.transition).await?,
            Subject::Past(id, transaction) => {
                let transition = self.transition.as_ref();
                runtime
                    .explain_past(tenant, id, transaction, transition)
                    .await?
            }
            Subject::Supposed {
                model,
                document,
                state,
            } => {
                let supposed = Supposed {
                    model,
                    document: *document,
                    state,
                };
                runtime
                    .explain_supposed(tenant, supposed, self.transition)
                    .await?
            }
        };
        Ok(Output::one(explain::Explanation {
            entity_id: entity.map(AsText),
            model: explained.model.into(),
            state: explained.state.map(|state| state.to_string()),
            transitions: explained.ways.into_iter().map(Into::into).collect(),
            runs: explained.runs.into_iter().map(Into::into).collect(),
        }))
    }
}
