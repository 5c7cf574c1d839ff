//! Where in a JSON text a value is that could not be read.

use std::fmt::Write as _;

use super::{Step, skip_string};

/// An object or a list that is open.
enum Open {
    Object {
        key: Option<(usize, usize)>,
        is_key_next: bool,
    },
    List(Option<usize>),
}

/// The steps to the value that an error in a JSON text is about; names of members are as in the
/// text.
pub fn steps_to(text: &str, error: &serde_json::Error) -> Vec<Step> {
    steps_at(text, offset(text, error.line(), error.column()))
}

/// Steps to a value, as a path like `retry.attempts[0]`.
pub fn dotted(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Member(name) => {
                let dot = if path.is_empty() { "" } else { "." };
                let _ = write!(path, "{dot}{name}");
            }
            Step::Element(index) => {
                let _ = write!(path, "[{index}]");
            }
            Step::Each => {}
        }
    }
    path
}

/// How many bytes stand before that place.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines.map(str::len).sum::<usize>() + column
}

/// The steps to the value that so many bytes of a JSON text lead into.
fn steps_at(text: &str, end: usize) -> Vec<Step> {
    let bytes = &text.as_bytes()[..end.min(text.len())];
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !b",]} \n\r\t".contains(byte)
            && let Some(Open::List(index @ None)) = open.last_mut()
        {
            *index = Some(0);
        }
        match byte {
            b'{' => open.push(Open::Object {
                key: None,
                is_key_next: true,
            }),
            b'[' => open.push(Open::List(None)),
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::Object { is_key_next, .. }) => *is_key_next = true,
                Some(Open::List(index)) => *index = index.map(|index| index + 1),
                None => {}
            },
            b'"' => {
                let begin = at + 1;
                let past = skip_string(bytes, at);
                at = past.map_or(bytes.len(), |(past, _)| past - 1);
                if let Some(Open::Object { key, is_key_next }) = open.last_mut()
                    && *is_key_next
                {
                    (*key, *is_key_next) = (Some((begin, at)), false);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let step = |level| match level {
        Open::Object {
            key: Some((from, to)),
            ..
        } => Some(Step::Member(text.get(from..to).unwrap_or_default().into())),
        Open::List(Some(index)) => Some(Step::Element(index)),
        Open::Object { key: None, .. } | Open::List(None) => None,
    };
    open.into_iter().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_and_any_place_has_steps() {
        for text in [
            "",
            "{",
            "[1,[2,",
            "{\"é\\",
            "{\"a\":{\"b\":[{},{\"c\":\"é",
            "]}",
            "\"\\\"",
        ] {
            for end in 0..=text.len() + 2 {
                let _ = steps_at(text, end);
            }
        }
    }
}
