//! The codes of findings, as the command line, the service and the help topics list them.

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub code: &'static str,
    /// What is wrong, and refuses the document; empty if the code never does.
    pub error: &'static str,
    /// What is odd, and is only reported; empty if the code always refuses.
    pub warning: &'static str,
}

pub(super) const fn error(code: &'static str, error: &'static str) -> Rule {
    Rule {
        code,
        error,
        warning: "",
    }
}

pub(super) const fn warning(code: &'static str, warning: &'static str) -> Rule {
    Rule {
        code,
        error: "",
        warning,
    }
}

impl Rule {
    pub(super) const fn or_warning(self, warning: &'static str) -> Self {
        Self { warning, ..self }
    }
}
