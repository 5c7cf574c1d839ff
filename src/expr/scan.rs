//! What a CEL text refers to, found without evaluating it.
//!
//! The library that evaluates a text neither limits how deep it nests nor says which members of a
//! root it reads; both are known from its words.

use super::{CelError, path::Segment};

/// The longest text, in bytes.
const TEXT_MAX: usize = 4 << 10;

/// How deep brackets may nest: the parser of the library needs stack for each.
const BRACKETS_MAX: usize = 24;

/// How many operators a text may have: the tree of the library is as deep as they are many.
const OPERATORS_MAX: usize = 200;

/// The macros that evaluate an expression for each element.
const LOOPS: [&str; 6] = ["all", "exists", "existsOne", "exists_one", "filter", "map"];

/// Names that are not variables.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// A name with the members that follow it, such as `input.items[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain<'a> {
    pub(super) root: &'a str,
    pub(super) members: Vec<Segment>,
    /// Whether the text is nothing else.
    pub(super) is_all: bool,
}

/// What was found in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan<'a> {
    /// Names that no macro binds, in order.
    pub(super) chains: Vec<Chain<'a>>,
    /// The name that the text begins with, the sign after it and the rest, if the rest is one term:
    /// `reserved + input.quantity`.
    pub(super) sum: Option<(&'a str, char, &'a str)>,
    /// How many levels the tree of the text has at most.
    pub(super) depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    /// Whether it has neither escapes nor a prefix.
    Text {
        is_plain: bool,
    },
    Sign(char),
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    at: usize,
}

impl Token<'_> {
    fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    /// Whether a `.` after it selects a member.
    fn ends_a_value(&self) -> bool {
        match self.kind {
            Kind::Name => !WORDS.contains(&self.text),
            Kind::Number | Kind::Text { .. } => true,
            Kind::Sign(sign) => matches!(sign, ')' | ']' | '}'),
        }
    }
}

/// A bracket that is open.
struct Open<'a> {
    closes: char,
    /// Of a macro: the name it binds.
    binds: Option<&'a str>,
}

pub(super) fn scan(text: &str) -> Result<Scan<'_>, CelError> {
    if text.len() > TEXT_MAX {
        return Err(CelError::TooLong(TEXT_MAX));
    }
    let tokens = tokens(text)?;
    let mut found = Scan::default();
    let mut open: Vec<Open<'_>> = Vec::new();
    let (mut operators, mut brackets) = (0, 0);
    let mut next = 0;
    while let Some(token) = tokens.get(next) {
        let before = next.checked_sub(1).and_then(|before| tokens.get(before));
        next += 1;
        match token.kind {
            Kind::Sign(sign @ ('(' | '[' | '{')) => {
                let binds = loop_binds(&tokens[..next], &tokens[next..]);
                open.push(Open {
                    closes: match sign {
                        '(' => ')',
                        '[' => ']',
                        _ => '}',
                    },
                    binds,
                });
                brackets = brackets.max(open.len());
                if open.len() > BRACKETS_MAX {
                    return Err(CelError::TooDeep);
                }
            }
            Kind::Sign(sign @ (')' | ']' | '}')) => {
                if open.pop().is_none_or(|open| open.closes != sign) {
                    return Err(CelError::Syntax(format!("`{sign}` closes nothing")));
                }
            }
            Kind::Sign(',' | ':') | Kind::Number | Kind::Text { .. } => {}
            Kind::Sign(_) => operators += 1,
            Kind::Name => {
                let selects = before.is_some_and(|dot| dot.is('.'))
                    && next
                        .checked_sub(3)
                        .is_some_and(|at| tokens[at].ends_a_value());
                let is_call = tokens.get(next).is_some_and(|after| after.is('('));
                if token.text == "in" {
                    operators += 1;
                }
                if selects || is_call || WORDS.contains(&token.text) {
                    continue;
                }
                if open.iter().any(|open| open.binds == Some(token.text)) {
                    continue;
                }
                let (members, used) = members(&tokens[next..]);
                let is_whole = next == 1 && next + used == tokens.len();
                found.chains.push(Chain {
                    root: token.text,
                    members,
                    is_all: is_whole,
                });
                if used > OPERATORS_MAX {
                    return Err(CelError::TooDeep);
                }
                next += used;
            }
        }
        if operators > OPERATORS_MAX {
            return Err(CelError::TooDeep);
        }
    }
    if let Some(open) = open.last() {
        return Err(CelError::Syntax(format!("`{}` is missing", open.closes)));
    }
    found.sum = sum(text, &tokens);
    found.depth = operators + brackets;
    Ok(found)
}

/// The name that the macro binds whose bracket was just opened, empty if it binds none; none if it
/// is not the bracket of a macro.
fn loop_binds<'a>(until: &[Token<'a>], after: &[Token<'a>]) -> Option<&'a str> {
    let [.., dot, name, bracket] = until else {
        return None;
    };
    let is_loop = bracket.is('(') && dot.is('.') && LOOPS.contains(&name.text);
    is_loop.then(|| match after {
        [bound, comma, ..] if bound.kind == Kind::Name && comma.is(',') => bound.text,
        _ => "",
    })
}

/// The members that follow a name, and how many tokens they are. What is called is not a member.
fn members(tokens: &[Token<'_>]) -> (Vec<Segment>, usize) {
    let (mut members, mut used) = (Vec::new(), 0);
    loop {
        match &tokens[used..] {
            [dot, name, rest @ ..]
                if dot.is('.')
                    && name.kind == Kind::Name
                    && !rest.first().is_some_and(|after| after.is('(')) =>
            {
                members.push(Segment::Field(name.text.into()));
                used += 2;
            }
            [open, index, close, ..] if open.is('[') && close.is(']') => {
                members.push(match index.kind {
                    Kind::Text { is_plain: true } => {
                        Segment::Field(index.text[1..index.text.len() - 1].into())
                    }
                    Kind::Number => match index.text.parse() {
                        Ok(index) => Segment::Element(index),
                        Err(_) => return (members, used),
                    },
                    Kind::Text { is_plain: false } | Kind::Name | Kind::Sign(_) => {
                        return (members, used);
                    }
                });
                used += 3;
            }
            _ => return (members, used),
        }
    }
}

/// `name + term` or `name - term`.
fn sum<'a>(text: &'a str, tokens: &[Token<'a>]) -> Option<(&'a str, char, &'a str)> {
    let [name, sign, first, ..] = tokens else {
        return None;
    };
    let Kind::Sign(sign @ ('+' | '-')) = sign.kind else {
        return None;
    };
    if name.kind != Kind::Name || WORDS.contains(&name.text) {
        return None;
    }
    let mut depth = 0_usize;
    for token in &tokens[2..] {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => depth += 1,
            Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Kind::Sign('.' | ',' | '*' | '/' | '%') => {}
            Kind::Sign(_) if depth == 0 => return None,
            Kind::Name if depth == 0 && token.text == "in" => return None,
            Kind::Sign(_) | Kind::Name | Kind::Number | Kind::Text { .. } => {}
        }
    }
    Some((name.text, sign, text[first.at..].trim_end()))
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, CelError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (kind, length) = token(rest, next)?;
        tokens.push(Token {
            kind,
            text: &rest[..length],
            at,
        });
        at += length;
    }
    Ok(tokens)
}

/// The kind and the length of the token that a text begins with.
fn token(rest: &str, first: char) -> Result<(Kind, usize), CelError> {
    let prefix = rest
        .bytes()
        .take(2)
        .take_while(|byte| b"rRbB".contains(byte))
        .count();
    if rest[prefix..].starts_with(['"', '\'']) {
        let is_raw = rest[..prefix].contains(['r', 'R']);
        let length = quoted(&rest[prefix..], is_raw)?;
        let whole = &rest[prefix..prefix + length];
        let is_plain = prefix == 0
            && !whole.contains('\\')
            && !whole.starts_with("\"\"\"")
            && !whole.starts_with("'''");
        // An empty text begins like one with three quotes.
        return Ok((Kind::Text { is_plain }, prefix + length));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let is_name = |next: char| next.is_ascii_alphanumeric() || next == '_';
        let end = rest.find(|next| !is_name(next)).unwrap_or(rest.len());
        return Ok((Kind::Name, end));
    }
    if first.is_ascii_digit() {
        return Ok((Kind::Number, number(rest)));
    }
    Ok((Kind::Sign(first), first.len_utf8()))
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        let more = bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric());
        from + more.count()
    };
    let mut end = digits(0);
    let digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if bytes.get(end) == Some(&b'.') && digit_at(end + 1) {
        end = digits(end + 1);
    }
    let has_exponent = matches!(bytes[end - 1], b'e' | b'E') && !rest.starts_with("0x");
    if has_exponent && matches!(bytes.get(end), Some(b'+' | b'-')) && digit_at(end + 1) {
        end = digits(end + 1);
    }
    end
}

/// The length of a text in quotes.
fn quoted(rest: &str, is_raw: bool) -> Result<usize, CelError> {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let ends_with = if rest.starts_with(&triple) {
        &*triple
    } else {
        quote
    };
    let mut at = ends_with.len();
    while let Some(next) = rest[at..].chars().next() {
        if rest[at..].starts_with(ends_with) {
            return Ok(at + ends_with.len());
        }
        at += next.len_utf8();
        if next == '\\' && !is_raw {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    Err(CelError::Syntax(format!(
        "a text is not closed with {ends_with}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(text: &str) -> Vec<String> {
        let found = scan(text).expect(text);
        let chains = found.chains.iter();
        chains
            .map(|chain| {
                let members = chain.members.iter().map(|member| match member {
                    Segment::Field(name) => format!(".{name}"),
                    Segment::Element(at) => format!("[{at}]"),
                });
                let all = if chain.is_all { "!" } else { "" };
                format!("{}{}{all}", chain.root, members.collect::<String>())
            })
            .collect()
    }

    #[test]
    fn names_are_found_with_their_members() {
        for (text, expected) in [
            ("input.a", &["input.a!"][..]),
            ("  input . a [ 0 ] [\"b c\"] ", &["input.a[0].b c!"]),
            ("input.a + step.b.c", &["input.a", "step.b.c"]),
            ("input.name.startsWith('x.y')", &["input.name"]),
            ("input.a['it\\'s']", &["input.a"]),
            ("input[input.key]", &["input", "input.key"]),
            ("size(input.items) > 1.5e-3", &["input.items"]),
            ("has(input.a) ? input.a : null", &["input.a", "input.a"]),
            (
                "input.items.map(i, i.price * input.rate)",
                &["input.items", "input.rate"],
            ),
            ("input.items.all(i, j.x > 1)", &["input.items", "j.x"]),
            ("reserved + input.quantity", &["reserved", "input.quantity"]),
            ("'input.a' + r\"step.b\" // error.message", &[]),
            ("'''input.a'''", &[]),
            ("1.5 + .5", &[]),
            ("true && 'a' in input.tags", &["input.tags"]),
            (".input.a", &["input.a"]),
            ("{'a': input.b, c: 1}", &["input.b", "c"]),
            ("''", &[]),
        ] {
            assert_eq!(roots(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sum_with_one_term_is_known() {
        for (text, expected) in [
            (
                "reserved + input.quantity",
                Some(("reserved", '+', "input.quantity")),
            ),
            (
                "reserved - input.a * 2 ",
                Some(("reserved", '-', "input.a * 2")),
            ),
            ("n + (input.a - 1)", Some(("n", '+', "(input.a - 1)"))),
            ("n + max(input.a, 1)", Some(("n", '+', "max(input.a, 1)"))),
            ("n - input.a - input.b", None),
            ("n + input.a > 1", None),
            ("n + input.a ? 1 : 2", None),
            ("n * input.a", None),
            ("n.m + input.a", None),
            ("n + 1 in input.a", None),
            ("input.a + n", None),
        ] {
            assert_eq!(scan(text).expect(text).sum, expected, "{text}");
        }
    }

    #[test]
    fn what_nests_too_deep_or_does_not_close_is_refused() {
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        let long = format!("1{}", "+1".repeat(1_000));
        let not = format!("{}true", "!".repeat(1_000));
        let path = format!("input{}", ".a".repeat(1_000));
        for text in [deep, long, not, path] {
            assert_eq!(scan(&text), Err(CelError::TooDeep), "{text}");
        }
        for text in ["(", "input.a)", "[1)", "'a", "\"", "'''a'", "'\\"] {
            assert!(matches!(scan(text), Err(CelError::Syntax(_))), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_scan_panic(text in "[a-z.()\\[\\]{}'\"\\\\ +*0-9,eErb/\n\u{e9}]{0,60}") {
            let _ = scan(&text);
        }
    }
}
