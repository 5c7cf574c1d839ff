//! The beginning of a text that may be long.
//!
//! May use: nothing of this crate.

use std::borrow::Cow;

/// The beginning of a text, of at most so many bytes.
pub fn start(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A text; of a longer one the beginning, of at most so many bytes, and an ellipsis.
pub fn shortened(text: &str, bytes_max: usize) -> Cow<'_, str> {
    let start = start(text, bytes_max);
    if start.len() == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{start}…"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn characters_are_kept_whole() {
        for (text, start, shortened) in [
            ("", "", ""),
            ("abc", "abc", "abc"),
            ("abcd", "abc", "abc…"),
            ("abä", "ab", "ab…"),
            ("aä", "aä", "aä"),
        ] {
            assert_eq!(super::start(text, 3), start);
            assert_eq!(super::shortened(text, 3), shortened);
        }
    }
}
