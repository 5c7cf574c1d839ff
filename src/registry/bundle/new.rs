//! Files that are to become a bundle.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Machine, Summary, connectors::with_values, of_model};
use crate::connector::{self, Config, Connectors, Trust, Wrong};
use crate::dialect::{
    Findings,
    saga::{self, Bundle, File},
};
use crate::id::{ModelKey, Tenant};

/// The name of a bundle of which neither the request nor its files name it.
const DEFAULT: &str = "default";

/// Only the values of variables are not checked before.
const NOT_NUMBERS: &str = "env() gives a value that does not fit; a port is a whole number from 1 \
                           to 65535, attempts and max_connections are from 1 to 100";

/// A file as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    pub path: String,
    pub text: String,
}

/// The values of `env()`. They are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    pub const fn new(values: BTreeMap<String, String>) -> Self {
        Self(values)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A message in which no value is shown, as it is or escaped.
    fn hidden_in(&self, message: &str) -> String {
        let values = self.0.values().filter(|value| !value.is_empty());
        values.fold(message.to_owned(), |message, value| {
            let escaped = value.escape_debug().to_string();
            message.replace(value, "***").replace(&escaped, "***")
        })
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A state machine of entities.
#[derive(Debug)]
pub struct OfEntities {
    pub machine: String,
    /// As it is written.
    pub entity: String,
    pub model: ModelKey,
    /// In its documented form.
    pub workflow: String,
    /// Of its flow.
    pub location: String,
}

/// A call of the connector `entity`.
#[derive(Debug)]
pub struct CallOnModel {
    pub model: ModelKey,
    /// The transition that it takes.
    pub transition: Option<String>,
    pub location: String,
}

/// Files without errors, and what they declare.
#[derive(Debug)]
pub struct NewBundle {
    pub name: Arc<str>,
    /// Whether the request or its files name it.
    pub is_named: bool,
    pub trust: Trust,
    pub(super) files: Vec<BundleFile>,
    pub(super) variables: Variables,
    pub(super) bundle: Bundle,
    /// The warnings.
    pub findings: Findings,
}

impl NewBundle {
    /// Reads files. There is none if the findings have an error.
    pub fn read(
        name: Option<&str>,
        files: Vec<BundleFile>,
        variables: Variables,
        trust: Trust,
    ) -> Result<Self, Findings> {
        let given: Vec<_> = files
            .iter()
            .map(|file| File {
                path: &file.path,
                text: &file.text,
            })
            .collect();
        let has_value = |name: &str| variables.get(name).is_some();
        let (bundle, findings) = saga::read(&given, &has_value);
        let Some(bundle) = bundle else {
            return Err(findings);
        };
        let name = name.or(bundle.service.name.as_deref());
        Ok(Self {
            name: name.unwrap_or(DEFAULT).into(),
            is_named: name.is_some(),
            trust,
            files,
            variables,
            bundle,
            findings,
        })
    }

    /// What it declares.
    pub const fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Notes the connectors that the settings do not allow.
    pub fn check_connectors(&mut self, tenant: &Tenant, settings: &connector::Settings) {
        for connector in &self.bundle.connectors {
            let location = self.bundle.location(connector.place);
            let config = self.config(connector);
            let Ok(mut config) = config.and_then(|config| serde_json::from_str(&config)) else {
                continue;
            };
            let value_of = |name: &str| Ok(self.variables.get(name).unwrap_or_default().to_owned());
            if with_values(&mut config, &value_of).is_err() {
                continue;
            }
            let checked = match serde_json::from_value::<Config>(config) {
                Ok(config) => Connectors::check(tenant, &config, self.trust, settings),
                // Its error could quote a value.
                Err(_) => Err(vec![Wrong::Value(NOT_NUMBERS.to_owned())]),
            };
            for wrong in checked.err().unwrap_or_default() {
                let (code, message) = match wrong {
                    Wrong::Value(message) => ("S103", message),
                    Wrong::Forbidden(message) => ("S202", message),
                };
                let message = self.variables.hidden_in(&message);
                let message = format!("the connector {}: {message}", connector.name);
                self.findings.error(code, &location, message);
            }
        }
    }

    /// Notes the routes that the service itself has.
    pub fn check_routes(&mut self, is_own: &dyn Fn(&str, &str) -> bool) {
        for (_, route) in self.bundle.routes() {
            let (method, path) = (&*route.method, &*route.path);
            if is_own(method, path) {
                let location = self.bundle.location(route.place);
                let message = format!(
                    "the route {method} {path} is one of the service itself; choose another path"
                );
                self.findings.error("S203", &location, message);
            }
        }
    }

    /// What its flows fire events for that is not a table: machines with a model that no request
    /// chooses.
    pub fn of_entities(&self, namespace: &str) -> Vec<OfEntities> {
        let bundle = &self.bundle;
        let is_database = |name: &String| {
            let mut connectors = bundle.connectors.iter();
            connectors.any(|one| one.name == *name && one.kind == "database")
        };
        let native = bundle.flows.iter().filter(|flow| {
            let connector = flow.transition.connector.as_ref();
            !connector.is_some_and(is_database)
        });
        let native = native.filter_map(|flow| {
            let fires = &flow.transition;
            let mut machines = bundle.machines.iter();
            let machine = machines.find(|machine| machine.name == fires.machine)?;
            let entity = fires.entity.text()?;
            Some(OfEntities {
                model: of_model(&entity)?,
                entity,
                workflow: Machine::of(machine, &bundle.flows, &self.name, "").workflow(namespace),
                machine: machine.name.clone(),
                location: bundle.location(flow.place),
            })
        });
        native.collect()
    }

    /// What is asked of the connectors of the type `entity`.
    pub fn calls_on_models(&self) -> impl Iterator<Item = CallOnModel> {
        let bundle = &self.bundle;
        let is_entity = move |name: &str| {
            let mut connectors = bundle.connectors.iter();
            connectors.any(|one| one.name == name && one.kind == "entity")
        };
        let calls = bundle
            .calls()
            .filter(move |call| is_entity(&call.connector));
        calls.filter_map(move |call| {
            let target = call.request.member("target")?.text()?;
            let operation = call.request.member("operation")?.text()?;
            // Of the operations, only that of a transition has two words.
            let transition = operation.split_once(' ');
            Some(CallOnModel {
                model: of_model(&target)?,
                transition: transition.map(|(_, name)| name.trim().to_owned()),
                location: bundle.location(call.place),
            })
        })
    }

    /// The names of what it declares.
    pub fn summary(&self) -> Summary {
        let bundle = &self.bundle;
        let routes = bundle.routes();
        let mut summary = Summary {
            sagas: bundle.sagas.iter().map(|saga| saga.name.clone()).collect(),
            machines: bundle.machines.iter().map(|one| one.name.clone()).collect(),
            routes: routes
                .map(|(_, route)| format!("{} {}", route.method, route.path))
                .collect(),
            connectors: bundle
                .connectors
                .iter()
                .map(|one| one.name.clone())
                .collect(),
        };
        summary.sagas.sort();
        summary.machines.sort();
        summary.connectors.sort();
        summary
    }

    /// The configuration of a connector with what its bundle adds: the files that mails are made
    /// from.
    pub(super) fn config(&self, connector: &saga::Connector) -> serde_json::Result<String> {
        let mut config = connector.config.clone();
        let templates = self.templates();
        if connector.kind == "email" && !templates.is_empty() {
            config.pop();
            config.push_str(",\"templates\":");
            config.push_str(&serde_json::to_string(&templates)?);
            config.push('}');
        }
        Ok(config)
    }

    /// The files that mails are made from.
    fn templates(&self) -> BTreeMap<&str, &str> {
        let templates = self.files.iter().filter(|file| {
            let file = File {
                path: &file.path,
                text: &file.text,
            };
            !file.is_hcl()
        });
        templates.map(|file| (&*file.path, &*file.text)).collect()
    }
}
