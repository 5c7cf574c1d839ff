//! What the files of a bundle say.

use std::{ops::RangeInclusive, time::Duration};

use super::syntax::SourcePosition;
use crate::expr::Template;

/// All files of a bundle together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bundle {
    /// What the files say about the service.
    pub service: Service,
    /// By name.
    pub connectors: Vec<Connector>,
    /// In the order of the files.
    pub sagas: Vec<Saga>,
    pub machines: Vec<Machine>,
    pub flows: Vec<Flow>,
    /// The paths of the files.
    pub(super) paths: Vec<String>,
}

impl Bundle {
    /// Where something is written, for a finding: `orders.hcl:12`.
    pub fn location(&self, place: SourcePosition) -> String {
        let path = self.paths.get(place.file).map_or("", |path| path);
        format!("{path}:{}", place.line)
    }

    /// What its sagas and machines ask of connectors.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let of_sagas = self.sagas.iter().flat_map(|saga| {
            let steps = saga
                .steps
                .iter()
                .flat_map(|step| [&step.action, &step.undo]);
            steps.chain([&saga.on_complete, &saga.on_failure])
        });
        let states = self.machines.iter().flat_map(|machine| &machine.states);
        let events = states.flat_map(|state| &state.events);
        of_sagas.chain(events.map(|event| &event.action)).flatten()
    }

    /// The routes, each with the name of what it starts.
    pub fn routes(&self) -> impl Iterator<Item = (&str, &Route)> {
        let sagas = self.sagas.iter();
        let sagas = sagas.filter_map(|saga| Some((&*saga.name, saga.route.as_ref()?)));
        let flows = self.flows.iter();
        sagas.chain(flows.filter_map(|flow| Some((&*flow.name, flow.route.as_ref()?))))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Service {
    pub name: Option<String>,
    pub version: Option<String>,
    pub mirror: Option<Mirror>,
}

/// A table that shows the runs of sagas to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub connector: String,
    pub table: String,
    pub creates: bool,
    pub place: SourcePosition,
}

/// Something that steps call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connector {
    pub name: String,
    /// Its `type`.
    pub kind: String,
    /// Its configuration as a JSON object with the `type`, durations in milliseconds, in which
    /// `{"$env":"X"}` stands for a variable.
    pub config: String,
    /// The variables in it.
    pub variables: Vec<String>,
    pub place: SourcePosition,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Saga {
    pub name: String,
    /// Of the whole saga.
    pub timeout: Option<Duration>,
    pub route: Option<Route>,
    /// In their order; there is at least one.
    pub steps: Vec<Step>,
    pub on_complete: Option<Call>,
    pub on_failure: Option<Call>,
    /// As it is written.
    pub text: String,
    pub place: SourcePosition,
}

impl Saga {
    /// The lines of its file.
    pub fn lines(&self) -> RangeInclusive<usize> {
        let first = usize::try_from(self.place.line).unwrap_or(usize::MAX);
        first..=first + self.text.matches('\n').count()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    pub action: Option<Call>,
    pub undo: Option<Call>,
    /// Whether the saga continues if the step fails.
    pub skips_failure: bool,
    pub delay: Option<Duration>,
    /// The event that it waits for.
    pub awaits: Option<String>,
    pub timeout: Option<Duration>,
}

/// What is asked of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub connector: String,
    /// An object with `operation` and what belongs to it.
    pub request: Template,
    pub place: SourcePosition,
}

/// A request that starts a saga or fires an event of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Such as `POST`.
    pub method: String,
    /// Such as `/orders/:id`.
    pub path: String,
    /// A condition on the request, in CEL.
    pub filter: Option<String>,
    pub place: SourcePosition,
}

/// A state machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub name: String,
    pub initial: String,
    pub states: Vec<State>,
    pub place: SourcePosition,
}

#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub name: String,
    pub is_final: bool,
    pub events: Vec<Event>,
}

/// What leads from one state to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: String,
    pub to: String,
    /// A condition over `input`, in CEL.
    pub guard: Option<String>,
    pub action: Option<Call>,
}

/// A request that fires an event of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    pub name: String,
    pub route: Option<Route>,
    pub transition: Transition,
    pub place: SourcePosition,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub machine: String,
    pub machine_place: SourcePosition,
    pub entity: Template,
    pub id: Template,
    pub event: Template,
    pub data: Option<Template>,
    /// The connector of the table; none: entities.
    pub connector: Option<String>,
}
