//! The rules of the house that text can show: layers, homes, sizes, names, module docs.
//!
//! It reads `src/` as text: what stands before a file's `#[cfg(test)]` or `#![cfg(test)]`, without
//! comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Who may name whom: a row may name only rows above it, so the table cannot hold a cycle.
#[rustfmt::skip]
const MAY_USE: &[(&str, &[&str])] = &[
    ("id",        &[]),
    ("text",      &[]),
    ("clock",     &[]),
    ("error",     &["id", "text"]),
    ("compat",    &["error"]),
    ("json",      &[]),
    ("random",    &[]),
    ("backoff",   &[]),
    ("telemetry", &["error"]),
    ("shares",    &[]),
    ("pool",      &["shares", "telemetry"]),
    ("entity",    &["clock", "id"]),
    ("dispatch",   &["entity", "id"]),
    ("model",     &["clock", "compat", "entity", "error", "id"]),
    ("condition", &["dispatch", "clock", "entity", "error", "id", "model"]),
    ("expr",      &["text"]),
    ("workflow",  &["dispatch", "compat", "condition", "entity", "error", "expr", "id", "json", "model"]),
    ("program",   &["backoff", "clock", "expr", "text"]),
    ("dialect",   &["clock", "expr", "id", "program", "text"]),
    ("engine",    &["dispatch", "clock", "condition", "entity", "error", "id", "model", "text", "workflow"]),
    ("explain",   &["dispatch", "condition", "engine", "id", "workflow"]),
    ("storage",   &["clock", "engine", "entity", "error", "id", "model", "pool", "random", "shares", "telemetry", "workflow"]),
    ("audit",     &["clock", "engine", "entity", "id", "storage"]),
    ("outgoing",  &[]),
    ("auth",      &["backoff", "clock", "entity", "error", "id", "outgoing", "pool", "telemetry"]),
    ("connector", &["backoff", "entity", "expr", "id", "json", "outgoing", "shares", "telemetry", "text"]),
    ("registry",  &["auth", "clock", "connector", "dialect", "entity", "error", "expr", "id", "pool", "program", "storage", "text", "workflow"]),
    ("compute",   &["backoff", "dispatch", "clock", "entity", "error", "id", "program", "telemetry"]),
    ("cluster",   &["dispatch", "clock", "compute", "entity", "id", "storage", "telemetry"]),
    ("wasm",      &["clock", "dialect", "entity", "expr", "id", "pool", "program"]),
    ("search",    &["clock", "condition", "entity", "error", "id", "model", "pool", "storage"]),
    ("runtime",   &["backoff", "dispatch", "clock", "compat", "compute", "condition", "connector", "dialect", "engine", "entity", "error", "explain", "expr", "id", "model", "pool", "program", "random", "registry", "search", "shares", "storage", "telemetry", "text", "wasm", "workflow"]),
    ("event",     &["dispatch", "clock", "condition", "engine", "entity", "error", "explain", "id", "json", "model", "workflow"]),
    ("operation", &["audit", "auth", "clock", "cluster", "compat", "compute", "condition", "connector", "dialect", "entity", "error", "event", "expr", "id", "model", "pool", "program", "registry", "runtime", "search", "shares", "storage", "telemetry", "workflow"]),
    ("help",      &["dialect", "error", "operation", "telemetry"]),
    ("grpc",      &["auth", "dispatch", "cluster", "compute", "entity", "error", "event", "id", "operation", "text"]),
    ("rest",      &["auth", "clock", "compat", "error", "event", "help", "id", "json", "operation", "telemetry"]),
    ("app",       &["auth", "clock", "cluster", "compat", "compute", "connector", "engine", "entity", "error", "event", "grpc", "help", "id", "operation", "program", "registry", "rest", "runtime", "search", "shares", "storage", "telemetry", "wasm"]),
    ("cli",       &["app", "clock", "dialect", "event", "help", "id", "operation", "storage", "telemetry", "text", "workflow"]),
];

/// The same within `storage/`: every room of it, so that the table cannot hold a cycle there
/// either. From `reads` on they extend the handle.
#[rustfmt::skip]
const STORAGE_MAY_USE: &[(&str, &[&str])] = &[
    ("port",       &[]),
    ("damage",     &[]),
    ("error",      &["damage", "port"]),
    ("rows",       &["port"]),
    ("postgres",   &["port", "rows"]),
    ("sqlite",     &["port", "rows"]),
    ("simulated",  &["port"]),
    ("backend",    &["error", "port", "postgres", "simulated", "sqlite"]),
    ("copy",       &["port", "postgres", "sqlite"]),
    ("room",       &["error"]),
    ("chore",      &["error", "port"]),
    ("task",       &["port"]),
    ("draft",      &["error", "port", "task"]),
    ("submission", &["draft", "error"]),
    ("validate",   &["draft", "error", "port"]),
    ("index",      &["backend", "draft", "error", "port"]),
    ("memory",     &["damage", "draft", "error", "port", "task"]),
    ("long_reads", &["port"]),
    ("handle",     &["backend", "chore", "error", "index", "long_reads", "memory", "port", "room", "submission"]),
    ("reads",      &["backend", "error", "handle", "memory", "port"]),
    ("sharing",    &["backend", "error", "handle", "memory", "port"]),
    ("identity",   &["error", "handle", "port"]),
    ("job",        &["draft", "error", "handle", "port", "reads"]),
    ("submit",     &["draft", "error", "handle", "submission"]),
    ("assumption", &["draft", "error", "handle"]),
    ("unit",       &["assumption", "draft", "error", "handle", "memory", "port", "reads", "task"]),
    ("runs",       &["draft", "error", "handle", "memory", "port", "unit"]),
    ("due",        &["error", "handle", "memory", "port", "unit"]),
    ("upkeep",     &["chore", "damage", "error", "handle", "memory", "port", "reads"]),
    ("committer",  &["backend", "chore", "draft", "error", "handle", "memory", "port", "submission", "task", "validate"]),
    ("open",       &["backend", "committer", "copy", "error", "handle", "index", "long_reads", "memory", "port", "room"]),
    ("disturbed",  &["backend", "error", "handle", "open", "port"]),
];

/// What may be written only in some places: the text, the places, and the reason.
#[rustfmt::skip]
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("SystemTime::now", &["clock.rs"], "time is an argument"),
    ("Uuid::now_v7", &["id.rs"], "identifiers are made in one place"),
    ("Uuid::new_v4", &["id.rs"], "chance has one home"),
    ("env::var", &["app/sources.rs"], "configuration is read once"),
    ("process::exit", &["app/signals.rs"], "only the process ends the process"),
    ("println!(", &["cli/"], "only the command line prints"),
    ("stdout()", &["cli/help.rs", "cli/output.rs", "telemetry/log.rs"], "one function prints, and notices that it cannot"),
    ("cloudevents::", &["event/sdk.rs", "rest/events.rs"], "the SDK is one of three forms of an event"),
    ("sqlx", &["connector/database/", "storage/postgres/", "storage/rows/", "storage/sqlite/"], "two modules know the driver"),
    ("postgres::", &["connector/database/", "storage/backend.rs", "storage/backend/", "storage/copy/end.rs", "storage/postgres/", "storage/rows/columns.rs", "storage/rows/failure.rs"], "one place knows which database there is"),
    ("sqlite::", &["connector/database/", "storage/backend.rs", "storage/backend/checkpointer.rs", "storage/copy/end.rs", "storage/rows/columns.rs", "storage/sqlite/"], "one place knows which database there is"),
    ("simulated::", &["storage/backend.rs"], "one place knows which database there is"),
    ("tonic::", &["grpc/", "event/proto.rs", "event/frame.rs", "app/", "cli/"], "only an edge knows gRPC"),
    ("axum::", &["rest/", "app/"], "only an edge knows HTTP"),
    ("granit_parser::", &["dialect/tree.rs"], "one file knows how YAML is read"),
    ("use ::cel", &["expr/cel/"], "one folder knows the library of expressions"),
    ("hcl_edit::", &["dialect/saga/hcl.rs"], "one file knows how HCL is read"),
    ("rustix::", &["registry/folder/", "storage/sqlite/place.rs"], "one module knows the folder that people edit, and one the place of the database"),
    ("wasmi::", &["wasm/guest/"], "one module knows the interpreter"),
    ("wat::", &["wasm/guest/module.rs"], "one file knows the text format of modules"),
    ("metrics::", &["telemetry/"], "one module names what is measured"),
    ("QueryBuilder", &["storage/postgres/statement.rs", "storage/sqlite/statement.rs"], "SQL is built in one place"),
    ("AssertSqlSafe", &["connector/database/", "storage/postgres/batch/script.rs", "storage/postgres/copying.rs", "storage/sqlite/copying.rs", "storage/sqlite/script.rs"], "SQL comes from files and bound values"),
    ("spawn", &["app/", "cluster/link.rs", "compute/tasks/drive.rs", "connector/database/relay.rs", "dialect/saga/hcl.rs", "expr/cel/mod.rs", "grpc/peer.rs", "grpc/stream/", "operation/ahead.rs", "operation/identity/mod.rs", "pool.rs", "runtime/critical.rs", "runtime/drive.rs", "runtime/due_tasks/", "runtime/managers/run.rs", "runtime/runs/calls.rs", "runtime/runs/connectors.rs", "runtime/runs/mirror.rs", "runtime/runs/takeover.rs", "runtime/testing.rs", "storage/sharing/pulse.rs", "storage/sqlite/mod.rs", "storage/sqlite/writer.rs", "storage/reads/sweep.rs", "telemetry/queue.rs"], "tasks are started by owners, under a tracker, or end with them"),
    ("serde::", &["auth/claims.rs", "auth/oidc/document.rs", "auth/record.rs", "cli/", "compute/tasks/lease.rs", "compute/tasks/offers.rs", "compute/tasks/used.rs", "connector/config.rs", "connector/request.rs", "dialect/managers/text.rs", "dialect/tree.rs", "engine/record.rs", "engine/run.rs", "event/json.rs", "event/payload/", "expr/budget.rs", "expr/template.rs", "json.rs", "operation/answer.rs", "program/", "registry/", "rest/", "runtime/later.rs", "runtime/runs/", "runtime/token.rs", "storage/postgres/news.rs", "storage/rows/", "storage/sqlite/", "storage/memory/trouble.rs", "workflow/json.rs"], "types of the domain are not a wire format"),
    ("schemars::", &["condition/form.rs", "event/json.rs", "event/payload/", "operation/mod.rs", "operation/schema.rs", "rest/", "workflow/json.rs"], "only what is on the wire is described"),
    (".route(", &["rest/mod.rs", "rest/admin.rs", "rest/console/mod.rs", "rest/docs.rs"], "paths are in tables, whose rows are described"),
    // Each is held for a few instructions and never across an await; their comments say why a
    // task would not do. Those of `tokio` are turns, which are waited for.
    ("Mutex", &["app/connections/registry.rs", "auth/directory.rs", "auth/turns.rs", "cluster/link.rs", "cluster/members.rs", "cluster/mod.rs", "compute/member.rs", "compute/tasks/mod.rs", "connector/database/mod.rs", "connector/mod.rs", "error/mod.rs", "grpc/stream/outbound.rs", "grpc/stream/requests.rs", "operation/limits.rs", "outgoing/client.rs", "registry/folder/mod.rs", "runtime/lines.rs", "runtime/machines/acted.rs", "runtime/machines/native.rs", "runtime/managers/turns.rs", "runtime/retries.rs", "runtime/runs/arrivals.rs", "runtime/runs/calls.rs", "runtime/runs/plans.rs", "runtime/runs/transactions.rs", "runtime/transactions.rs", "runtime/turns.rs", "shares.rs", "storage/memory/agenda.rs", "storage/memory/applied.rs", "storage/memory/cache.rs", "storage/memory/instant.rs", "storage/memory/known_runs.rs", "storage/memory/lease.rs", "storage/memory/live_runs.rs", "storage/memory/mirror.rs", "storage/memory/missed.rs", "storage/memory/nodes.rs", "storage/memory/recent.rs", "storage/memory/record_cache.rs", "storage/memory/shares.rs", "storage/memory/topic_news.rs", "storage/memory/trouble.rs", "storage/memory/usage.rs", "storage/memory/watched.rs", "storage/postgres/node.rs", "telemetry/lines.rs", "telemetry/queue.rs"], "shared state is counted"),
    ("RwLock", &["auth/directory.rs", "operation/receiving.rs", "registry/bundle/routes.rs", "storage/memory/catalog.rs", "storage/index.rs", "storage/memory/names.rs"], "shared state is counted"),
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

/// Lines of code a file may have before it is two things; fewer where all files keep to it.
const LINES_MAX: usize = 600;
const LINES_MAX_BELOW: &[(&str, usize)] = &[("storage/", 500)];

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

/// The Rust files below these folders, in order.
fn rust_files(folders: &[&str]) -> Vec<PathBuf> {
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
    let mut paths = Vec::new();
    for folder in folders {
        walk(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut paths,
        );
    }
    paths.sort();
    paths
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let paths = rust_files(&["src"]);
    paths
        .iter()
        .filter(|path| !path.ends_with("tests.rs") && !path.iter().any(|part| part == "tests"))
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

/// What follows a path: a name, or each first name of a list in braces.
fn first_names(rest: &str) -> Vec<&str> {
    let is_name = |next: char| next.is_alphanumeric() || next == '_';
    let name = |text: &'_ str| text.find(|next| !is_name(next)).unwrap_or(text.len());
    let Some(list) = rest.strip_prefix('{') else {
        return vec![&rest[..name(rest)]];
    };
    let mut names = Vec::new();
    let (mut depth, mut begins) = (0, true);
    for (at, next) in list.char_indices() {
        match next {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if depth == 0 && begins && is_name(next) => {
                begins = false;
                names.push(&list[at..at + name(&list[at..])]);
            }
            _ => {}
        }
    }
    names
}

/// The rooms of `storage/` that a file names, also by what `storage/mod.rs` has from them.
fn rooms_named(source: &Source, rooms: &BTreeSet<String>, root: &str) -> BTreeSet<String> {
    let code: String = source
        .whole
        .lines()
        .take_while(|line| !line.ends_with("mod tests {"))
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |code, line| code + line + "\n");
    let depth = source.path.matches('/').count() - usize::from(source.path.ends_with("/mod.rs"));
    let from_here = format!("{}storage_root", "super::".repeat(depth));
    let from_here = from_here.strip_suffix("storage_root").expect("added");
    let mut found = BTreeSet::new();
    for path in ["crate::storage::", from_here] {
        for (at, _) in code.match_indices(path) {
            // `super::super::` is another place than `super::`.
            let is_longer =
                code[..at].ends_with("super::") || code[at + path.len()..].starts_with("super::");
            if !is_longer {
                found.extend(first_names(&code[at + path.len()..]));
            }
        }
    }
    let room_of = |name: &str| {
        if rooms.contains(name) {
            return name.to_owned();
        }
        let uses = root.match_indices("use ").map(|(at, _)| &root[at + 4..]);
        uses.filter_map(|rest| rest.split_once("::"))
            .find(|(_, rest)| first_names(rest).contains(&name))
            .map_or("mod", |(room, _)| room)
            .to_owned()
    };
    found.into_iter().map(room_of).collect()
}

#[test]
fn the_map_of_the_crate_names_the_modules_in_this_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let text = fs::read_to_string(root).expect("readable");
    let mut parts = text.split("```");
    let map = parts.nth(1).expect("a map");
    let mut named = Vec::new();
    for line in map.lines().skip(1) {
        // The kind of module is before two spaces.
        let line = line.trim_start_matches("//! ");
        let modules = line.get(21..).unwrap_or_default();
        named.extend(modules.split_whitespace());
    }
    let modules: Vec<_> = MAY_USE.iter().map(|(module, _)| *module).collect();
    assert_eq!(named, modules);
}

#[test]
fn the_page_for_contributors_lists_every_module() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/help/topics/contributing.md");
    let text = fs::read_to_string(page).expect("readable");
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let lists = rows.filter_map(|row| row.split('|').nth(2));
    let listed: BTreeSet<_> = lists.flat_map(|list| list.split('`')).collect();
    for (module, _) in MAY_USE {
        assert!(listed.contains(module), "{module} is not in the table");
    }
}

#[test]
fn rooms_of_storage_name_only_rooms_below_them() {
    let sources = sources();
    let facade = sources
        .iter()
        .find(|source| source.path == "storage/mod.rs")
        .expect("the root");
    let room = |path: &str| {
        let path = path.strip_prefix("storage/")?;
        let first = path.split('/').next()?;
        Some(first.strip_suffix(".rs").unwrap_or(first).to_owned())
    };
    let rooms: BTreeSet<String> = sources
        .iter()
        .filter_map(|source| room(&source.path))
        .collect();
    let mut graph = BTreeMap::<String, BTreeSet<String>>::new();
    for source in &sources {
        let Some(room) = room(&source.path).filter(|room| room != "mod") else {
            continue;
        };
        let names = rooms_named(source, &rooms, &facade.code);
        graph.entry(room).or_default().extend(names);
    }
    for (index, (room, row)) in STORAGE_MAY_USE.iter().enumerate() {
        for below in *row {
            let is_below = STORAGE_MAY_USE[..index]
                .iter()
                .any(|(name, _)| name == below);
            assert!(is_below, "`{room}` may not use `{below}` above it");
        }
        let mut used = graph.remove(*room).unwrap_or_default();
        used.remove(*room);
        let row: BTreeSet<String> = row.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            used, row,
            "what `storage::{room}` names (left) and what it may (right)"
        );
    }
    let without: Vec<_> = graph.into_keys().filter(|room| room != "tests").collect();
    assert!(without.is_empty(), "no row in STORAGE_MAY_USE: {without:?}");
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

/// The texts in quotes, in lower case, with one space between words.
fn quoted(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if rest[at..].starts_with('\'') {
            // A character; otherwise it is the name of a lifetime.
            let character = after.starts_with('\\') || after.chars().nth(1) == Some('\'');
            let first = after.chars().next().map_or(0, char::len_utf8);
            let end = after[first..].find('\'').filter(|_| character);
            // The second one of `'\''` is escaped.
            let end = end.map(|end| {
                if after.starts_with("\\'") {
                    end + 1
                } else {
                    end
                }
            });
            rest = &after[end.map_or(0, |end| first + end + 1)..];
            continue;
        }
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before[..before.len() - hashes].ends_with('r');
        let length = if is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            after.find(&end).unwrap_or(after.len())
        } else {
            let mut is_escaped = false;
            let ends = |next: char| {
                let ends = next == '"' && !is_escaped;
                is_escaped = next == '\\' && !is_escaped;
                ends
            };
            after.find(ends).unwrap_or(after.len())
        };
        let text = after[..length].replace("\\\n", " ").replace("\\n", " ");
        let words: Vec<_> = text.split_whitespace().collect();
        texts.push(words.join(" ").to_lowercase());
        rest = after.get(length + 1..).unwrap_or_default();
    }
    texts
}

/// How SQL begins, and what else is in it: English seldom has both.
#[rustfmt::skip]
const STATEMENTS: &[(&str, &str)] = &[
    ("alter table ", ""),
    ("begin immediate", ""),
    ("create index ", " on "),
    ("create table ", "("),
    ("create unique index ", " on "),
    ("delete from ", ""),
    ("drop index ", ""),
    ("drop table ", ""),
    ("explain query plan ", ""),
    ("insert into ", ""),
    ("insert or ", ""),
    ("pragma ", ""),
    ("replace into ", ""),
    ("select ", " from "),
    ("select ", "("),
    ("select ", "?"),
    ("update ", " set "),
    ("with ", " as ("),
];

fn statements(sources: &[Source]) -> Vec<String> {
    let is_sql = |text: &String| {
        STATEMENTS
            .iter()
            .any(|(begins, has)| text.starts_with(begins) && text.contains(has))
    };
    let ends = |text: &String| ["begin", "commit", "rollback"].contains(&text.as_str());
    let mut found = Vec::new();
    for source in sources {
        // The places where any is built: two of ours, those that copy whatever tables there are,
        // and those of the databases of others.
        let builds = ["/statement.rs", "/copying.rs", "/copy/tables.rs"];
        if builds.iter().any(|end| source.path.ends_with(end))
            || source.path.starts_with("connector/database/")
        {
            continue;
        }
        let is_storage = source.path.starts_with("storage/");
        for text in quoted(&source.code) {
            if is_sql(&text) || (is_storage && ends(&text)) {
                found.push(format!("{}: {text}", source.path));
            }
        }
    }
    found
}

#[test]
fn statements_are_in_sql_files() {
    none(&statements(&sources()), "SQL outside sql/");
}

/// A check that finds nothing could be one that finds nothing ever.
#[test]
fn a_statement_in_code_is_found_and_english_is_not() {
    let finds = |code: &str| {
        let source = Source {
            path: "storage/sqlite/read.rs".to_owned(),
            whole: String::new(),
            code: code.to_owned(),
        };
        statements(&[source]).len()
    };
    for sql in [
        "select n from sorted order by key",
        "SELECT count(*) FROM entity",
        "insert or rollback into \\\"commit\\\"(seq) values (?)",
        "insert into sorted(key, n) ",
        "update entity set n = ? where e = ?",
        "delete from unique_key where e in (",
        "with picked as (select 1) select * from picked",
        "create table sorted(key blob)",
        "pragma wal_checkpoint(passive)",
        "begin immediate",
        "rollback",
    ] {
        assert_eq!(finds(&format!("query(\"{sql}\")")), 1, "{sql}");
        assert_eq!(
            finds(&format!("push(r#\"{sql}\"#); '\"'; \"a\"")),
            1,
            "{sql}"
        );
    }
    for english in [
        "select one of the states",
        "update the model, then try again",
        "delete them first",
        "with so many entities",
        "insert coins",
        "commit the change",
        "create a model first; see `interlock help models`",
    ] {
        assert_eq!(finds(&format!("warn!(\"{english}\")")), 0, "{english}");
    }
}

/// A statement whose limit is a bare parameter is prepared anew each time that is bound
/// (`storage/sqlite/mod.rs`).
#[test]
fn limits_that_are_bound_leave_statements_prepared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage/sqlite/sql");
    let files = ["", "batch", "sorter"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).expect("a folder"))
        .map(|file| file.expect("a file").path())
        .filter(|path| path.is_file())
        .map(|path| {
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
        let below = LINES_MAX_BELOW
            .iter()
            .find(|(folder, _)| source.path.starts_with(folder));
        if lines > below.map_or(LINES_MAX, |(_, max)| *max) {
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

/// A citation in a comment: a page and, if it says so, sections of it.
struct Citation {
    page: String,
    sections: Vec<String>,
}

/// What follows `§`: a number with dots; or a letter in parentheses.
fn section(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('§') {
        let end = rest.find(|next: char| !next.is_ascii_digit() && next != '.');
        let (number, rest) = rest.split_at(end.unwrap_or(rest.len()));
        return Some((number.trim_end_matches('.'), rest));
    }
    let letter = text.strip_prefix('(').is_some_and(|rest| {
        rest.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
            && rest.as_bytes().get(1) == Some(&b')')
    });
    letter.then(|| text.split_at(3))
}

/// The citations in the comments of a file, also those that are broken across lines.
fn citations(source: &str) -> Vec<Citation> {
    let comments = source.lines().map(|line| {
        let line = line.trim_start();
        let mut comment = ["//!", "///", "//"].iter();
        let text = comment.find_map(|mark| line.strip_prefix(mark));
        text.map_or("\n", str::trim)
    });
    let text = comments.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (end, _) in text.match_indices(".md") {
        let begin = text[..end]
            .rfind(|before: char| !before.is_ascii_alphanumeric() && before != '-' && before != '/')
            .map_or(0, |at| at + 1);
        let mut rest = text[end + ".md".len()..].trim_start_matches('`');
        let mut sections = Vec::new();
        loop {
            let between = [", and ", ", ", " and ", "–", " "];
            let next = between.iter().find_map(|text| rest.strip_prefix(text));
            let Some((number, after)) = next.and_then(section) else {
                break;
            };
            sections.push(number.to_owned());
            rest = after;
        }
        found.push(Citation {
            page: text[begin..end].to_owned(),
            sections,
        });
    }
    found
}

/// A page that a comment cites is below `src/help/`, with the sections: a stranger has nothing else.
/// One that is cited by its path, as `help/design/storage.md`, is there.
#[test]
fn pages_and_sections_that_comments_cite_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let headings = |page: &str| -> Option<BTreeSet<String>> {
        let folders = if page.contains('/') {
            ["src/", "src/help/", ""]
        } else {
            [
                "src/help/design/",
                "src/help/topics/",
                "src/help/reference/",
            ]
        };
        let texts =
            folders.map(|folder| fs::read_to_string(root.join(format!("{folder}{page}.md"))));
        let texts: Vec<_> = texts.into_iter().flatten().collect();
        let of_text = |text: &String| {
            let headings = text.lines().filter(|line| line.starts_with('#'));
            let numbers = headings.filter_map(|line| line.split_whitespace().nth(1));
            let numbers: Vec<_> = numbers
                .map(|it| it.trim_end_matches('.').to_owned())
                .collect();
            numbers
        };
        (!texts.is_empty()).then(|| texts.iter().flat_map(of_text).collect())
    };
    let mut findings = Vec::new();
    let mut count = 0;
    for path in rust_files(&["src", "tests"]) {
        let text = fs::read_to_string(&path).expect("readable");
        let path = path.strip_prefix(root).expect("below the root").display();
        for Citation { page, sections } in citations(&text) {
            let Some(headings) = headings(&page) else {
                findings.push(format!("{path}: {page}.md"));
                continue;
            };
            count += sections.len();
            let missing = sections.iter().filter(|one| !headings.contains(*one));
            findings.extend(missing.map(|one| format!("{path}: {page}.md §{one}")));
        }
    }
    none(
        &findings,
        "write it in src/help/design/, or cite what is there",
    );
    assert!(count > 300, "citations are found: {count}");
}
