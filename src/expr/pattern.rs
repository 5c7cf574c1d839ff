//! `matches` of CEL. The library compiles a pattern at every call, however large it becomes; here
//! patterns are kept, have a size, and what they cost is taken from the budget.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::Budget;

/// The function in texts, and the one in what is compiled: that of the library cannot be replaced.
pub(super) const NAME: &str = "matches";
pub(super) const OWN_NAME: &str = "matches_";

/// How many characters a pattern may have.
const LENGTH_MAX: usize = 1_000;

/// How large a pattern may become, in bytes.
const SIZE_MAX: usize = 1 << 20;

/// How many patterns are kept.
const KEPT: usize = 256;

/// What compiling a pattern takes of the budget, and how many characters of it take as much again
/// for each byte of the text.
const COMPILING: usize = 4 << 20;
const PER_BYTE: usize = 32;

type Cache = quick_cache::sync::Cache<Box<str>, Result<Regex, Box<str>>>;

static COMPILED: LazyLock<Cache> = LazyLock::new(|| Cache::new(KEPT));

/// Whether a part of a text matches a pattern.
///
/// # Errors
/// The pattern is invalid or too large, or nothing is left of the budget.
pub(super) fn matches(text: &str, pattern: &str, budget: &Budget) -> Result<bool, String> {
    let taken = |bytes| {
        let taken = budget.take(bytes);
        taken.map_err(|_| "patterns would take too long here".to_owned())
    };
    if pattern.len() > LENGTH_MAX {
        return Err(format!(
            "the pattern is longer than {LENGTH_MAX} characters"
        ));
    }
    taken(text.len().saturating_mul(1 + pattern.len() / PER_BYTE))?;
    if let Some(known) = COMPILED.get(pattern) {
        return Ok(known?.is_match(text));
    }
    taken(COMPILING)?;
    let compiled = compile(pattern);
    COMPILED.insert(pattern.into(), compiled.clone());
    Ok(compiled?.is_match(text))
}

fn compile(pattern: &str) -> Result<Regex, Box<str>> {
    let compiled = RegexBuilder::new(pattern).size_limit(SIZE_MAX).build();
    compiled.map_err(|error| {
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            "the pattern is too large; repeat fewer classes, or less often".into()
        } else {
            error.to_string().into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compiled_once_and_has_a_size() {
        let budget = Budget::default();
        for _ in 0..1_000 {
            assert_eq!(matches("a@b.de", "^[a-z]+@[a-z.]+$", &budget), Ok(true));
        }
        assert_eq!(matches("A", "^[a-z]+$", &budget), Ok(false));
        assert!(matches("a", "(", &budget).is_err());
        assert!(matches("a", &"a".repeat(LENGTH_MAX + 1), &budget).is_err());
        let large = matches("a", r"\w{90}\w{90}", &budget).expect_err("too large");
        assert!(large.contains("too large"), "{large}");
    }

    #[test]
    fn what_patterns_cost_is_counted() {
        let budget = Budget::default();
        let mut different = (0..100).map(|n| matches("a", &format!("cost{n}"), &budget));
        assert!(different.any(|matched| matched.is_err()));
        let budget = Budget::default();
        let text = "a".repeat(1 << 20);
        let mut same = (0..100).map(|_| matches(&text, "b", &budget));
        assert!(same.any(|matched| matched.is_err()));
    }
}
