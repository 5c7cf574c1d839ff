//! Skips JSON text without parsing it.

use super::DEPTH_MAX;

/// The position after the string that begins at that quote, and whether it has escapes; none if it
/// does not end.
#[expect(
    clippy::inline_always,
    reason = "a third less for each string (measured)"
)]
#[inline(always)]
pub fn skip_string(text: &[u8], quote: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (quote + 1, false);
    loop {
        let rest = text.get(at..)?;
        at += match rest.first_chunk().and_then(near_end) {
            Some(near) => near,
            None => memchr::memchr2(b'"', b'\\', rest)?,
        };
        if text[at] == b'"' {
            return Some((at + 1, escaped));
        }
        escaped = true;
        at += 2;
    }
}

/// The first quote or backslash in a stretch longer than most strings: here a simple search is
/// faster than a vectorized one (measured). Eight bytes are examined at a time, as a word.
fn near_end(stretch: &[u8; 16]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let word = |at: usize| {
        let bytes = stretch.get(at..)?.first_chunk()?;
        let word = u64::from_le_bytes(*bytes);
        // The highest bit of a zero byte is set here; above it some may be set falsely.
        let zeros = |word: u64| word.wrapping_sub(EACH) & !word & (EACH << 7);
        let ends = zeros(word ^ (EACH * u64::from(b'"'))) | zeros(word ^ (EACH * u64::from(b'\\')));
        (ends != 0).then(|| at + ends.trailing_zeros() as usize / 8)
    };
    word(0).or_else(|| word(8))
}

/// The position after the bracket that closes the last of that many open ones.
pub(super) fn brackets(text: &[u8], mut at: usize, mut open: usize) -> Option<usize> {
    while open > 0 {
        match text.get(at)? {
            b'"' => {
                at = skip_string(text, at)?.0;
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    Some(at)
}

/// Whether a text begins as an object or a list and ends where that is closed. If it is valid where
/// it is inserted into other JSON, then it is exactly one value there.
pub fn is_closed(text: &str) -> bool {
    let text = text.as_bytes();
    matches!(text.first(), Some(b'{' | b'['))
        && brackets(text, 1, 1).is_some_and(|end| text[end..].trim_ascii().is_empty())
}

/// Whether every `\u` escape of a JSON text is a character, or half of a pair of which the other half
/// is there. Programs in other languages cannot read what is not.
pub fn is_unicode(text: &str) -> bool {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => return false,
            Some(_) => 6,
            None => 2,
        };
    }
    true
}

/// Whether valid JSON nests deeper than [`DEPTH_MAX`] levels.
pub fn is_too_deep(text: &str) -> bool {
    // Every level is opened and closed.
    if text.len() <= 2 * DEPTH_MAX {
        return false;
    }
    let text = text.as_bytes();
    let (mut at, mut open) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => match skip_string(text, at) {
                Some((end, _)) => {
                    at = end;
                    continue;
                }
                None => return false,
            },
            b'{' | b'[' if open == DEPTH_MAX => return true,
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn what_is_closed_ends_there() {
        for (text, closed) in [
            ("{}", true),
            ("[1,{\"a\":\"]}\"}] \n", true),
            (r#"{"a":"\"}","b":"\\"}"#, true),
            ("", false),
            (" {}", false),
            ("1", false),
            ("\"{}\"", false),
            ("{", false),
            ("{}}", false),
            ("{},{}", false),
            (r#"{"a":1},"b":{"c":2}"#, false),
            (r#"{"a":"\"#, false),
            (r#"{"a":"}"#, false),
            ("]{", false),
        ] {
            assert_eq!(is_closed(text), closed, "{text}");
        }
    }

    #[test]
    fn levels_are_counted_outside_of_strings() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(!is_too_deep(&deep(DEPTH_MAX)));
        assert!(is_too_deep(&deep(DEPTH_MAX + 1)));
        assert!(!is_too_deep(&format!("[{}1]", "[],".repeat(1_000))));
        assert!(!is_too_deep(&format!(r#"["\"{}"]"#, "[".repeat(1_000))));
        let objects = format!("{}1{}", r#"{"]":"#.repeat(300), "}".repeat(300));
        assert!(is_too_deep(&objects));
    }

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }

    proptest! {
        #[test]
        fn a_string_ends_at_its_first_quote_that_is_not_escaped(text in r"([ -~é]|\\.){0,40}") {
            let quoted = format!(r#""{text}"#);
            let mut bytes = quoted.bytes().enumerate().skip(1);
            let (mut end, mut escaped) = (None, false);
            while let Some((at, byte)) = bytes.next() {
                if byte == b'"' {
                    end = Some((at + 1, escaped));
                    break;
                }
                if byte == b'\\' {
                    escaped = true;
                    bytes.next();
                }
            }
            prop_assert_eq!(skip_string(quoted.as_bytes(), 0), end);
        }

        /// Closed text is exactly one value where it is inserted.
        #[test]
        fn what_is_closed_is_json_where_the_whole_is(text in r#"[\[{]([\[\]{}",:\\1 ]|"a":|\\"){0,24}"#) {
            let whole = format!(r#"{{"before":1,"it":{text},"after":1}}"#);
            if is_closed(&text) && is_json(&whole) {
                prop_assert!(is_json(&text), "{text}");
            }
            if is_json(&text) {
                prop_assert!(is_closed(&text), "{text}");
            }
        }
    }
}
