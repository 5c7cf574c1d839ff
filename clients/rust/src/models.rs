//! The most common operations on models.

use serde::Serialize;

use crate::{
    Client, Json, Model, Request,
    api::{DataFormat, EntityModelImportRequest, EntityModelTransitionRequest},
};

/// Imports models and their workflows.
#[derive(Debug)]
pub struct Models<'a> {
    client: &'a Client,
}

impl<'a> Models<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        Self { client }
    }

    /// Makes a model from a sample document.
    pub fn import(
        &self,
        model: impl Into<Model>,
        sample: &(impl Serialize + ?Sized),
    ) -> Request<()> {
        match Json::encode(sample) {
            Ok(sample) => {
                let request =
                    EntityModelImportRequest::new("SAMPLE_DATA", DataFormat::Json, model, sample);
                self.client.call("EntityModelImportRequest", &request)
            }
            Err(failure) => Request::new(self.client.clone(), Err(failure)),
        }
    }

    /// Makes a model ready for entities.
    pub fn lock(&self, model: impl Into<Model>) -> Request<()> {
        let request = EntityModelTransitionRequest::new(model, "LOCK");
        self.client.call("EntityModelTransitionRequest", &request)
    }

    /// Replaces the workflows of a model. Each is whatever becomes the document of a workflow,
    /// such as [`Json`] from a file, or [`api::Workflow`](crate::api::Workflow).
    pub fn import_workflows<W: Serialize>(
        &self,
        model: impl Into<Model>,
        workflows: impl IntoIterator<Item = W>,
    ) -> Request<()> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Replacing<W> {
            model: Model,
            import_mode: &'static str,
            workflows: Vec<W>,
        }
        let request = Replacing {
            model: model.into(),
            import_mode: "REPLACE",
            workflows: workflows.into_iter().collect(),
        };
        self.client.call("EntityWorkflowImportRequest", &request)
    }
}
