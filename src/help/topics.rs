//! The table of topics.

use super::{Facts, Section, Topic, made};

/// A written topic.
struct Source {
    name: &'static str,
    text: &'static str,
    see_also: &'static [&'static str],
    actions: &'static [&'static str],
}

const fn topic(
    name: &'static str,
    text: &'static str,
    see_also: &'static [&'static str],
) -> Source {
    Source {
        name,
        text,
        see_also,
        actions: &[],
    }
}

impl Source {
    const fn with(self, actions: &'static [&'static str]) -> Self {
        Self { actions, ..self }
    }
}

/// All written topics, in reading order.
#[rustfmt::skip]
const SOURCES: &[Source] = &[
    topic("getting-started", include_str!("topics/getting-started.md"), &["tutorial", "models", "workflows", "members", "cli"]),
    topic("tutorial", include_str!("topics/tutorial.md"), &["workflows", "explain", "messages", "unique-keys", "idempotency", "search", "indexes", "changes"]),
    topic("models", include_str!("topics/models.md"), &["entities", "workflows", "search", "unique-keys", "indexes"]),
    topic("unique-keys", include_str!("topics/unique-keys.md"), &["models", "errors"]),
    topic("entities", include_str!("topics/entities.md"), &["models", "workflows", "history", "transactions", "messages", "idempotency"]),
    topic("idempotency", include_str!("topics/idempotency.md"), &["entities", "transactions", "config"]),
    topic("workflows", include_str!("topics/workflows.md"), &["criteria", "processors", "timers", "workflows.schema-version"]),
    topic("workflows.schema-version", include_str!("topics/schema-version.md"), &["workflows"]).with(&["versions"]),
    topic("criteria", include_str!("topics/criteria.md"), &["workflows", "search", "members"]),
    topic("processors", include_str!("topics/processors.md"), &["workflows", "members", "transactions"]),
    topic("timers", include_str!("topics/timers.md"), &["workflows", "processors"]),
    topic("flo-documents", include_str!("topics/flo-documents.md"), &["runs", "workflows", "cli", "design.orchestration"]),
    topic("runs", include_str!("topics/runs.md"), &["flo-documents", "sagas", "actions", "topics", "files", "cli", "design.runs"]),
    topic("sagas", include_str!("topics/sagas.md"), &["runs", "connectors", "flo-documents", "members", "cli", "design.runs"]),
    topic("actions", include_str!("topics/actions.md"), &["runs", "members", "topics", "idempotency"]),
    topic("connectors", include_str!("topics/connectors.md"), &["runs", "members", "config", "security"]),
    topic("topics", include_str!("topics/topics.md"), &["runs", "actions", "definitions", "transactions"]),
    topic("files", include_str!("topics/files.md"), &["managers", "runs", "topics", "definitions", "transactions", "cli"]),
    topic("managers", include_str!("topics/managers.md"), &["files", "runs", "members", "cli"]),
    topic("members", include_str!("topics/members.md"), &["processors", "criteria", "actions", "cloudevents", "grpc"]),
    topic("transactions", include_str!("topics/transactions.md"), &["entities", "processors", "errors"]),
    topic("search", include_str!("topics/search.md"), &["criteria", "models", "entities", "indexes", "statistics"]),
    topic("indexes", include_str!("topics/indexes.md"), &["search", "models"]),
    topic("statistics", include_str!("topics/statistics.md"), &["search", "criteria"]),
    topic("postgres", include_str!("topics/postgres.md"), &["config", "operators", "errors", "design.storage"]),
    topic("history", include_str!("topics/history.md"), &["entities", "explain", "changes"]),
    topic("changes", include_str!("topics/changes.md"), &["history", "entities"]),
    topic("explain", include_str!("topics/explain.md"), &["history", "workflows", "criteria"]),
    topic("messages", include_str!("topics/messages.md"), &["entities"]),
    topic("cloudevents", include_str!("topics/cloudevents.md"), &["grpc", "rest", "errors"]).with(&["json"]),
    topic("grpc", include_str!("topics/grpc.md"), &["cloudevents", "members"]).with(&["json", "proto"]),
    topic("rest", include_str!("topics/rest.md"), &["openapi", "cloudevents", "errors"]),
    topic("openapi", include_str!("topics/openapi.md"), &["rest"]).with(&["json", "yaml", "tags"]),
    topic("errors", include_str!("topics/errors.md"), &["rest", "grpc", "transactions"]).with(&["json"]),
    topic("config", include_str!("topics/config.md"), &["cli", "operators", "postgres"]).with(&["all"]),
    topic("definitions", include_str!("topics/definitions.md"), &["flo-documents", "topics", "members", "idempotency"]),
    topic("cli", include_str!("topics/cli.md"), &["config", "getting-started", "flo-documents", "runs"]),
    topic("console", include_str!("topics/console.md"), &["operators", "runs", "explain", "security"]),
    topic("operators", include_str!("topics/operators.md"), &["console", "config", "postgres", "security", "reference", "benchmark", "attacks"]),
    topic("attacks", include_str!("topics/attacks.md"), &["operators", "security"]),
    topic("security", include_str!("topics/security.md"), &["operators", "config", "errors"]),
    topic("benchmark", include_str!("topics/benchmark.md"), &["operators", "contributing"]),
    topic("contributing", include_str!("topics/contributing.md"), &["design", "benchmark"]),
    topic("design", include_str!("design/README.md"), &["design.architecture", "contributing", "reference"]),
    topic("design.architecture", include_str!("design/architecture.md"), &["design", "design.storage", "design.workflow-engine", "design.stream"]),
    topic("design.storage", include_str!("design/storage.md"), &["design", "design.architecture", "design.limits", "transactions"]),
    topic("design.workflow-engine", include_str!("design/workflow-engine.md"), &["design", "workflows", "criteria", "processors", "timers"]),
    topic("design.models-and-entities", include_str!("design/models-and-entities.md"), &["design", "models", "entities", "history", "unique-keys"]),
    topic("design.search", include_str!("design/search.md"), &["design", "search", "criteria", "indexes", "statistics"]),
    topic("design.stream", include_str!("design/stream.md"), &["design", "cloudevents", "changes", "idempotency", "design.grpc"]),
    topic("design.grpc", include_str!("design/grpc.md"), &["design", "grpc", "members", "cloudevents"]),
    topic("design.rest", include_str!("design/rest.md"), &["design", "rest", "openapi", "design.errors"]),
    topic("design.errors", include_str!("design/errors.md"), &["design", "errors", "reference.errors"]),
    topic("design.config-and-cli", include_str!("design/config-and-cli.md"), &["design", "config", "cli", "operators", "security"]),
    topic("design.orchestration", include_str!("design/orchestration.md"), &["design", "flo-documents", "design.runs", "design.roadmap"]),
    topic("design.runs", include_str!("design/runs.md"), &["design", "flo-documents", "design.orchestration", "design.roadmap"]),
    topic("design.limits", include_str!("design/limits.md"), &["design", "design.storage", "benchmark"]),
    topic("design.roadmap", include_str!("design/roadmap.md"), &["design", "design.orchestration", "design.runs"]),
];

/// All topics, written and generated.
pub(super) fn all(facts: &Facts) -> Vec<Topic> {
    let mut topics: Vec<Topic> = SOURCES.iter().map(|source| source.read(facts)).collect();
    topics.extend(made::topics_of_reference(facts));
    topics.extend(made::topics_of_errors());
    topics.extend(made::topics_of_events(facts));
    topics
}

impl Source {
    fn read(&self, facts: &Facts) -> Topic {
        let lines = self.text.lines().map(|line| {
            let table = line
                .strip_prefix("{{")
                .and_then(|line| line.strip_suffix("}}"))
                .and_then(|name| made::table(name, facts));
            table.unwrap_or_else(|| format!("{line}\n"))
        });
        Topic {
            see_also: self.see_also,
            actions: self.actions,
            ..Topic::of(self.name, lines.collect())
        }
    }
}

impl Topic {
    /// A topic from its Markdown.
    pub(super) fn of(name: &str, body: String) -> Self {
        let mut parts = body.split("\n## ");
        let head = parts.next().unwrap_or_default();
        let (title, rest) = head.split_once('\n').unwrap_or((head, ""));
        let synopsis = rest.trim_start().split("\n\n").next().unwrap_or_default();
        let sections = parts.map(|part| {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            Section {
                name: name.trim().to_owned(),
                body: body.trim().to_owned(),
            }
        });
        Self {
            path: name.split('.').map(ToOwned::to_owned).collect(),
            title: title.trim_start_matches('#').trim().to_owned(),
            synopsis: synopsis.trim().replace('\n', " "),
            sections: sections.collect(),
            see_also: &[],
            actions: &[],
            body,
        }
    }
}
