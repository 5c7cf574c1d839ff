//! Text without regard to case (`workflow-engine.md` §2.2). Each character is changed by itself: what
//! it becomes does not depend on its neighbours, as it does for `Σ` in [`str::to_lowercase`].

/// Unicode simple case folding.
pub(super) fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    match character {
        // In Turkish these are the other case of `I` and `i`; the folding leaves them alone.
        'ı' | 'İ' => character,
        // Their upper case is several characters.
        '\u{1FD3}' => '\u{390}',
        '\u{1FE3}' => '\u{3B0}',
        '\u{FB05}' => '\u{FB06}',
        _ => {
            let upper = only(character.to_uppercase()).unwrap_or(character);
            only(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

/// Whether a text is equal to one that is already folded.
pub(super) fn is_equal_folded(text: &str, folded: &str) -> bool {
    text.chars().map(fold).eq(folded.chars())
}

/// A text in lower case.
pub(super) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // The lower case of `İ` is an `i` and a dot; here it is the `i` alone.
    let lower = |character: char| character.to_lowercase().next().unwrap_or(character);
    text.chars().map(lower).collect()
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    characters.next().filter(|_| characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use regex::Regex;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    use super::*;

    #[test]
    fn folding_is_that_of_the_unicode_tables() {
        // The standard library may know newer characters than the tables.
        let unassigned = Regex::new(r"\p{Cn}").expect("compiles");
        for character in '\0'..='\u{1FFFF}' {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            class.try_case_fold_simple().expect("has the tables");
            let folded = fold(character);
            let ranges = || class.ranges().iter();
            let is_known = ranges().any(|range| (range.start()..=range.end()).contains(&folded));
            assert!(
                is_known || unassigned.is_match(&character.to_string()),
                "{character:?} becomes {folded:?}"
            );
            for other in ranges().flat_map(|range| range.start()..=range.end()) {
                assert_eq!(fold(other), folded, "{character:?} and {other:?}");
            }
        }
    }

    #[test]
    fn lower_case_does_not_depend_on_neighbours() {
        for (text, lowered) in [
            ("ORDER 7", "order 7"),
            ("ΟΔΟΣ", "οδοσ"),
            ("ΟΔΟΣΤΡΩΜΑ", "οδοστρωμα"),
            ("İzmir", "izmir"),
            ("Straße ẞ", "straße ß"),
        ] {
            assert_eq!(lower(text), lowered);
        }
    }
}
