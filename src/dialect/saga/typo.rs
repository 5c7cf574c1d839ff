//! Texts that look like an expression, but are none because their root is misspelled.

/// The roots of expressions.
const ROOTS: [&str; 3] = ["input", "step", "error"];

/// No root is longer, with an error in it.
const WORD_MAX: usize = 6;

/// The root that a text most likely means, and what follows it: `input` and `amount` for
/// `imput.amount`. None if the text reads a root, or is another one.
pub(super) fn root_meant(text: &str) -> Option<(&'static str, &str)> {
    let (first, rest) = text.split_once('.')?;
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"_.[]".contains(&byte);
    let is_word = first.len() <= WORD_MAX && !ROOTS.contains(&first);
    if !is_word || rest.is_empty() || !text.bytes().all(is_path) {
        return None;
    }
    let written = first.to_ascii_lowercase();
    // Signs that have changed places are one error.
    let is_near = |root: &&str| strsim::osa_distance(&written, root) <= 1;
    ROOTS.into_iter().find(is_near).map(|root| (root, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_that_is_misspelled_is_named() {
        for (text, expected) in [
            ("imput.amount", Some(("input", "amount"))),
            ("inptu.items[0].qty", Some(("input", "items[0].qty"))),
            ("Input.a", Some(("input", "a"))),
            ("inputs.a", Some(("input", "a"))),
            ("steps.order.id", Some(("step", "order.id"))),
            ("eror.message", Some(("error", "message"))),
            ("input.a", None),
            ("order.id", None),
            ("imput", None),
            ("imput.", None),
            ("See imput.txt", None),
            ("inputs.a + 1", None),
        ] {
            assert_eq!(root_meant(text), expected, "{text}");
        }
    }
}
