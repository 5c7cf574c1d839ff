//! A change of a model: a unit of its own.

use tokio_util::sync::CancellationToken;

use crate::id::{ModelKey, Tenant, TransactionId};
use crate::storage::{
    Error, Storage,
    draft::{Attribution, Committed, Draft, ModelChange, StoredOutcome},
};

impl Storage {
    /// Changes a model in a unit of its own.
    pub async fn change_model(
        &self,
        tenant: &Tenant,
        attribution: Attribution,
        model: &ModelKey,
        change: ModelChange,
    ) -> Result<Committed, Error> {
        self.change_model_once(tenant, attribution, model, change, None)
            .await
    }

    /// Changes a model in a unit of its own, and stores what is to be answered to a repeat.
    pub async fn change_model_once(
        &self,
        tenant: &Tenant,
        attribution: Attribution,
        model: &ModelKey,
        change: ModelChange,
        outcome: Option<StoredOutcome>,
    ) -> Result<Committed, Error> {
        let draft = Draft {
            outcomes: outcome.into_iter().collect(),
            model: Some((model.clone(), change)),
            ..Draft::new(TransactionId::fresh(), tenant.clone(), attribution)
        };
        let never = CancellationToken::new();
        match self.submit(Box::new(draft), 0, &never).await {
            // The committer does not take the time to count.
            Err(Error::ModelHasEntities { model, .. }) => {
                let definitions = self.definitions(tenant, &model).await?;
                let count = match definitions {
                    Some(definitions) => self.count(&definitions).await?,
                    None => 0,
                };
                Err(Error::ModelHasEntities { model, count })
            }
            outcome => outcome,
        }
    }
}
