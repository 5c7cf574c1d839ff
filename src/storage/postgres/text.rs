//! Text that is looked for.

use std::borrow::Cow;

/// What stands for a NUL character, which the database takes nowhere: nothing that is stored has
/// one, so what is looked for must only be something that is not there either.
const IN_PLACE_OF_NUL: &str = "\u{10ffff}\u{fffe}nul\u{fffe}\u{10ffff}";

/// A text as it is given to a statement that reads.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.as_bytes().contains(&0) {
        text.replace('\0', IN_PLACE_OF_NUL).into()
    } else {
        text.into()
    }
}
