//! The same tests over `PostgreSQL`: this program is started a second time, beside the tests of
//! this process, with the chosen ones, or with every name that is not listed as running once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Write as _,
    process::Command,
    time::Instant,
};

use crate::support::{
    backend::{self, GROUPS},
    chosen::{self, CHOSEN, is_chosen},
    database::{self, VARIABLE},
    long::{self, LONG},
};

/// How many run at once, beside those of this process. Most of the time they wait.
const THREADS: &str = "3";

fn itself() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

/// The names of all tests.
fn names() -> Vec<String> {
    let listed = itself().args(["--list", "--format", "terse"]).output();
    let listed = String::from_utf8(listed.expect("lists").stdout).expect("text");
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// Whether a test is left to the forms that take longer.
fn is_left_out(name: &str) -> bool {
    if std::env::var_os(long::VARIABLE).is_some() {
        return false;
    }
    let all = std::env::var_os(chosen::VARIABLE).is_some_and(|asked| asked == "all");
    let is_long = LONG.iter().any(|(long, _)| *long == name);
    if all { is_long } else { !is_chosen(name) }
}

#[test]
fn tests_pass_over_postgresql_that_pass_over_sqlite() {
    if database::is_postgres() {
        // This process runs the others over it.
        return;
    }
    let (once, both): (Vec<_>, Vec<_>) = names()
        .into_iter()
        .partition(|name| backend::once(name).is_some());
    let (left, both): (Vec<_>, Vec<_>) = both.into_iter().partition(|name| is_left_out(name));
    let used = tempfile::NamedTempFile::new().expect("a file");
    let begun = Instant::now();
    let done = itself()
        .args(["--exact", "--test-threads", THREADS])
        .args(&both)
        .env(VARIABLE, "postgres")
        .env(backend::USED, used.path())
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}");
    let passed = format!("{} passed; 0 failed; 0 ignored", both.len());
    assert!(said.contains(&passed), "{passed}: {said}");
    // A test that has no database there has not run over both.
    let used = std::fs::read_to_string(used.path()).expect("readable");
    let used: BTreeSet<&str> = used.lines().collect();
    let (both, idle): (Vec<_>, Vec<_>) = both.iter().partition(|name| used.contains(name.as_str()));
    let seconds = begun.elapsed().as_secs();
    let mut summary = summary(both.len(), left.len(), &once, seconds);
    if !idle.is_empty() {
        let _ = writeln!(summary, "without a database, and not listed: {idle:?}");
    }
    // Not by `print`, whose text is shown of tests that fail only.
    let written = std::io::stdout().write_all(summary.as_bytes());
    written.expect("written");
}

/// How many tests run where, and why not everywhere.
fn summary(both: usize, left: usize, once: &[String], seconds: u64) -> String {
    let mut text = format!(
        "\nsqlite:   {} tests (this process)\npostgres: {both} of the same names passed in \
         {seconds} s, none was skipped",
        both + left
    );
    if left > 0 {
        let _ = write!(
            text,
            "; {left} others run there with {}=all, those that take long with {}=1",
            chosen::VARIABLE,
            long::VARIABLE
        );
    }
    let mut entries: BTreeMap<_, usize> = BTreeMap::new();
    for entry in once.iter().filter_map(|name| backend::once(name)) {
        *entries.entry(entry).or_default() += 1;
    }
    text.push('\n');
    for (group, list) in GROUPS {
        let _ = writeln!(text, "once, of {group}:");
        for (start, reason) in list {
            let count = entries.get(&(group, *start)).copied().unwrap_or_default();
            let _ = writeln!(text, "  {count:>3} {start}: {reason}");
        }
    }
    text
}

#[test]
fn every_entry_of_the_lists_is_the_name_of_a_test() {
    let names = names();
    for (start, _) in GROUPS.iter().flat_map(|(_, entries)| *entries) {
        assert!(names.iter().any(|name| name.starts_with(start)), "{start}");
    }
    for (module, tests) in CHOSEN {
        for test in *tests {
            let name = format!("{module}::{test}");
            assert!(names.contains(&name), "{name}");
            assert!(backend::once(&name).is_none(), "{name} runs once");
        }
    }
    for (long, _) in LONG {
        assert!(names.iter().any(|name| name == long), "{long}");
        assert!(backend::once(long).is_none(), "{long} runs once");
    }
}
