//! What every command that calls a service has: its options, one request, a list in pages.

use std::{ops::ControlFlow, process::ExitCode, str::FromStr};

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::output::{Finding, totals};
use crate::app::config::Config;
use crate::cli::{
    block_on,
    client::{self, OnAnswer, Target},
    failed, with_config,
};
use crate::event::{Event, EventType, payload::Object};
use crate::id::{DEFAULT_NAMESPACE, MessageId, NAMESPACE_RULE, is_namespace};
use crate::operation::Route;

/// The most items of one page.
pub(in crate::cli) const PAGE: usize = 1000;

/// The namespace, the format, and the service.
#[derive(Args)]
pub(in crate::cli) struct Options {
    /// The namespace; by default `default`.
    #[arg(short, long, value_parser = namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) call: CallOptions,
}

/// The format, and the service.
#[derive(Args)]
pub(in crate::cli) struct CallOptions {
    /// How the answer is printed.
    #[arg(long, visible_alias = "output", value_enum, default_value_t = Format::Text)]
    pub(in crate::cli) format: Format,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// Sentences and tables.
    #[value(alias = "table")]
    Text,
    /// JSON; of a list or a history, one object per line.
    Json,
}

/// JSON on the command line, kept digit for digit.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Json(Box<RawValue>);

impl Json {
    pub(in crate::cli) fn get(&self) -> &str {
        self.0.get()
    }
}

impl FromStr for Json {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |error| format!("not JSON: {error}; put JSON in single quotes in a shell");
        serde_json::from_str(text).map(Self).map_err(bad)
    }
}

pub(in crate::cli) fn namespace(text: &str) -> Result<String, String> {
    if is_namespace(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("a namespace is {NAMESPACE_RULE}"))
    }
}

/// Why a command did not do what it says.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum Error {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error("{0}")]
    Refused(Refusal),
    #[error("{0} is not offered by this build; install the version of the service")]
    Unoffered(&'static str),
    #[error("the service ended the call without an answer; try again")]
    Silent,
    #[error(transparent)]
    File(#[from] super::flo::validate::Unreadable),
    #[error("{0} is not UTF-8 text; a document is YAML or JSON")]
    NotText(String),
    #[error(transparent)]
    Files(#[from] crate::app::bundles::Unreadable),
    #[error("{0} is not a manager: {1}")]
    NotJson(String, String),
    #[error(transparent)]
    Folder(#[from] crate::cli::files::FolderError),
    #[error(
        "the run {run_id} has status {status}; interlock flo workflow history {run_id} shows its steps"
    )]
    NotCompleted { run_id: String, status: String },
    #[error("{0} of the managers could not be ticked; the answer gives the reason of each")]
    NotTicked(usize),
    #[error("cannot read the module {0}; give the path of a binary or text module")]
    Module(String, #[source] std::io::Error),
}

/// The error of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::cli) struct Refusal {
    pub(in crate::cli) message: String,
    properties: Properties,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    findings: Vec<Finding>,
    /// The newest sequence, if a subscription asked for one that does not exist yet.
    newest: Option<i64>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl Refusal {
    /// Whether it has this code, which is the text before the first colon.
    pub(in crate::cli) fn is(&self, code: &str) -> bool {
        self.message.split(':').next() == Some(code)
    }

    /// The newest sequence, if a subscription was refused because it is ahead of it.
    pub(in crate::cli) const fn newest(&self) -> Option<i64> {
        self.properties.newest
    }
}

/// The service that the options name.
pub(in crate::cli) struct Service<'a> {
    config: Config,
    call: Call<'a>,
}

/// What the options of a command say.
pub(in crate::cli) struct Call<'a> {
    target: &'a Target,
    namespace: Option<&'a str>,
    format: Format,
}

impl<'a> From<&'a Options> for Call<'a> {
    fn from(options: &'a Options) -> Self {
        Self {
            namespace: options.namespace.as_deref(),
            ..Self::from(&options.call)
        }
    }
}

impl<'a> From<&'a CallOptions> for Call<'a> {
    fn from(options: &'a CallOptions) -> Self {
        Self {
            format: options.format,
            ..Self::from(&options.target)
        }
    }
}

impl<'a> From<&'a Target> for Call<'a> {
    fn from(target: &'a Target) -> Self {
        Self {
            target,
            namespace: None,
            format: Format::Text,
        }
    }
}

/// Calls the service; the exit code is 1 if it fails or refuses.
pub(in crate::cli) fn with_service<'a, Work>(
    call: impl Into<Call<'a>>,
    work: impl FnOnce(Service<'a>) -> Work,
) -> ExitCode
where
    Work: Future<Output = Result<(), Error>>,
{
    let call = call.into();
    with_config(|config| match block_on(work(Service { config, call })) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(Error::Refused(refusal))) if !refusal.properties.findings.is_empty() => {
            report(&refusal.properties.findings);
            // The rest of the message is the findings again.
            let message = refusal.message.split(": [").next();
            eprintln!("interlock: {}", message.unwrap_or_default());
            ExitCode::FAILURE
        }
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    })
}

/// Prints findings and their totals to standard error.
pub(in crate::cli) fn report(findings: &[Finding]) {
    for finding in findings {
        eprintln!("{finding}");
    }
    eprintln!("{}", totals(findings));
}

impl Service<'_> {
    pub(in crate::cli) const fn is_json(&self) -> bool {
        matches!(self.call.format, Format::Json)
    }

    pub(in crate::cli) fn namespace(&self) -> &str {
        self.call.namespace.unwrap_or(DEFAULT_NAMESPACE)
    }

    /// The namespace as a member of a request, if one is given.
    pub(in crate::cli) fn in_namespace(&self, members: Object) -> Object {
        match self.call.namespace {
            Some(namespace) => members.text("namespace", namespace),
            None => members,
        }
    }

    /// Performs an operation that has one answer, and returns the payload of the answer.
    pub(in crate::cli) async fn ask(
        &self,
        operation: &'static str,
        members: impl FnOnce(Object) -> Object,
    ) -> Result<String, Error> {
        let id = MessageId::fresh().to_string();
        let payload = members(Object::new().text("id", &id)).finish();
        self.ask_with(operation, id, payload).await
    }

    async fn ask_with(
        &self,
        operation: &'static str,
        id: String,
        payload: String,
    ) -> Result<String, Error> {
        let mut answer = None;
        let mut keep = |text: &str| {
            answer = Some(text.to_owned());
            Ok(ControlFlow::Continue(()))
        };
        self.send_with(operation, id, payload, &mut keep).await?;
        let answer = answer.ok_or(Error::Silent)?;
        if let Some(refusal) = refused(&answer)? {
            return Err(Error::Refused(refusal));
        }
        for warning in warnings(&answer)? {
            eprintln!("warning: {warning}");
        }
        Ok(answer)
    }

    /// Performs an operation; `on_answer` receives the payload of each answer until it breaks.
    pub(in crate::cli) async fn send(
        &self,
        operation: &'static str,
        members: impl FnOnce(Object) -> Object,
        on_answer: &mut OnAnswer<'_>,
    ) -> Result<(), Error> {
        let id = MessageId::fresh().to_string();
        let payload = members(Object::new().text("id", &id)).finish();
        self.send_with(operation, id, payload, on_answer).await
    }

    async fn send_with(
        &self,
        operation: &'static str,
        id: String,
        payload: String,
        on_answer: &mut OnAnswer<'_>,
    ) -> Result<(), Error> {
        let route = EventType::from_name(&format!("{operation}Request"))
            .and_then(Route::of)
            .ok_or(Error::Unoffered(operation))?;
        let mut event = Event::ours(route.request, payload);
        event.id = id.into();
        let target = self.call.target;
        Ok(target.ask(&self.config, route, event, on_answer).await?)
    }

    /// Reads the items of all pages, up to `limit` of them.
    pub(in crate::cli) async fn items(
        &self,
        operation: &'static str,
        limit: usize,
        members: impl Fn(Object) -> Object,
    ) -> Result<Vec<Box<RawValue>>, Error> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        while items.len() < limit {
            let size = (limit - items.len()).min(PAGE);
            let page = |object| {
                let object = number(members(object), "limit", size);
                maybe(object, "cursor", cursor.as_deref())
            };
            let answer = self.ask(operation, page).await?;
            let page: Page = client::read(&answer)?;
            items.extend(page.items);
            cursor = page.pagination.next_cursor;
            if !page.pagination.has_next || cursor.is_none() {
                break;
            }
        }
        Ok(items)
    }
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    #[serde(default)]
    pagination: Pagination,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::cli) struct Pagination {
    pub(in crate::cli) has_next: bool,
    pub(in crate::cli) next_cursor: Option<String>,
}

/// The error of an answer, if it is one.
pub(in crate::cli) fn refused(answer: &str) -> Result<Option<Refusal>, client::Error> {
    #[derive(Deserialize)]
    struct Answered {
        success: Option<bool>,
        error: Option<Refusal>,
    }
    let outcome: Answered = client::read(answer)?;
    Ok((outcome.success == Some(false)).then(|| outcome.error.unwrap_or_default()))
}

/// The warnings of an answer.
fn warnings(answer: &str) -> Result<Vec<String>, client::Error> {
    #[derive(Deserialize)]
    struct Warned {
        #[serde(default)]
        warnings: Vec<String>,
    }
    let warned: Warned = client::read(answer)?;
    Ok(warned.warnings)
}

/// A member that is absent unless it has a value.
pub(in crate::cli) fn maybe(object: Object, name: &str, value: Option<&str>) -> Object {
    match value {
        Some(value) => object.text(name, value),
        None => object,
    }
}

/// A member of JSON that is absent unless it has a value.
pub(in crate::cli) fn maybe_json(object: Object, name: &str, value: Option<&Json>) -> Object {
    match value {
        Some(value) => object.raw(name, value.get()),
        None => object,
    }
}

/// A member with a number that is absent unless it has a value.
pub(in crate::cli) fn maybe_number(object: Object, name: &str, value: Option<u64>) -> Object {
    match value {
        Some(value) => object.raw(name, &value.to_string()),
        None => object,
    }
}

pub(in crate::cli) fn number(object: Object, name: &str, value: usize) -> Object {
    object.raw(name, &value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_with_its_code_and_findings() {
        let answer = r#"{"success":false,"error":{"code":"CLIENT_ERROR","message":"VALIDATION_FAILED: 1 error",
            "properties":{"findings":[{"code":"E201","severity":"error","message":"m","location":"charge"}]}}}"#;
        let refusal = refused(answer).expect("JSON").expect("a refusal");
        assert!(refusal.is("VALIDATION_FAILED"));
        assert!(!refusal.is("BAD_REQUEST"));
        assert_eq!(refusal.properties.findings.len(), 1);
        let found = refused(r#"{"success":true,"error":null}"#).expect("JSON");
        assert!(found.is_none());
    }

    #[test]
    fn json_keeps_its_digits_and_other_text_is_refused() {
        let json: Json = r#"{"amount":99.990}"#.parse().expect("JSON");
        assert_eq!(json.get(), r#"{"amount":99.990}"#);
        let error = "{amount:1}".parse::<Json>().expect_err("no JSON");
        assert!(error.starts_with("not JSON"), "{error}");
    }
}
