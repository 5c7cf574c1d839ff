//! `interlock explain`: why an entity did or did not move, in words.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    client::{self, Target},
    remote::{maybe, with_service},
};
use crate::event::payload::Object;

#[derive(Args)]
pub(super) struct Arguments {
    /// The entity.
    entity: String,
    /// Explain the decisions of this transaction; without it, what would happen now.
    #[arg(long, value_name = "ID", conflicts_with = "transition")]
    transaction: Option<String>,
    /// Explain this transition only.
    #[arg(long, value_name = "NAME")]
    transition: Option<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Deserialize)]
struct Explanation {
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    transitions: Vec<Way>,
    #[serde(default)]
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Way {
    name: String,
    next: String,
    trigger: String,
    open: Option<bool>,
    why: String,
    #[serde(default)]
    criterion: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    start: String,
    #[serde(default)]
    workflow: Option<Chosen>,
    #[serde(default)]
    skipped_workflows: Vec<Guard>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    settled: Option<String>,
    #[serde(default)]
    stopped: Option<String>,
}

#[derive(Deserialize)]
struct Chosen {
    name: String,
    why: String,
}

#[derive(Deserialize)]
struct Guard {
    name: String,
    held: Option<bool>,
    #[serde(default)]
    because: Option<String>,
    #[serde(default)]
    criterion: Value,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    considered: Vec<Guard>,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    took: Option<String>,
    #[serde(default)]
    next: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    with_service(&arguments.target, |service| async move {
        let payload = |object: Object| {
            let object = object.text("entityId", &arguments.entity);
            let object = maybe(object, "transactionId", arguments.transaction.as_deref());
            maybe(object, "transition", arguments.transition.as_deref())
        };
        let answer = service.ask("WorkflowExplain", payload).await?;
        if arguments.json {
            show!("{answer}");
        } else {
            let explanation: Explanation = client::read(&answer)?;
            show!("{}", explanation.words().trim_end());
        }
        Ok(())
    })
}

/// Writing to a `String` cannot fail.
macro_rules! say {
    ($text:expr, $($words:tt)*) => { let _ = writeln!($text, $($words)*); };
}

impl Explanation {
    fn words(&self) -> String {
        let mut text = String::new();
        if let Some(state) = &self.state {
            say!(text, "state {state}");
        }
        for way in &self.transitions {
            let mark = mark(way.open);
            say!(
                text,
                "  {mark} {} -> {} ({}): {}",
                way.name,
                way.next,
                way.trigger,
                way.why
            );
            leaves(&mut text, &way.criterion, 3);
        }
        for run in &self.runs {
            run.words(&mut text);
        }
        text
    }
}

impl Run {
    fn words(&self, text: &mut String) {
        say!(text, "\n{}", self.start);
        for guard in &self.skipped_workflows {
            guard.words(text, "not workflow", 1);
        }
        if let Some(workflow) = &self.workflow {
            say!(text, "  workflow {}: {}", workflow.name, workflow.why);
        }
        for step in &self.steps {
            if let Some(state) = &step.state {
                say!(text, "  in {state}");
            }
            for guard in &step.considered {
                guard.words(text, "criterion of", 2);
            }
            for call in &step.calls {
                say!(text, "    called {call}");
            }
            if let (Some(took), Some(next)) = (&step.took, &step.next) {
                say!(text, "    took {took} -> {next}");
            }
        }
        if let Some(stopped) = &self.stopped {
            say!(text, "  stops: {stopped}");
        }
        if let Some(settled) = &self.settled {
            say!(text, "  ends in {settled}");
        }
    }
}

impl Guard {
    fn words(&self, text: &mut String, what: &str, depth: usize) {
        let because = self.because.as_deref().unwrap_or_default();
        say!(
            text,
            "{:indent$}{} {what} {}: {because}",
            "",
            mark(self.held),
            self.name,
            indent = depth * 2
        );
        leaves(text, &self.criterion, depth + 1);
    }
}

const fn mark(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "+",
        Some(false) => "-",
        None => "?",
    }
}

/// All parts of a criterion, one per line.
fn leaves(text: &mut String, node: &Value, depth: usize) {
    let said = |name: &str| node.get(name).and_then(Value::as_str);
    let mark = mark(node.get("held").and_then(Value::as_bool));
    let indent = depth * 2;
    if let Some(path) = said("path") {
        let operator = said("operator").unwrap_or_default();
        let operand = node
            .get("operand")
            .map_or_else(String::new, Value::to_string);
        let seen = said("seen").map_or_else(String::new, |seen| format!(", seen {seen}"));
        say!(
            text,
            "{:indent$}{mark} {path} {operator} {operand}{seen}",
            ""
        );
    } else if let Some(function) = said("function") {
        let reason = said("reason").map_or_else(String::new, |reason| format!(": {reason}"));
        say!(text, "{:indent$}{mark} function {function}{reason}", "");
        leaves(text, &node["criterion"], depth + 1);
    } else if let Some(group) = said("group") {
        say!(text, "{:indent$}{mark} {group}", "");
        for child in node["conditions"].as_array().into_iter().flatten() {
            leaves(text, child, depth + 1);
        }
    }
}
