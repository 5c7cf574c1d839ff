//! Loads the reports of a folder, and prints what became of them.

use std::{collections::HashSet, fs, path::Path};

use futures_util::future::try_join_all;
use interlock_client::{
    Client, Code, Json, Model, Result,
    api::{
        Condition, EntityModelGetAllRequest, EntitySearchRequest, EntityStatsByStateGetRequest,
        EntityWorkflowExportRequest, ModelState, SimpleConditionOperatorType as Operator,
    },
};
use serde::Deserialize;

use crate::member::{alerts, reports};

/// The magnitude from which on automatic reports are confirmed; the others continue to wait.
const REVIEW_FROM: u8 = 3;

pub(crate) struct Loader<'a> {
    client: &'a Client,
    folder: &'a Path,
}

#[derive(Deserialize)]
struct File {
    features: Vec<Json>,
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(client: &'a Client, folder: &'a Path) -> Self {
        Self { client, folder }
    }

    /// Does everything that has not been done yet.
    pub(crate) async fn load(&self) -> Result<()> {
        for model in [alerts(), reports()] {
            self.prepare(&model).await?;
        }
        self.add_missing().await?;
        self.confirm().await?;
        for model in [reports(), alerts()] {
            self.show(&model).await?;
        }
        Ok(())
    }

    /// Imports and locks a model, and imports its workflow, where that has not been done.
    async fn prepare(&self, model: &Model) -> Result<()> {
        let models = self.client.models();
        let known = self
            .client
            .entity_model_get_all(&EntityModelGetAllRequest::new())
            .await?;
        let is_this = |name: &str, version| name == model.name && version == model.version;
        let known = known
            .models
            .iter()
            .find(|one| is_this(&one.name, one.version));
        if known.is_none() {
            let sample = self.read(&format!("models/{}", model.name))?;
            models.import(model, &sample).await?;
            println!("model {} imported", model.name);
        }
        if known.is_none_or(|known| known.state != ModelState::Locked) {
            models.lock(model).await?;
        }
        let export = EntityWorkflowExportRequest::new(model);
        match self.client.entity_workflow_export(&export).await {
            Err(error) if *error.code() == Code::WorkflowNotFound => {
                let workflow = self.read(&format!("workflows/{}", model.name))?;
                println!("workflow of {} imported", model.name);
                models.import_workflows(model, [workflow]).await
            }
            exported => exported.map(drop),
        }
    }

    /// Creates the reports that are not there yet, side by side.
    async fn add_missing(&self) -> Result<()> {
        let entities = self.client.entities();
        let file: File = self.read("data/earthquakes")?.decode()?;
        let mut there = HashSet::new();
        let mut listed = entities.list(reports());
        while let Some(entity) = listed.next().await {
            there.insert(entity?.document::<Identified>()?.id);
        }
        let (count, known) = (file.features.len(), there.len());
        println!("{count} reports in the file, {known} of them are there already");
        let mut missing = Vec::new();
        for report in &file.features {
            if !there.contains(&report.decode::<Identified>()?.id) {
                missing.push(entities.create(reports(), report).into_future());
            }
        }
        let added = try_join_all(missing).await?.len();
        println!("{added} reports added");
        Ok(())
    }

    /// Confirms the automatic reports that are worth a review.
    async fn confirm(&self) -> Result<()> {
        let entities = self.client.entities();
        let worth_a_review = Condition::and([
            Condition::state("AWAITING_REVIEW"),
            Condition::field("$.properties.mag", Operator::GreaterOrEqual, REVIEW_FROM),
        ]);
        let request = EntitySearchRequest::new(worth_a_review, reports()).limit(10_000);
        let waiting = entities.search(request).all().await?;
        let confirm = |id: &str| entities.transition(id, "confirm").into_future();
        let confirmed = try_join_all(waiting.iter().map(|report| confirm(&report.id)))
            .await?
            .len();
        println!("{confirmed} automatic reports from magnitude {REVIEW_FROM} on confirmed");
        Ok(())
    }

    /// Prints how many entities are in which state.
    async fn show(&self, model: &Model) -> Result<()> {
        let request = EntityStatsByStateGetRequest::new().model(model);
        let mut counts = self
            .client
            .entity_stats_by_state_get(&request)
            .all()
            .await?;
        counts.sort_by_key(|one| std::cmp::Reverse(one.count));
        println!("\n{:<20} entities", model.name);
        for one in &counts {
            println!("  {:<18} {:>8}", one.state, one.count);
        }
        let together: i64 = counts.iter().map(|one| one.count).sum();
        println!("  {:<18} {together:>8}", "together");
        Ok(())
    }

    /// Reads one of the JSON files of the example.
    fn read(&self, name: &str) -> Result<Json> {
        let path = self.folder.join(format!("{name}.json"));
        // A file that cannot be read is not JSON either; the message says which.
        Json::parse(fs::read_to_string(&path).unwrap_or_else(|error| {
            eprintln!("{}: {error}", path.display());
            String::new()
        }))
    }
}
