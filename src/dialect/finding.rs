//! What is wrong, or odd, about a document.

use std::fmt;

use crate::text::shortened;

/// How many findings are collected of one document. What follows is counted, not listed.
const FINDINGS_MAX: usize = 1_000;

/// How many bytes of a message and of a location are kept: both quote the document.
const TEXT_MAX: usize = 1_024;

/// Whether a finding refuses the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One statement about a document (`runs.md` §2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Such as `E201`.
    pub code: &'static str,
    pub severity: Severity,
    pub message: String,
    /// A dotted path, such as `steps.charge.run`; none if it is about the whole document.
    pub location: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, severity) = (self.code, self.severity.as_str());
        write!(f, "[{code}] {severity}: {}", self.message)?;
        match &self.location {
            Some(location) => write!(f, " at '{location}'"),
            None => Ok(()),
        }
    }
}

/// All findings about one document, in the order in which its reader came across them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    listed: Vec<Finding>,
    errors: usize,
    warnings: usize,
}

impl Findings {
    pub fn error(&mut self, code: &'static str, location: &str, message: impl AsRef<str>) {
        self.errors += 1;
        self.push(code, Severity::Error, location, message.as_ref());
    }

    pub fn warning(&mut self, code: &'static str, location: &str, message: impl AsRef<str>) {
        self.warnings += 1;
        self.push(code, Severity::Warning, location, message.as_ref());
    }

    fn push(&mut self, code: &'static str, severity: Severity, location: &str, message: &str) {
        if self.listed.len() < FINDINGS_MAX {
            self.listed.push(Finding {
                code,
                severity,
                message: shortened(message, TEXT_MAX).into_owned(),
                location: (!location.is_empty())
                    .then(|| shortened(location, TEXT_MAX).into_owned()),
            });
        }
    }

    /// The first thousand.
    pub fn listed(&self) -> &[Finding] {
        &self.listed
    }

    /// How many there are, listed or not.
    pub const fn errors(&self) -> usize {
        self.errors
    }

    /// How many there are, listed or not.
    pub const fn warnings(&self) -> usize {
        self.warnings
    }

    pub const fn has_errors(&self) -> bool {
        self.errors > 0
    }
}

/// The findings, a line each, and the totals.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.listed {
            writeln!(f, "{finding}")?;
        }
        let more = (self.errors + self.warnings).saturating_sub(self.listed.len());
        if more > 0 {
            writeln!(f, "… and {more} more")?;
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (errors, warnings) = (self.errors, self.warnings);
        write!(
            f,
            "{errors} error{}, {warnings} warning{}",
            plural(errors),
            plural(warnings)
        )
    }
}
