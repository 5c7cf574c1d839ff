//! What a handler says may be of any size, such as the output of a program that failed. It is cut,
//! because the server ends the whole stream, with all other calls, for a message that is too large.

use std::borrow::Cow;

pub(super) const FAILURE_BYTES_MAX: usize = 64 << 10;
pub(super) const WARNINGS_MAX: usize = 1000;
pub(super) const WARNING_BYTES_MAX: usize = 4 << 10;
pub(super) const LOGGED_BYTES_MAX: usize = 4 << 10;

const MORE: &str = "…";

/// A text that has no more bytes than that. It ends between two characters.
pub(super) fn bounded(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return text.into();
    }
    let mut end = bytes_max.saturating_sub(MORE.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MORE}", &text[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for text in ["é".repeat(20), "日".repeat(20), "😀".repeat(20)] {
            for size in 8..24 {
                let cut = bounded(&text, size);
                assert!(cut.len() <= size && cut.ends_with(MORE), "{cut} at {size}");
            }
        }
        assert_eq!(bounded("short", 5), "short");
    }
}
