//! How answers are printed: standard output, findings and tables.

use std::{
    fmt::{self, Write as _},
    io::{self, Write as _},
    process::ExitCode,
    sync::OnceLock,
};

use serde::Deserialize;

/// The first error of standard output.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Prints a line. Unlike `println!`, it does not panic if the line cannot be written: the command
/// completes what it has begun, and [`finish`] reports the error.
macro_rules! show {
    ($($words:tt)*) => {
        $crate::cli::output::print(format_args!("{}\n", format_args!($($words)*)))
    };
}

/// Prints text that contains its line breaks.
pub(in crate::cli) fn print(text: fmt::Arguments<'_>) {
    if is_writable() {
        check(io::stdout().write_fmt(text));
    }
}

/// Keeps the error, if it is the first one.
pub(in crate::cli) fn check(written: io::Result<()>) {
    if let Err(error) = written {
        // Only the first one says why; those after it may be about what it left behind.
        let _ = UNWRITTEN.set(error);
    }
}

/// Whether everything was written so far; otherwise a command that has no end should end.
pub(in crate::cli) fn is_writable() -> bool {
    UNWRITTEN.get().is_none()
}

/// The exit code of a command that returned this one: 1 if its output could not be written.
pub(in crate::cli) fn finish(code: ExitCode) -> ExitCode {
    // Text without a line break at its end is still in memory.
    check(io::stdout().flush());
    match UNWRITTEN.get() {
        Some(error) => super::failed(&Unwritten(error)),
        None => code,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the output cannot be written: {0}")]
struct Unwritten(&'static io::Error);

/// A finding as the service reports it.
#[derive(Debug, Deserialize)]
pub(in crate::cli) struct Finding {
    code: String,
    severity: String,
    message: String,
    #[serde(default)]
    location: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.code, self.severity, self.message)?;
        match &self.location {
            Some(location) => write!(f, " at '{location}'"),
            None => Ok(()),
        }
    }
}

/// How many errors and warnings there are, as `flo validate` prints it.
pub(in crate::cli) fn totals(findings: &[Finding]) -> String {
    let errors = findings
        .iter()
        .filter(|one| one.severity == "error")
        .count();
    let warnings = findings.len() - errors;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{errors} error{}, {warnings} warning{}",
        plural(errors),
        plural(warnings)
    )
}
/// A table: heads, and rows below them.
pub(in crate::cli) struct Table<const COLUMNS: usize> {
    heads: [&'static str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(in crate::cli) const fn new(heads: [&'static str; COLUMNS]) -> Self {
        Self {
            heads,
            rows: Vec::new(),
        }
    }

    pub(in crate::cli) fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }
}

/// Columns as wide as their widest cell; the last one is not padded.
impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = self.heads.map(|head| head.chars().count());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let heads = self.heads.map(str::to_owned);
        for (number, cells) in std::iter::once(&heads).chain(&self.rows).enumerate() {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(widths) {
                write!(line, "{cell:<width$}  ")?;
            }
            if number > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_shown_as_the_validation_shows_them() {
        let findings: Vec<Finding> = serde_json::from_str(
            r#"[{"code":"E201","severity":"error","message":"no such step","location":"charge"},
                {"code":"E303","severity":"warning","message":"no end"}]"#,
        )
        .expect("findings");
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "[E201] error: no such step at 'charge'",
                "[E303] warning: no end"
            ]
        );
        assert_eq!(totals(&findings), "1 error, 1 warning");
        assert_eq!(totals(&[]), "0 errors, 0 warnings");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["A", "NAME", "X"]);
        table.row(["1".to_owned(), "größer".to_owned(), String::new()]);
        table.row(["22".to_owned(), "n".to_owned(), "last".to_owned()]);
        assert_eq!(
            table.to_string(),
            "A   NAME    X\n1   größer\n22  n       last"
        );
    }
}
