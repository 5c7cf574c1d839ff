//! Characters that not every database can store.

use super::Draft;
use crate::storage::task::TaskChange;

impl Draft {
    /// Whether a name or a key has a NUL character. JSON has it only as an escape sequence.
    pub(in crate::storage) fn has_nul(&self) -> bool {
        let has = |text: &str| text.as_bytes().contains(&0);
        let writes = self.writes.iter().any(|write| {
            let image = &write.image;
            has(image.state.as_str())
                || image
                    .transition
                    .as_ref()
                    .is_some_and(|name| has(name.as_str()))
                || image
                    .workflow
                    .as_ref()
                    .is_some_and(|name| has(name.as_str()))
        });
        let tasks = self.tasks.iter().any(|change| match change {
            TaskChange::Put(task, _) => has(&task.name) || has(&task.body),
            TaskChange::Drop(_) => false,
        });
        let runs = self.runs.iter().any(|run| {
            has(&run.name.namespace)
                || has(&run.name.name)
                || run.keys.iter().any(|key| has(&key.key) || has(&key.scope))
        });
        let records = self.records.changes.iter().any(|change| {
            let key = &change.key;
            has(&key.namespace) || has(&key.name)
        });
        let topics = self.publications.iter().any(|publication| {
            has(&publication.topic.namespace)
                || has(&publication.topic.name)
                || publication.events.iter().any(|event| {
                    let texts = [&event.kind, &event.key, &event.id];
                    texts.into_iter().flatten().any(|text| has(text))
                })
        });
        let model = self.model.as_ref().is_some_and(|(key, _)| has(&key.name));
        let actors = has(&self.attribution.author.name) || has(self.tenant.as_str());
        let keys = self.outcomes.iter().any(|outcome| has(&outcome.once.key));
        writes || tasks || runs || records || topics || model || actors || keys
    }
}
