//! The rules of the house that text can show: layers, homes, sizes, names, module docs.
//!
//! It reads `src/` as text: what stands before a file's `#[cfg(test)]` or `#![cfg(test)]`, without
//! comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Who may name whom: a row may name only rows above it, so the table cannot hold a cycle.
#[rustfmt::skip]
const MAY_USE: &[(&str, &[&str])] = &[
    ("id",        &[]),
    ("clock",     &[]),
    ("error",     &["id"]),
    ("compat",    &["error"]),
    ("json",      &[]),
    ("telemetry", &[]),
    ("pool",      &["telemetry"]),
    ("entity",    &["clock", "id"]),
    ("callout",   &["entity", "id"]),
    ("model",     &["clock", "compat", "entity", "error", "id"]),
    ("condition", &["callout", "clock", "entity", "error", "id", "model"]),
    ("workflow",  &["callout", "compat", "condition", "entity", "error", "id", "json", "model"]),
    ("engine",    &["callout", "clock", "condition", "entity", "error", "id", "model", "workflow"]),
    ("explain",   &["callout", "condition", "engine", "id", "workflow"]),
    ("storage",   &["clock", "compat", "engine", "entity", "error", "id", "model", "telemetry", "workflow"]),
    ("audit",     &["clock", "engine", "entity", "id", "storage"]),
    ("auth",      &["clock", "entity", "error", "id"]),
    ("compute",   &["callout", "clock", "entity", "id", "telemetry"]),
    ("runtime",   &["callout", "clock", "compat", "compute", "engine", "entity", "error", "explain", "id", "model", "pool", "storage", "telemetry", "workflow"]),
    ("search",    &["clock", "condition", "entity", "error", "id", "model", "pool", "storage"]),
    ("event",     &["callout", "clock", "condition", "engine", "entity", "error", "explain", "id", "json", "model", "workflow"]),
    ("operation", &["audit", "auth", "clock", "compat", "compute", "condition", "entity", "error", "event", "id", "model", "pool", "runtime", "search", "storage", "telemetry", "workflow"]),
    ("help",      &["auth", "error", "operation", "telemetry"]),
    ("grpc",      &["auth", "callout", "compute", "entity", "error", "event", "id", "operation"]),
    ("rest",      &["auth", "clock", "error", "event", "help", "id", "json", "operation", "telemetry"]),
    ("app",       &["auth", "clock", "compat", "compute", "engine", "entity", "error", "event", "grpc", "help", "operation", "rest", "runtime", "search", "storage", "telemetry"]),
    ("cli",       &["app", "event", "help", "id", "operation", "storage", "telemetry", "workflow"]),
];

/// What may be written only in some places: the text, the places, and the reason.
#[rustfmt::skip]
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("SystemTime::now", &["clock.rs"], "time is an argument"),
    ("Uuid::now_v7", &["id.rs"], "identifiers are made in one place"),
    ("Uuid::new_v4", &["id.rs"], "chance has one home"),
    ("env::var", &["app/config.rs"], "configuration is read once"),
    ("process::exit", &["app/mod.rs"], "only the process ends the process"),
    ("println!(", &["cli/"], "only the command line prints"),
    ("cloudevents::", &["event/sdk.rs", "rest/events.rs"], "the SDK is one of three forms of an event"),
    ("sqlx::", &["storage/"], "one module knows the database"),
    ("sqlx_sqlite::", &["storage/"], "one module knows the database"),
    ("tonic::", &["grpc/", "event/proto.rs", "event/frame.rs", "app/", "cli/"], "only an edge knows gRPC"),
    ("axum::", &["rest/", "app/"], "only an edge knows HTTP"),
    ("metrics::", &["telemetry/"], "one module names what is measured"),
    ("QueryBuilder", &["storage/sqlite/"], "SQL is built in one place"),
    ("AssertSqlSafe", &["storage/sqlite/batch.rs"], "SQL comes from files and bound values"),
    ("spawn", &["app/", "auth/turns.rs", "auth/workbench.rs", "grpc/stream/", "operation/ahead.rs", "operation/identity/mod.rs", "pool.rs", "runtime/fire.rs", "storage/sheet.rs", "storage/sqlite/writer.rs"], "tasks are started by owners, under a tracker, or end with them"),
    ("serde::", &["auth/claims.rs", "auth/oidc/document.rs", "auth/record.rs", "event/json.rs", "event/payload/", "json.rs", "operation/answer.rs", "rest/", "cli/", "runtime/token.rs", "runtime/later.rs", "workflow/json.rs", "engine/record.rs", "engine/run.rs", "storage/sqlite/"], "types of the domain are not a wire format"),
    ("schemars::", &["condition/form.rs", "event/json.rs", "event/payload/", "operation/mod.rs", "operation/schema.rs", "rest/", "workflow/json.rs"], "only what is on the wire is described"),
    (".route(", &["rest/mod.rs", "rest/admin.rs", "rest/docs.rs"], "paths are in tables, whose rows are described"),
    // Each is held for a few instructions and never across an await; their comments say why a
    // task would not do.
    ("Mutex", &["app/connections/registry.rs", "auth/directory.rs", "auth/turns.rs", "compute/member.rs", "grpc/stream/outbound.rs", "grpc/stream/requests.rs", "operation/limits.rs", "operation/once.rs", "operation/receiving.rs", "pool.rs", "runtime/transactions.rs", "runtime/turns.rs", "storage/adaptive.rs", "storage/agenda.rs", "storage/cache.rs", "storage/feed.rs", "storage/instant.rs", "storage/room.rs", "storage/usage.rs"], "shared state is counted"),
    ("RwLock", &["auth/directory.rs", "storage/catalog.rs", "storage/index.rs", "storage/names.rs"], "shared state is counted"),
];

/// What may be written nowhere outside tests.
const NOWHERE: &[(&str, &str)] = &[
    ("todo!", "finish it, or answer a documented error"),
    ("unimplemented!", "finish it, or answer a documented error"),
    (".unwrap()", "return an error, or say why it cannot fail"),
    ("#[allow", "an exception is expected, with a reason"),
    ("#![allow", "an exception is expected, with a reason"),
    ("use crate::{", "name one module per use"),
];

const NAMES_TOO_VAGUE: &[&str] = &[
    "utils",
    "util",
    "common",
    "misc",
    "helpers",
    "helper",
    "service",
    "manager",
    "handler",
    "handlers",
    "types_common",
];

/// Lines of code a file may have before it is two things.
const LINES_MAX: usize = 700;

struct Source {
    /// Below `src/`.
    path: String,
    whole: String,
    /// Without comments, and without the tests at the end.
    code: String,
}

impl Source {
    fn module(&self) -> &str {
        let first = self.path.split('/').next().expect("a path has a part");
        first.strip_suffix(".rs").unwrap_or(first)
    }
}

fn sources() -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    paths
        .iter()
        .filter(|path| !path.ends_with("tests.rs"))
        .map(|path| {
            let whole = fs::read_to_string(path).expect("readable");
            let code = whole
                .lines()
                .take_while(|line| !line.ends_with("mod tests {") && *line != "#![cfg(test)]")
                .filter(|line| !line.trim_start().starts_with("//"))
                .fold(String::new(), |code, line| code + line + "\n");
            let path = path.strip_prefix(&root).expect("below src");
            Source {
                path: path.to_string_lossy().into_owned(),
                whole,
                code,
            }
        })
        .collect()
}

/// Fails with all findings at once.
fn none(findings: &[String], rule: &str) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

/// The names after `crate::`.
fn named(text: &str) -> BTreeSet<&str> {
    text.split("crate::")
        .skip(1)
        .map(|rest| {
            let end = rest.find(|next: char| !next.is_ascii_lowercase() && next != '_');
            &rest[..end.unwrap_or(rest.len())]
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// The row of a module, less what is in it by phrase.
fn allowed(module: &str) -> BTreeSet<&'static str> {
    let (_, row) = MAY_USE
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("`{module}` has no row in MAY_USE"));
    row.iter().copied().collect()
}

#[test]
fn a_row_names_only_rows_above_it() {
    for (index, (module, row)) in MAY_USE.iter().enumerate() {
        let above: BTreeSet<_> = MAY_USE[..index].iter().map(|(name, _)| *name).collect();
        for used in *row {
            assert!(
                above.contains(used),
                "`{module}` may not use `{used}` below it"
            );
        }
    }
}

#[test]
fn modules_name_exactly_those_they_may_use() {
    let sources = sources();
    for (module, row) in MAY_USE {
        let mut used = BTreeSet::new();
        for source in sources.iter().filter(|source| source.module() == *module) {
            used.extend(named(&source.code));
        }
        used.remove(module);
        let row: BTreeSet<&str> = row.iter().copied().collect();
        assert_eq!(
            used, row,
            "what `{module}` names (left) and what it may (right)"
        );
    }
    let rows: BTreeSet<_> = MAY_USE.iter().map(|(module, _)| *module).collect();
    let modules: BTreeSet<_> = sources
        .iter()
        .map(Source::module)
        .filter(|module| !["lib", "main"].contains(module))
        .collect();
    assert_eq!(modules, rows, "modules (left) and rows (right)");
}

#[test]
fn the_documentation_of_a_module_begins_with_what_it_is_and_names_what_it_may_use() {
    for source in sources() {
        let module = source.module();
        let is_root =
            source.path == format!("{module}/mod.rs") || source.path == format!("{module}.rs");
        assert!(
            source.whole.starts_with("//! "),
            "{}: begin with what it is",
            source.path
        );
        if !is_root || ["lib", "main"].contains(&module) {
            continue;
        }
        let doc: String = source
            .whole
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect();
        let (_, rest) = doc
            .split_once(" May use: ")
            .unwrap_or_else(|| panic!("{}: no line `May use:`", source.path));
        let sentence = &rest[..rest.find('.').expect("the sentence ends")];
        if sentence == "nothing of this crate" {
            assert!(allowed(module).is_empty(), "{}", source.path);
        } else {
            assert_eq!(
                named(sentence),
                allowed(module),
                "{}: `May use:` and the table",
                source.path
            );
        }
    }
}

#[test]
fn what_has_a_home_is_written_only_there() {
    let mut findings = Vec::new();
    for source in sources() {
        for (text, homes, reason) in ONLY_IN {
            let at_home = homes.iter().any(|home| source.path.starts_with(home));
            if !at_home && source.code.contains(text) {
                findings.push(format!("{}: `{text}`: {reason}", source.path));
            }
        }
        for (text, reason) in NOWHERE {
            if source.code.contains(text) {
                findings.push(format!("{}: `{text}`: {reason}", source.path));
            }
        }
    }
    none(&findings, "not here");
}

#[test]
fn a_home_is_still_lived_in() {
    let sources = sources();
    for (text, homes, _) in ONLY_IN {
        for home in *homes {
            let lived_in = sources
                .iter()
                .any(|source| source.path.starts_with(home) && source.code.contains(text));
            assert!(
                lived_in,
                "`{text}` is no longer in {home}: take it from the list"
            );
        }
    }
}

#[test]
fn statements_are_in_sql_files() {
    let verbs = [
        "\"SELECT ",
        "\"INSERT ",
        "\"UPDATE ",
        "\"DELETE ",
        "\"WITH ",
    ];
    let findings: Vec<_> = sources()
        .iter()
        .filter(|source| verbs.iter().any(|verb| source.code.contains(verb)))
        .map(|source| source.path.clone())
        .collect();
    none(&findings, "SQL outside sql/");
}

/// A statement whose limit is a bare parameter is prepared anew each time that is bound
/// (`storage/sqlite/mod.rs`).
#[test]
fn limits_that_are_bound_leave_statements_prepared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage/sqlite/sql");
    let files = fs::read_dir(folder).expect("a folder").map(|file| {
        let path = file.expect("a file").path();
        let text = fs::read_to_string(&path).expect("readable");
        (path.display().to_string(), text)
    });
    let built = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("storage/sqlite/"))
        .map(|source| (source.path, source.code));
    let bare = ["limit ?", "offset ?", "limit \"", "offset \""];
    let findings: Vec<_> = files
        .chain(built)
        .filter(|(_, text)| bare.iter().any(|bare| text.contains(bare)))
        .map(|(path, _)| path)
        .collect();
    none(&findings, "write `limit +?`, or push ` limit +`");
}

/// Types are an enumeration made from one list: their names as text stand only there.
#[test]
fn names_of_event_types_stand_in_one_file() {
    let kinds = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/event/kind.rs"))
        .expect("readable");
    let (_, list) = kinds.split_once("event_types! {\n").expect("the list");
    let (list, _) = list.split_once("\n}").expect("its end");
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','))
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .collect();
    assert!(
        names.len() > 40,
        "the list of event types is read: {}",
        names.len()
    );
    let findings: Vec<_> = sources()
        .iter()
        .filter(|source| source.path != "event/kind.rs")
        .flat_map(|source| {
            names
                .iter()
                .filter(|name| source.code.contains(&format!("\"{name}\"")))
                .map(|name| format!("{}: {name}", source.path))
                .collect::<Vec<_>>()
        })
        .collect();
    none(&findings, "event types as text");
}

#[test]
fn a_file_is_one_thing_and_has_a_name() {
    let mut findings = Vec::new();
    for source in sources() {
        let lines = source.code.lines().count();
        if lines > LINES_MAX {
            findings.push(format!("{}: {lines} lines of code", source.path));
        }
        let vague = Path::new(&source.path)
            .with_extension("")
            .components()
            .any(|part| NAMES_TOO_VAGUE.iter().any(|name| part.as_os_str() == *name));
        if vague {
            findings.push(format!("{}: name the noun it is about", source.path));
        }
    }
    none(&findings, "size and names");
}
