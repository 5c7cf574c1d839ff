//! Topics generated from the tables of the code.

use serde_json::{Value, json};

use super::{Facts, Topic};
use crate::dialect::{Rule, flo, saga};
use crate::error::{Code, Retry};
use crate::operation::{Access, Answers, ROUTES, Route};
use crate::telemetry::described::METRICS;

/// The table that replaces a placeholder of that name.
pub(super) fn table(name: &str, facts: &Facts) -> Option<String> {
    match name {
        "errors" => Some(errors()),
        "operations" => Some(operations()),
        "settings" => Some(settings(facts)),
        "metrics" => Some(metrics()),
        "findings" => Some(findings(&flo::RULES)),
        "sagafindings" => Some(findings(&saga::RULES)),
        _ => None,
    }
}

fn errors() -> String {
    let rows = Code::ALL.iter().map(|code| {
        format!(
            "| `{code}` | {} | {} | {} |\n",
            code.status().as_u16(),
            retry(*code),
            code.meaning()
        )
    });
    format!(
        "| Code | HTTP | Retry | Meaning |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn retry(code: Code) -> &'static str {
    match code.retry() {
        Retry::Later => "yes",
        Retry::Never => "",
    }
}

fn settings(facts: &Facts) -> String {
    let in_effect = facts.settings.iter().filter(|setting| setting.has_effect);
    let rows = in_effect.map(|setting| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            setting.name,
            setting.kind,
            quoted(setting.default),
            setting.meaning
        )
    });
    format!(
        "| Name | Value | Default | Meaning |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{text}`")
    }
}

fn findings(rules: &[Rule]) -> String {
    let rows = rules.iter().flat_map(|rule| {
        let severities = [("error", rule.error), ("warning", rule.warning)];
        let raised = severities
            .into_iter()
            .filter(|(_, raised)| !raised.is_empty());
        raised.map(|(severity, raised)| format!("| `{}` | {severity} | {raised} |\n", rule.code))
    });
    format!(
        "| Code | Severity | Raised when |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn metrics() -> String {
    let rows = METRICS.iter().map(|metric| {
        let labels = metric.labels.split(", ").map(quoted).collect::<Vec<_>>();
        format!(
            "| `{}` | {} | {} | {} |\n",
            metric.name,
            metric.kind.as_str(),
            labels.join(", "),
            metric.meaning
        )
    });
    format!(
        "| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn operations() -> String {
    let rows = ROUTES.iter().map(|route| {
        format!(
            "| `{}` | `{}` | {} | `{}` |\n",
            route.request,
            route.response,
            answers(route),
            route.method()
        )
    });
    format!(
        "| Request | Answer | How many | gRPC method |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

const fn answers(route: &Route) -> &'static str {
    match route.answers {
        Answers::One => "one",
        Answers::Many => "many",
        Answers::Live => "until cancelled",
    }
}

const fn access(route: &Route) -> &'static str {
    match route.access {
        Access::Read => "reads",
        Access::Write => "writes",
    }
}

/// The reference pages: name, title and synopsis, followed by a table.
const REFERENCE: [(&str, &str, &str); 4] = [
    (
        "settings",
        "Settings",
        "Every setting that has an effect: its value, its default and its meaning. `config` explains where settings come from.",
    ),
    (
        "errors",
        "Error codes",
        "Every error code: its HTTP status, whether the same request may succeed later, and what it means. `errors` explains how failures are reported.",
    ),
    (
        "operations",
        "Operations",
        "Every request event: its answer, how many answers there are, and the gRPC method that accepts it. `cloudevents` explains events.",
    ),
    (
        "metrics",
        "Metrics",
        "Every metric of `/metrics` on the admin port, in addition to those of the process (`process_…`). `operators` explains monitoring.",
    ),
];

/// The reference pages, and the page that lists them. The same pages are files in `reference/` for
/// readers of the repository.
pub(super) fn topics_of_reference(facts: &Facts) -> impl Iterator<Item = Topic> {
    let rows = REFERENCE.map(|(name, title, _)| format!("| `reference.{name}` | {title} |\n"));
    let body = format!(
        "# Reference\n\nTables generated from the code: settings, error codes, operations and metrics.\n\n| Page | Lists |\n|---|---|\n{}",
        rows.concat()
    );
    let index = Topic {
        see_also: &["config", "errors", "cloudevents"],
        ..Topic::of("reference", body)
    };
    let pages = REFERENCE.iter().map(|(name, title, synopsis)| {
        let table = table(name, facts).unwrap_or_default();
        let body = format!("# {title}\n\n{synopsis}\n\n{table}");
        Topic {
            see_also: &["reference"],
            ..Topic::of(&format!("reference.{name}"), body)
        }
    });
    std::iter::once(index).chain(pages)
}

/// A topic for each error code.
pub(super) fn topics_of_errors() -> impl Iterator<Item = Topic> {
    Code::ALL.iter().map(|code| {
        let retryable = match code.retry() {
            Retry::Later => "The same request may succeed later: `retryable` is true.",
            Retry::Never => "The same request will fail again.",
        };
        let body = format!(
            "# {code}\n\n{}\n\nHTTP status {}. {retryable}\n",
            code.meaning(),
            code.status()
        );
        Topic {
            see_also: &["errors"],
            ..Topic::of(&format!("errors.{code}"), body)
        }
    })
}

/// A topic for each request type.
pub(super) fn topics_of_events(facts: &Facts) -> impl Iterator<Item = Topic> {
    ROUTES.iter().map(|route| {
        let kind = route.request;
        let role = match route.needs.sentence() {
            Some(sentence) => format!(" {sentence}"),
            None => String::new(),
        };
        let paths: Vec<_> = facts
            .paths
            .iter()
            .filter(|(event, _)| *event == kind.as_str())
            .map(|(_, path)| format!("- `{path}`\n"))
            .collect();
        let paths = paths.concat();
        let schema = serde_json::to_string_pretty(&route.payload_schema()).unwrap_or_default();
        let body = format!(
            "# {kind}\n\nA request that {} and is answered by {} `{}`.{role}\n\n\
             Send it on `startStreaming`, to the gRPC method `{}`, to `POST events` below the context path, or with `interlock call {kind}`.\n\n\
             ## Payload\n\nThe data of the event, as JSON Schema:\n\n```json\n{schema}\n```\n\n\
             ## REST\n\nBelow the context path:\n\n{paths}",
            access(route),
            if route.answers == Answers::One { "one" } else { "any number of" },
            route.response,
            route.method(),
        );
        Topic {
            see_also: &["cloudevents"],
            ..Topic::of(&format!("cloudevents.{kind}"), body)
        }
    })
}

/// The table of operations, for programs.
pub(super) fn operations_json(facts: &Facts) -> Value {
    let operation = |route: &Route| {
        let paths = facts
            .paths
            .iter()
            .filter(|(event, _)| *event == route.request.as_str());
        json!({
            "request": route.request.as_str(),
            "response": route.response.as_str(),
            "method": route.method(),
            "answers": answers(route),
            "access": access(route),
            "role": route.role(),
            "paths": paths.map(|(_, path)| path).collect::<Vec<_>>(),
            "payload": route.payload_schema()
        })
    };
    json!({"schema": super::SCHEMA, "version": env!("CARGO_PKG_VERSION"), "operations": ROUTES.iter().map(operation).collect::<Value>()})
}

/// The table of codes, for programs.
pub(super) fn errors_json() -> Value {
    let code = |code: &Code| json!({"code": code.as_str(), "status": code.status().as_u16(), "retryable": code.retry() == Retry::Later, "meaning": code.meaning()});
    json!({"schema": super::SCHEMA, "version": env!("CARGO_PKG_VERSION"), "codes": Code::ALL.iter().map(code).collect::<Value>()})
}

/// The table of settings, for programs (`config-and-cli.md` §2).
pub(super) fn settings_json(facts: &Facts) -> Value {
    let setting = |setting: &super::Setting| {
        let mut object = json!({
            "name": setting.name,
            "topic": "config",
            "type": setting.kind,
            "required": false,
            "description": if setting.has_effect { setting.meaning } else { "no effect yet" }
        });
        if !setting.default.is_empty() {
            object["default"] = setting.default.into();
        }
        object
    };
    json!({"schema": super::SCHEMA, "version": env!("CARGO_PKG_VERSION"), "vars": facts.settings.iter().map(setting).collect::<Value>()})
}
