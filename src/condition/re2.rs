//! RE2 patterns in the syntax of the `regex` crate (`workflow-engine.md` §2.7).
//!
//! Both have the same power. They differ in whether `\w`, `\d`, `\s` and `\b` are ASCII, in which
//! characters are literal (`{`, and `[`, `&&`, `--` and `~~` within classes), and in `\Q…\E`, octal
//! numbers and `\p{^…}`. The crate rejects what is invalid in both.

use std::fmt::Write as _;

/// The ranges of an ASCII class, by its letter in lower case.
const PERL: [(char, &str); 3] = [('d', "0-9"), ('s', r"\t\n\f\r\x20"), ('w', "0-9A-Za-z_")];

/// The classes that are written `[:name:]`, within a class.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// The number with the longest name, in octal digits.
const OCTAL_DIGITS: usize = 3;

/// Rewrites a pattern; the reason if it is invalid and the crate would take it for something else.
pub(super) fn rewrite(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\\' => escape(rest, &mut out),
            '[' => class(rest, &mut out)?,
            '{' if repetition(rest).is_none() => {
                out.push_str(r"\{");
                &rest[1..]
            }
            '{' => {
                let (count, after) = rest.split_at(repetition(rest).unwrap_or_default());
                out.push_str(count);
                after
            }
            '}' => {
                out.push_str(r"\}");
                &rest[1..]
            }
            other => {
                out.push(other);
                &rest[other.len_utf8()..]
            }
        };
    }
    Ok(out)
}

/// The length of `{n}`, `{n,}` or `{n,m}` at the start of a text; none if the brace is literal.
fn repetition(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let inner = &inner[..inner.find('}')?];
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let is_count = |digits: &str| {
        digits.bytes().all(|digit| digit.is_ascii_digit())
            && (digits.len() < 2 || !digits.starts_with('0'))
    };
    (!least.is_empty() && is_count(least) && is_count(most)).then(|| inner.len() + 2)
}

/// Rewrites an escape outside of a class; returns what follows it.
fn escape<'p>(text: &'p str, out: &mut String) -> &'p str {
    let Some(named) = text[1..].chars().next() else {
        out.push('\\');
        return "";
    };
    let after = &text[1 + named.len_utf8()..];
    match named {
        'Q' => {
            let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
            quoted.chars().for_each(|char| literal(char, out));
            after
        }
        'b' | 'B' => {
            let _ = write!(out, r"(?-u:\{named})");
            after
        }
        _ => match perl(named) {
            Some(ascii) => {
                out.push_str(&ascii);
                after
            }
            None => shared_escape(text, out),
        },
    }
}

/// The class of `\d`, `\D` and the like.
fn perl(named: char) -> Option<String> {
    let lower = named.to_ascii_lowercase();
    let (_, ranges) = PERL.into_iter().find(|(letter, _)| *letter == lower)?;
    let sign = if named == lower { "" } else { "^" };
    Some(format!("[{sign}{ranges}]"))
}

/// Rewrites an escape that means the same within a class and outside.
fn shared_escape<'p>(text: &'p str, out: &mut String) -> &'p str {
    let Some(named) = text[1..].chars().next() else {
        out.push('\\');
        return "";
    };
    let after = &text[1 + named.len_utf8()..];
    if let Some((number, after)) = octal(&text[1..]) {
        let _ = write!(out, r"\x{{{number:x}}}");
        return after;
    }
    if named.is_ascii() && !named.is_ascii_alphanumeric() {
        literal(named, out);
        return after;
    }
    out.push('\\');
    // The name of a class, or the number of a character.
    let braced = after
        .strip_prefix('{')
        .and_then(|name| name.split_once('}'));
    let Some((name, after)) = braced.filter(|_| matches!(named, 'p' | 'P' | 'x')) else {
        out.push(named);
        return after;
    };
    // A negated name is written with the other letter.
    let (named, name) = match (named, name.strip_prefix('^')) {
        ('p', Some(name)) => ('P', name),
        ('P', Some(name)) => ('p', name),
        (named, _) => (named, name),
    };
    let _ = write!(out, "{named}{{{name}}}");
    after
}

/// The number of `\0` or of at least two octal digits; a single other digit would refer to a group.
fn octal(digits: &str) -> Option<(u32, &str)> {
    let is_octal = |digit: &u8| matches!(digit, b'0'..=b'7');
    let length = digits
        .bytes()
        .take(OCTAL_DIGITS)
        .take_while(|digit| is_octal(digit))
        .count();
    let is_number = length > 1 || digits.starts_with('0');
    let number = u32::from_str_radix(&digits[..length], 8).ok()?;
    is_number.then_some((number, &digits[length..]))
}

/// Rewrites a class; returns what follows it.
fn class<'p>(text: &'p str, out: &mut String) -> Result<&'p str, String> {
    out.push('[');
    let mut rest = &text[1..];
    if let Some(negated) = rest.strip_prefix('^') {
        out.push('^');
        rest = negated;
    }
    let mut is_first = true;
    loop {
        let Some(first) = rest.chars().next() else {
            return Err("a class is not closed; `]` is missing".to_owned());
        };
        if first == ']' && !is_first {
            out.push(']');
            return Ok(&rest[1..]);
        }
        is_first = false;
        if let Some(after) = posix(rest, out)? {
            rest = after;
            continue;
        }
        let named = rest
            .strip_prefix('\\')
            .and_then(|escape| escape.chars().next());
        if let Some(ascii) = named.and_then(perl) {
            out.push_str(&ascii);
            rest = &rest[2..];
            continue;
        }
        let is_property = matches!(named, Some('p' | 'P'));
        rest = character(rest, out);
        // What has a name is no beginning of a range: a `-` after it is literal.
        if is_property {
            continue;
        }
        // The last `-` of a class is literal.
        if let Some(after) = rest
            .strip_prefix('-')
            .filter(|after| !after.starts_with(']'))
        {
            let ends = after
                .strip_prefix('\\')
                .and_then(|escape| escape.chars().next());
            if ends.is_some_and(|named| perl(named).is_some()) {
                return Err("the end of a range within a class is a class".to_owned());
            }
            out.push('-');
            rest = character(after, out);
        }
    }
}

/// Rewrites `[:name:]` within a class; none if the bracket is literal.
fn posix<'p>(text: &'p str, out: &mut String) -> Result<Option<&'p str>, String> {
    let named = text
        .strip_prefix("[:")
        .and_then(|named| named.split_once(":]"));
    let Some((name, after)) = named else {
        return Ok(None);
    };
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(format!("there is no class `[:{name}:]`"));
    }
    let _ = write!(out, "[:{name}:]");
    Ok(Some(after))
}

/// Rewrites one character of a class.
fn character<'p>(text: &'p str, out: &mut String) -> &'p str {
    match text.chars().next() {
        None => text,
        Some('\\') => shared_escape(text, out),
        Some(plain) => {
            literal(plain, out);
            &text[plain.len_utf8()..]
        }
    }
}

/// A character that stands for itself, within a class and outside.
fn literal(char: char, out: &mut String) {
    // These two mean the borders of a word if they are escaped.
    if char.is_ascii_punctuation() && !matches!(char, '<' | '>') {
        out.push('\\');
    }
    out.push(char);
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn compile(pattern: &str) -> Result<Regex, String> {
        let rewritten = rewrite(pattern)?;
        Regex::new(&format!("^(?:{rewritten})$")).map_err(|error| error.to_string())
    }

    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        for (pattern, matches, misses) in [
            // ASCII only.
            (r"\d+", &["34"][..], &["٣٤"][..]),
            (r"\D", &["٣", "x"], &["3"]),
            (r"\w+", &["na_1"], &["naïve"]),
            (r"[^\W]+", &["na_1"], &["naïve"]),
            (r"[\d-]+", &["1-2"], &["a"]),
            (r"\s", &[" ", "\t"], &["\u{a0}", "\u{b}"]),
            (r"[\s\S]", &["\n", "é"], &[""]),
            (r"na\bïve", &["naïve"], &[]),
            (r"na\Bïve", &[], &["naïve"]),
            (r"(?i)k\w", &["ks", "KS"], &["kï"]),
            // Literal text.
            (r"\Qa%b.\E+", &["a%b.", "a%b.."], &["a%bb"]),
            (r"\Q[a", &["[a"], &["a"]),
            ("{", &["{"], &[]),
            ("a{", &["a{"], &["a"]),
            ("a{,2}", &["a{,2}"], &["aa"]),
            ("a{02}", &["a{02}"], &["aa"]),
            ("a{x}", &["a{x}"], &[]),
            ("{}}", &["{}}"], &[]),
            ("a{2}", &["aa"], &["a"]),
            ("a{1,}b{1,2}", &["aaab", "abb"], &["b"]),
            (r"\141\061", &["a1"], &[]),
            (r"\0", &["\0"], &["0"]),
            (r"\12", &["\n"], &[]),
            (r"\<a\>\_\%", &["<a>_%"], &["a"]),
            (r"\b{start}a", &[], &["a"]),
            // Classes.
            ("[[a]]", &["[]", "a]"], &["a", "["]),
            ("[a&&b]", &["a", "&", "b"], &["&&"]),
            ("[a~~b]", &["a", "~", "b"], &[]),
            ("[+--]", &["+", ",", "-"], &["."]),
            ("[--a]", &["-", "A", "a"], &["b"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[^a-c]", &["d", "-", "^"], &["b"]),
            ("[]a]", &["]", "a"], &["[]"]),
            ("[^]a]", &["b"], &["]", "a"]),
            ("[a^ #]", &["a", "^", " ", "#"], &["b"]),
            (r"[\]\-\\]", &["]", "-", "\\"], &["a"]),
            (r"[\141-\143]", &["b"], &["d"]),
            (r"[\x{61}-\x63\n]", &["b", "\n"], &["d"]),
            ("[[:alpha:][:^space:]]", &["a", "1"], &[" "]),
            ("[[:a]", &["[", ":", "a"], &["b"]),
            (r"[\pL\p{Nd}]\PL\p{^Greek}", &["é1é", "٣.b"], &["é1α"]),
            (r"\p{Greek}", &["α"], &["a"]),
            (r"[\pL\p{Nd}-_.]+", &["a-1_."], &[" "]),
        ] {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            for text in matches {
                assert!(regex.is_match(text), "{pattern} misses {text:?}");
            }
            for text in misses {
                assert!(!regex.is_match(text), "{pattern} matches {text:?}");
            }
        }
    }

    #[test]
    fn what_re2_rejects_stays_rejected() {
        for pattern in [
            "(",
            "[a",
            "[",
            "[^",
            "[a--b]",
            r"[+-\d]",
            "[[:foo:]]",
            r"(a)\1",
            r"\8",
            r"\C",
            r"\E",
            r"\",
            r"[a\",
            "(?=x)",
            "{2}",
            "a{2,1}",
            "*",
            r"\p{None}",
            r"\x{110000}",
            r"\x{61",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
