//! Reads all files of a bundle.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    connector::{connector, unused},
    fields::{Fields, Report, no_labels},
    hcl,
    machine::{flow, machine},
    model::{Bundle, Mirror, Service},
    route::overlap,
    saga_block::saga,
    syntax::{Block, Content, SourcePosition},
};
use crate::dialect::Findings;

/// The longest name of a table, in bytes.
const TABLE_BYTES_MAX: usize = 63;

/// A file of a bundle. What does not end with `.hcl` is a template of mails.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

impl File<'_> {
    /// Whether it is read as HCL.
    pub fn is_hcl(&self) -> bool {
        let path = std::path::Path::new(self.path);
        path.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("hcl"))
    }
}

/// The files, and everything there is to say about them; with an error there is no bundle.
/// `has_variable` is asked about each `env()`.
pub fn read(files: &[File<'_>], has_variable: &dyn Fn(&str) -> bool) -> (Option<Bundle>, Findings) {
    let mut report = Report::default();
    let mut blocks = Vec::new();
    let mut is_whole = true;
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.is_hcl()) {
        match hcl::parse(at, file.text) {
            Ok(body) => {
                for attribute in body.attributes {
                    let message = format!(
                        "unknown attribute {}; at the top of a file stand blocks: service, \
                         connector, saga, state_machine and flow",
                        attribute.name
                    );
                    report.error("S102", attribute.place, message);
                }
                blocks.extend(body.blocks);
            }
            Err((line, message)) => {
                is_whole = false;
                report.error("S101", SourcePosition { file: at, line }, message);
            }
        }
    }
    let mut bundle = bundle(&blocks, &mut report);
    for block in &blocks {
        check_variables(block, has_variable, &mut report);
    }
    if is_whole {
        check_references(&bundle, &mut report);
    } else {
        // It may be declared in the file that cannot be read.
        report.forget("S303");
    }
    let locate = |place: SourcePosition| {
        let path = files.get(place.file).map_or("", |file| file.path);
        format!("{path}:{}", place.line)
    };
    bundle.paths = files.iter().map(|file| file.path.to_owned()).collect();
    let findings = report.finish(locate);
    ((!findings.has_errors()).then_some(bundle), findings)
}

/// The names of the variables that files read, as far as the files are valid HCL.
pub fn variables(files: &[File<'_>]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_hcl()) {
        let Ok(body) = hcl::parse(0, file.text) else {
            continue;
        };
        body.each(&mut |value| {
            if let Content::Env(name) = &value.content {
                names.insert(name.clone());
            }
        });
    }
    names
}

/// The blocks that stand at the top of a file.
const KNOWN: [&str; 5] = ["service", "connector", "saga", "state_machine", "flow"];

fn bundle(blocks: &[Block], report: &mut Report) -> Bundle {
    let of = |kind: &'static str| blocks.iter().filter(move |block| block.kind == kind);
    let mut bundle = Bundle::default();
    for block in of("connector") {
        let Some(found) = connector(block, report) else {
            continue;
        };
        if bundle
            .connectors
            .iter()
            .any(|known| known.name == found.name)
        {
            twice(block, report);
        }
        bundle.connectors.push(found);
    }
    let kinds: BTreeMap<&str, &str> = blocks
        .iter()
        .filter(|block| block.kind == "connector")
        .filter_map(|block| {
            let kind = block.body.attributes.iter().find(|it| it.name == "type")?;
            match (&*block.labels, &kind.value.content) {
                ([name], Content::Text(kind)) => Some((&**name, &**kind)),
                _ => None,
            }
        })
        .collect();
    for (at, block) in of("service").enumerate() {
        if at > 0 {
            twice(block, report);
        }
        bundle.service = service(block, report);
    }
    for block in of("saga") {
        if let Some(found) = saga(block, &kinds, report) {
            if bundle.sagas.iter().any(|known| known.name == found.name) {
                twice(block, report);
            }
            bundle.sagas.push(found);
        }
    }
    for block in of("state_machine") {
        if let Some(found) = machine(block, &kinds, report) {
            if bundle.machines.iter().any(|known| known.name == found.name) {
                twice(block, report);
            }
            bundle.machines.push(found);
        }
    }
    for block in of("flow") {
        if let Some(found) = flow(block, &kinds, report) {
            if bundle.flows.iter().any(|known| known.name == found.name) {
                twice(block, report);
            }
            bundle.flows.push(found);
        }
    }
    for block in blocks.iter().filter(|block| !KNOWN.contains(&&*block.kind)) {
        let message = format!(
            "unknown block {}; known are {}",
            block.kind,
            KNOWN.join(", ")
        );
        report.error("S102", block.place, message);
    }
    bundle
}

fn twice(block: &Block, report: &mut Report) {
    report.error(
        "S104",
        block.place,
        format!("{block} is given twice; choose another name"),
    );
}

fn service(block: &Block, report: &mut Report) -> Service {
    no_labels(block, report);
    let mut fields = Fields::of(block);
    let name = fields.text("name", report);
    let version = fields.text("version", report);
    let workflow = fields.block("workflow", report);
    fields.finish(report);
    if let Some((name, place)) = name
        && !is_bundle(name)
    {
        let message = format!("\"{name}\" cannot name a bundle: letters, digits, ., _ and -");
        report.error("S103", place, message);
    }
    Service {
        name: name.map(|(name, _)| name.to_owned()),
        version: version.map(|(version, _)| version.to_owned()),
        mirror: workflow.and_then(|workflow| mirror(workflow, report)),
    }
}

/// Whether a text can be the name of a bundle.
pub fn is_bundle(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_sign)
}

/// Whether a text can be the name of a table, with that of its schema if it has one.
fn is_table(name: &str) -> bool {
    let is_sign = |next: char| next.is_alphanumeric() || next == '_';
    let is_name = |part: &str| {
        (1..=TABLE_BYTES_MAX).contains(&part.len())
            && part.chars().all(is_sign)
            && !part.starts_with(char::is_numeric)
    };
    name.split('.').count() <= 2 && name.split('.').all(is_name)
}

fn mirror(block: &Block, report: &mut Report) -> Option<Mirror> {
    let mut fields = Fields::of(block);
    if !fields.is_given("storage") {
        let message = "workflow has no storage; add storage = \"<connector>\"";
        report.error("S103", block.place, message);
    }
    let storage = fields.connector("storage", report);
    let table = fields.text("table", report);
    if let Some((table, place)) = table
        && !is_table(table)
    {
        let message = format!(
            "\"{table}\" is not a valid name of a table: use letters, digits and underscores, and \
             possibly a schema and a dot before it"
        );
        report.error("S103", place, message);
    }
    let creates = fields.truth("auto_create", report).unwrap_or(true);
    if let Some(api) = fields.blocks("api").first() {
        unused("api", api.place, report);
    }
    fields.finish(report);
    let (connector, place) = storage?;
    Some(Mirror {
        connector: connector.to_owned(),
        table: table
            .map_or("mycel_workflows", |(table, _)| table)
            .to_owned(),
        creates,
        place,
    })
}

/// `env()` without a value.
fn check_variables(block: &Block, has_variable: &dyn Fn(&str) -> bool, report: &mut Report) {
    block.body.each(&mut |value| {
        if let Content::Env(name) = &value.content
            && !has_variable(name)
        {
            let message = format!(
                "env(\"{name}\") has no value; set {name} in the environment of the command that \
                 applies the files, or give it among the variables"
            );
            report.error("S201", value.place, message);
        }
    });
}

/// What one block says of another.
fn check_references(bundle: &Bundle, report: &mut Report) {
    for flow in &bundle.flows {
        let machine = &flow.transition.machine;
        if !bundle.machines.iter().any(|known| known.name == *machine) {
            let message = format!(
                "there is no state machine \"{machine}\"; declare state_machine \"{machine}\" {{ … }}"
            );
            report.error("S105", flow.transition.machine_place, message);
        }
    }
    if let Some(mirror) = &bundle.service.mirror {
        let name = &mirror.connector;
        match bundle.connectors.iter().find(|known| known.name == *name) {
            None => {
                let message = format!(
                    "the connector {name} is not declared, so no table is written; add connector \
                     \"{name}\" {{ type = \"database\" … }}"
                );
                report.warning("S303", mirror.place, message);
            }
            Some(known) if known.kind != "database" => {
                let message = format!("{name} is not a connector of the type database");
                report.error("S103", mirror.place, message);
            }
            Some(_) => {}
        }
    }
    let routes: Vec<_> = bundle.routes().map(|(_, route)| route).collect();
    for (at, route) in routes.iter().enumerate() {
        let (method, path) = (&route.method, &route.path);
        let taken = routes[..at]
            .iter()
            .find(|other| overlap(method, path, &other.method, &other.path));
        if let Some(other) = taken {
            let message = format!(
                "the route {method} {path} is taken by {} {}; choose another path",
                other.method, other.path
            );
            report.error("S203", route.place, message);
        }
    }
}
