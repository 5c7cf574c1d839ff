//! `matches` of CEL. The library compiles a pattern at every call, however large it becomes; here
//! patterns are kept, have a size, and what they cost is taken from the budget.

use std::sync::{Arc, LazyLock};

use regex::{Regex, RegexBuilder};

use crate::expr::Budget;

/// How many bytes a pattern may have.
const LENGTH_MAX: usize = 1_000;

/// How large a pattern may become, in bytes.
const SIZE_MAX: usize = 1 << 20;

/// How many patterns are kept.
const KEPT: usize = 256;

/// What a call takes of the budget, what compiling a pattern does, and how many bytes of it take as much again for
/// each byte of the text.
const CALLING: usize = 256;
const COMPILING: usize = 4 << 20;
const PER_BYTE: usize = 32;

/// A pattern that was compiled. Copies of a [`Regex`] would not share the memory that it searches
/// with.
type Compiled = Result<Arc<Regex>, Box<str>>;

type Cache = quick_cache::sync::Cache<Box<str>, Compiled>;

static COMPILED: LazyLock<Cache> = LazyLock::new(|| Cache::new(KEPT));

/// Whether a part of a text matches a pattern; what that costs is spent.
///
/// # Errors
/// The pattern is invalid or too large.
pub(super) fn matches(text: &str, pattern: &str, budget: &Budget) -> Result<bool, Box<str>> {
    if pattern.len() > LENGTH_MAX {
        return Err(format!("the pattern is longer than {LENGTH_MAX} bytes").into());
    }
    budget.spend(CALLING + text.len().saturating_mul(1 + pattern.len() / PER_BYTE));
    if let Some(known) = COMPILED.get(pattern) {
        return Ok(known?.is_match(text));
    }
    budget.spend(COMPILING);
    let compiled = compile(pattern);
    COMPILED.insert(pattern.into(), compiled.clone());
    Ok(compiled?.is_match(text))
}

fn compile(pattern: &str) -> Compiled {
    let compiled = RegexBuilder::new(pattern).size_limit(SIZE_MAX).build();
    compiled.map(Arc::new).map_err(|error| {
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
    use crate::expr::budget::TooMuchWork;

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
        let many = |count: usize, pattern: &dyn Fn(usize) -> String, text: &str| {
            Budget::default().while_left(|budget| {
                (0..count).all(|n| matches(text, &pattern(n), &budget).is_ok())
            })
        };
        let different = many(100, &|n| format!("cost{n}"), "a");
        assert_eq!(different, Err(TooMuchWork));
        let same = many(100, &|_| "b".to_owned(), &"a".repeat(1 << 20));
        assert_eq!(same, Err(TooMuchWork));
    }
}
