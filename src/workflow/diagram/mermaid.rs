//! Diagrams in Mermaid's `stateDiagram-v2`.

use std::fmt::Write as _;

use super::{Frame, visible};

pub(super) fn write(frames: &[Frame<'_>]) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    for frame in frames {
        let _ = write_frame(&mut text, frame);
    }
    text
}

fn write_frame(text: &mut String, frame: &Frame<'_>) -> std::fmt::Result {
    writeln!(
        text,
        "    state \"{}\" as {} {{",
        escaped(&frame.title),
        frame.id
    )?;
    for state in frame.states.iter().filter(|state| state.id != state.name) {
        writeln!(
            text,
            "        state \"{}\" as {}",
            escaped(state.name),
            state.id
        )?;
    }
    writeln!(text, "        [*] --> {}", frame.initial)?;
    for arrow in &frame.arrows {
        let lines: Vec<_> = arrow.lines.iter().map(|line| escaped(line)).collect();
        writeln!(
            text,
            "        {} --> {} : {}",
            arrow.from,
            arrow.to,
            lines.join("<br/>")
        )?;
    }
    for state in frame.states.iter().filter(|state| state.is_terminal) {
        writeln!(text, "        {} --> [*]", state.id)?;
    }
    writeln!(text, "    }}")
}

/// Escapes text for Mermaid, wherever it stands.
///
/// Mermaid reads `#58;` and `#quot;` as characters. Everything that its grammar, its comments
/// (`%%`), HTML or Markdown could interpret is written this way; letters, digits and harmless
/// characters between them are kept.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().map(visible).peekable();
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        if char == '"' {
            safe.push_str("#quot;");
        } else if is_harmless(&safe, before, char, next) && !completes_a_word(&safe, char) {
            safe.push(char);
        } else {
            let _ = write!(safe, "#{};", u32::from(char));
        }
        before = Some(char);
    }
    safe
}

fn is_harmless(safe: &str, before: Option<char>, char: char, next: Option<char>) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(char::is_numeric);
    let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    let is_space = |char: Option<char>| char == Some(' ');
    match char {
        // A label without anything else would be empty.
        ' ' => before.is_some() && next.is_some(),
        ',' | '(' => true,
        // Two of them begin a formula.
        '$' => before != Some('$') && next != Some('$'),
        // After a number at the beginning they would make a list item.
        '.' | ')' => !is_number(safe),
        '=' | '>' => is_space(before) && is_space(next),
        '_' | '-' => is_word(before) && is_word(next),
        // Mermaid uses these two internally.
        'ﬂ' | '¶' => false,
        other => other.is_alphanumeric() || !other.is_ascii() && !other.is_whitespace(),
    }
}

/// `direction TB` anywhere in a line is a statement, whatever precedes it, and `www.` begins a
/// link.
fn completes_a_word(before: &str, char: char) -> bool {
    let ends_in = |word: &str| {
        let start = before.len().checked_sub(word.len());
        start
            .and_then(|start| before.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    char.is_whitespace() && ends_in("direction") || char == '.' && ends_in("www")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_mermaid_reads_as_its_own_is_written_as_characters() {
        for (text, safe) in [
            (
                "IN_REVIEW, then-on (manual 1)",
                "IN_REVIEW, then-on (manual 1)",
            ),
            (
                "if $.total > 100 and state = \"NEW\"",
                "if $.total > 100 and state = #quot;NEW#quot;",
            ),
            ("a:b;c", "a#58;b#59;c"),
            ("%% no comment", "#37;#37; no comment"),
            ("<b>x</b>", "#60;b#62;x#60;#47;b#62;"),
            ("a --> b", "a #45;#45;#62; b"),
            ("[[fork]] {x}", "#91;#91;fork#93;#93; #123;x#125;"),
            ("#35; #", "#35;35#59; #35;"),
            ("1. one", "1#46; one"),
            ("2) two", "2#41; two"),
            ("_a_ *b* `c`", "#95;a#95; #42;b#42; #96;c#96;"),
            ("$$x$$", "#36;#36;x#36;#36;"),
            ("Direction TB", "Direction#32;TB"),
            ("www.example", "www#46;example"),
            ("a\nb\u{202e}", "a␊b�"),
            ("größer ≥ ﬂ°°35¶ß", "größer ≥ #64258;°°35#182;ß"),
        ] {
            assert_eq!(escaped(text), safe);
        }
    }

    proptest! {
        #[test]
        fn no_text_says_anything_to_mermaid(text in "(?s).{0,40}|(direction TB|www\\.|%%|<br/>|style:a#x;|--|[ -~]){1,12}") {
            let safe = escaped(&text);
            let mut rest = safe.as_str();
            let mut plain = String::new();
            while let Some((before, after)) = rest.split_once('#') {
                let (code, after) = after.split_once(';').expect("a code ends");
                prop_assert!(code == "quot" || code.parse::<u32>().is_ok(), "{}", safe);
                plain = plain + before + "\u{1}";
                rest = after;
            }
            plain += rest;
            for own in ["%", ":", ";", "<", "\"", "\n", "{", "}", "[", "]", "*", "`", "$$", "-->", "\\", "&", "|", "~"] {
                prop_assert!(!plain.contains(own), "{own} in {safe}");
            }
            let lower = plain.to_lowercase();
            prop_assert!(!lower.split("direction").skip(1).any(|rest| rest.starts_with(char::is_whitespace)), "{}", safe);
        }
    }
}
