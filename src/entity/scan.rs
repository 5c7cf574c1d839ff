//! Passing over JSON text without reading it.

/// Past the string that begins at that quote, and whether there are escapes in it; none if it does
/// not end.
pub(super) fn string(text: &[u8], quote: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (quote + 1, false);
    loop {
        let rest = text.get(at..)?;
        // Most are short: then looking on is faster than looking far.
        let near = rest
            .iter()
            .take(16)
            .position(|byte| matches!(byte, b'"' | b'\\'));
        at += match near {
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

/// Past the bracket that closes the last of so many that are open.
pub(super) fn brackets(text: &[u8], mut at: usize, mut open: usize) -> Option<usize> {
    while open > 0 {
        match text.get(at)? {
            b'"' => {
                at = string(text, at)?.0;
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

/// Whether a text begins as an object or an array and ends where that is closed. If it is JSON
/// where it is put into other JSON, then it is one value there and says nothing beside.
pub fn is_closed(text: &str) -> bool {
    let text = text.as_bytes();
    matches!(text.first(), Some(b'{' | b'['))
        && brackets(text, 1, 1).is_some_and(|end| text[end..].trim_ascii().is_empty())
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

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }

    proptest! {
        /// What is closed can say nothing beside what it is put under.
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
