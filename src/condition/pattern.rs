//! Patterns: their cost is estimated before they are compiled, and each is compiled once.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use regex::{Regex, RegexBuilder};
use regex_automata::{
    Anchored, Input,
    hybrid::dfa::{Cache, Config, DFA},
    nfa::thompson,
};
use regex_syntax::ast::{
    Ast, ClassPerlKind, ClassSet, ClassSetItem, RepetitionKind, RepetitionRange, parse,
};

use super::{
    Operand,
    meter::{Halt, Meter},
    re2,
};

/// The longest text of a pattern, in bytes.
pub(super) const PATTERN_TEXT_MAX: usize = 16 << 10;

/// The maximum estimated size of a compiled pattern, in bytes.
const PATTERN_SIZE_MAX: usize = 1 << 20;

/// The limit when compiling, which is done for both directions; the estimate is for one.
const COMPILED_SIZE_MAX: usize = 4 << 20;

/// The maximum memory of matching a pattern, in bytes.
const SEARCHED_SIZE_MAX: usize = 2 << 20;

/// The maximum estimated size of all patterns of a condition, in bytes. Compiling that much takes
/// less than a tenth of a second.
pub(super) const PATTERNS_SIZE_MAX: usize = 4 << 20;

/// The estimated size of a part of a compiled pattern, in bytes.
const CHARACTER: usize = 40;
const ANY_CHARACTER: usize = 400;
const SMALL_CLASS: usize = 2_000;
const LARGE_CLASS: usize = 16_000;

/// The estimated size of one state of a compiled pattern, in bytes.
const STATE: usize = CHARACTER;

/// The number of states times bytes from which a text is matched byte by byte, so that it can be
/// stopped.
const STEPPED_MIN: usize = 8_000_000;

/// How many bytes are matched between two checks of the meter.
const STEP: usize = 64;

/// A pattern, as it was given and compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) given: Box<str>,
    /// The compiled expression, which covers the whole value.
    source: Box<str>,
    /// The estimated size when compiled, in bytes.
    size: usize,
    compiled: OnceLock<Result<Regex, Box<str>>>,
    /// For matching byte by byte; none if that is not possible.
    stepped: OnceLock<Option<DFA>>,
}

/// The patterns of a condition, and the size left for further ones, in bytes.
#[derive(Debug)]
pub(super) struct Patterns {
    left: usize,
    /// By whether it is for `LIKE`, and its text.
    known: HashMap<(bool, Box<str>), Read>,
}

/// A pattern, or why it is invalid.
type Read = Result<Arc<Pattern>, Box<str>>;

impl Default for Patterns {
    fn default() -> Self {
        Self {
            left: PATTERNS_SIZE_MAX,
            known: HashMap::new(),
        }
    }
}

impl Patterns {
    /// The pattern of an operand, or why it is invalid.
    pub(super) fn read(
        &mut self,
        operand: Operand,
        is_like: bool,
    ) -> Result<Arc<Pattern>, Box<str>> {
        let text = operand.into_text().ok_or("the pattern is missing")?;
        if text.len() > PATTERN_TEXT_MAX {
            return Err(format!("it is longer than {PATTERN_TEXT_MAX} bytes").into());
        }
        let key = (is_like, text);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let read = self.admit(&key.1, is_like);
        self.known.insert(key, read.clone());
        read
    }

    fn admit(&mut self, text: &str, is_like: bool) -> Read {
        // Parsing it takes as much as compiling the same number of plain characters.
        let least = text.len().saturating_mul(CHARACTER);
        let (size, source) = if least > self.left {
            (least, String::new())
        } else if is_like {
            like(text)
        } else {
            read_re2(text).map_err(|reason| {
                self.left -= least;
                Box::<str>::from(reason)
            })?
        };
        if size > PATTERN_SIZE_MAX {
            return Err(format!(
                "it is too large: compiled it would take about {size} bytes, and \
                 {PATTERN_SIZE_MAX} are allowed; repeat fewer classes, or less often"
            )
            .into());
        }
        if size > self.left {
            // The rest is not even parsed.
            self.left = 0;
            return Err(format!(
                "it is too large together with the other patterns of the condition: compiled \
                 they would take more than {PATTERNS_SIZE_MAX} bytes; use fewer or smaller ones"
            )
            .into());
        }
        self.left -= size;
        Ok(Arc::new(Pattern {
            given: text.into(),
            source: source.into(),
            size,
            compiled: OnceLock::new(),
            stepped: OnceLock::new(),
        }))
    }
}

impl Pattern {
    fn compiled(&self) -> Result<&Regex, &str> {
        let compile = || {
            RegexBuilder::new(&self.source)
                .size_limit(COMPILED_SIZE_MAX)
                .dfa_size_limit(SEARCHED_SIZE_MAX)
                .build()
                .map_err(|error| error.to_string().into())
        };
        let compiled = self.compiled.get_or_init(compile);
        compiled.as_ref().map_err(|reason| &**reason)
    }

    /// Compiles it, if it is not compiled yet.
    pub(super) fn check(&self) -> Result<(), &str> {
        self.compiled().map(drop)
    }

    /// How much is left to compile, in bytes.
    pub(super) fn uncompiled(&self) -> usize {
        match self.compiled.get() {
            None => self.size,
            Some(_) => 0,
        }
    }

    /// About how many states are active at once, at most, for each byte.
    pub(super) const fn states(&self) -> usize {
        self.size / STATE + 1
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.compiled().is_ok_and(|regex| regex.is_match(text))
    }

    /// Whether the pattern matches the whole text. Within a long text it stops on request.
    pub(super) fn is_match_within(&self, text: &str, meter: &Meter<'_>) -> Result<bool, Halt> {
        let most = text.len().saturating_mul(self.states());
        if most < STEPPED_MIN {
            meter.spend(self.uncompiled() + text.len() + most / 2)?;
            return Ok(self.is_match(text));
        }
        if let Some(dfa) = self.stepped.get_or_init(|| stepped(&self.source))
            && let Some(matches) = step_through(dfa, text, meter)?
        {
            return Ok(matches);
        }
        meter.spend(most)?;
        Ok(self.is_match(text))
    }
}

fn stepped(source: &str) -> Option<DFA> {
    DFA::builder()
        .configure(
            Config::new()
                .cache_capacity(SEARCHED_SIZE_MAX)
                .skip_cache_capacity_check(true)
                .unicode_word_boundary(true),
        )
        .thompson(thompson::Config::new().nfa_size_limit(Some(COMPILED_SIZE_MAX)))
        .build(source)
        .ok()
}

/// Whether the whole text matches; none if that cannot be decided this way.
fn step_through(dfa: &DFA, text: &str, meter: &Meter<'_>) -> Result<Option<bool>, Halt> {
    let states = dfa.get_nfa().states().len();
    meter.spend(states)?;
    let mut cache = Cache::new(dfa);
    let input = Input::new(text).anchored(Anchored::Yes);
    let Ok(mut state) = dfa.start_state_forward(&mut cache, &input) else {
        return Ok(None);
    };
    for part in text.as_bytes().chunks(STEP) {
        let before = cache.memory_usage();
        for byte in part {
            let Ok(next) = dfa.next_state(&mut cache, state, *byte) else {
                return Ok(None);
            };
            state = next;
            if state.is_quit() {
                return Ok(None);
            }
            // No further byte changes the result.
            if state.is_dead() {
                return Ok(Some(false));
            }
        }
        // A new state is computed from every state of the pattern.
        let is_new = cache.memory_usage() != before;
        meter.spend(part.len() * if is_new { states } else { 1 })?;
    }
    // The pattern ends with the text, so it has matched at the end or not at all.
    Ok(dfa
        .next_eoi_state(&mut cache, state)
        .ok()
        .filter(|state| !state.is_quit())
        .map(|state| state.is_match()))
}

/// The estimated size and the compiled expression of a pattern; the reason if it is invalid.
fn read_re2(text: &str) -> Result<(usize, String), String> {
    let pattern = re2::rewrite(text)?;
    // On its own: the parentheses around it must not be what makes it valid.
    let ast = parse::Parser::new().parse(&pattern);
    let ast = ast.map_err(|error| error.to_string())?;
    let mut whole = format!("^(?:{pattern})$");
    // A comment at its end, which the flag `x` permits, goes on until the end of the line.
    if parse::Parser::new().parse(&whole).is_err() {
        whole = format!("^(?:{pattern}\n)$");
    }
    Ok((weigh(&ast), whole))
}

/// The estimated size of a compiled pattern, in bytes.
fn weigh(ast: &Ast) -> usize {
    let sum = |asts: &[Ast]| {
        asts.iter().fold(CHARACTER, |sum: usize, ast| {
            sum.saturating_add(weigh(ast)).saturating_add(CHARACTER / 2)
        })
    };
    match ast {
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => CHARACTER,
        Ast::Literal(literal) if literal.c.is_ascii() => CHARACTER,
        Ast::Literal(_) => 4 * CHARACTER,
        Ast::Dot(_) => ANY_CHARACTER,
        Ast::ClassUnicode(_) => LARGE_CLASS,
        Ast::ClassPerl(class) => weigh_perl(&class.kind),
        Ast::ClassBracketed(class) => weigh_class(&class.kind).saturating_add(ANY_CHARACTER),
        Ast::Repetition(repetition) => weigh(&repetition.ast)
            .saturating_add(CHARACTER)
            .saturating_mul(times(&repetition.op.kind)),
        Ast::Group(group) => weigh(&group.ast).saturating_add(2 * CHARACTER),
        Ast::Alternation(alternation) => sum(&alternation.asts),
        Ast::Concat(concat) => sum(&concat.asts),
    }
}

const fn weigh_perl(kind: &ClassPerlKind) -> usize {
    match kind {
        ClassPerlKind::Word => LARGE_CLASS,
        ClassPerlKind::Digit | ClassPerlKind::Space => SMALL_CLASS,
    }
}

/// How often a repeated part is compiled.
fn times(kind: &RepetitionKind) -> usize {
    let times = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => 1,
        RepetitionKind::OneOrMore => 2,
        RepetitionKind::Range(
            RepetitionRange::Exactly(times) | RepetitionRange::Bounded(_, times),
        ) => *times,
        RepetitionKind::Range(RepetitionRange::AtLeast(times)) => times.saturating_add(1),
    };
    usize::try_from(times).unwrap_or(usize::MAX).max(1)
}

fn weigh_class(set: &ClassSet) -> usize {
    match set {
        ClassSet::Item(item) => weigh_item(item),
        ClassSet::BinaryOp(op) => weigh_class(&op.lhs).saturating_add(weigh_class(&op.rhs)),
    }
}

fn weigh_item(item: &ClassSetItem) -> usize {
    match item {
        ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) => CHARACTER,
        ClassSetItem::Literal(literal) if literal.c.is_ascii() => CHARACTER,
        ClassSetItem::Range(range) if range.end.c.is_ascii() => CHARACTER,
        ClassSetItem::Literal(_) => 4 * CHARACTER,
        ClassSetItem::Range(_) => ANY_CHARACTER,
        ClassSetItem::Unicode(_) => LARGE_CLASS,
        ClassSetItem::Perl(class) => weigh_perl(&class.kind),
        ClassSetItem::Bracketed(class) => weigh_class(&class.kind),
        ClassSetItem::Union(union) => union
            .items
            .iter()
            .fold(0_usize, |sum, item| sum.saturating_add(weigh_item(item))),
    }
}

/// `%` matches any characters, `_` one, `\` escapes; the whole value, not across lines
/// (`workflow-engine.md` §2.6). Returns the estimated size and the pattern.
fn like(text: &str) -> (usize, String) {
    let (mut size, mut pattern) = (CHARACTER, String::from("^(?-s:"));
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let literal = match char {
            '%' => {
                size += ANY_CHARACTER;
                pattern.push_str(".*");
                continue;
            }
            '_' => {
                size += ANY_CHARACTER;
                pattern.push('.');
                continue;
            }
            '\\' => {
                let escaped = chars.next_if(|next| matches!(next, '%' | '_' | '\\'));
                escaped.unwrap_or(char)
            }
            other => other,
        };
        size += CHARACTER * literal.len_utf8();
        pattern.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
    }
    (size, pattern + ")$")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Arc<Pattern>, Box<str>> {
        Patterns::default().admit(text, false)
    }

    #[test]
    fn patterns_that_people_write_fit() {
        let words: Vec<_> = (0..800).map(|n| format!("word{n}")).collect();
        for (pattern, text) in [
            (r"[A-Z]{2}\d{2}[A-Z0-9]{1,30}", "DE02ABC"),
            (r"[\w.+-]+@[\w-]+\.[\w.-]+", "someone@example.org"),
            (r"(?i)straße|\p{L}{1,64}", "STRASSE"),
            (r"\pL{64}", &"é".repeat(64)),
            (r".{0,255}", "any"),
            (r"(?x) a b # a comment", "ab"),
            (
                r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z",
                "2024-01-02T03:04:05Z",
            ),
            (&words.join("|"), "word799"),
        ] {
            let pattern = read(pattern).expect("fits");
            pattern.check().expect(&pattern.given);
            assert!(pattern.is_match(text), "{}", pattern.given);
        }
    }

    #[test]
    fn what_is_large_is_refused_without_being_compiled() {
        for pattern in [
            r"\pL{1000}",
            r"a{1000}{1000}",
            r"(\p{L}{20}){20}",
            r"((((a{50}){50}){50}){50}){50}",
        ] {
            let why = read(pattern).expect_err("too large");
            assert!(why.contains("too large"), "{why}");
        }
    }

    #[test]
    fn an_estimate_is_not_far_below_what_compiling_takes() {
        for text in [
            r"\w{20}x",
            r"(?i)\p{L}{10}",
            r"\d{100}",
            r"\s{50}",
            r".{200}",
            r"[^a]{100}",
            r"(?i)[a-zé]{50}",
            r"\p{Lu}{20}",
            r"[\w\D]{20}",
            r"(?i)\W{20}",
            r"(?i)abcdefghijk",
            r"(ab|cd|ef){50}",
        ] {
            let pattern = read(text).expect("fits");
            let source = &*pattern.source;
            let nfa = thompson::NFA::new(source).expect("compiles");
            assert!(
                nfa.memory_usage() <= 3 * pattern.size,
                "{text}: {} bytes, {} estimated",
                nfa.memory_usage(),
                pattern.size
            );
        }
    }

    #[test]
    fn the_same_pattern_is_compiled_once() {
        let mut patterns = Patterns::default();
        let mut read = |is_like| {
            let document = crate::entity::Document::parse(r#""a%""#).expect("JSON");
            let operand = Operand::read(document.root()).expect("a scalar");
            patterns.read(operand, is_like).expect("fits")
        };
        let (one, two, other) = (read(true), read(true), read(false));
        assert!(Arc::ptr_eq(&one, &two) && !Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn a_search_in_a_long_text_stops_on_request() {
        let pattern = read(r"(?:\w|\d)*x").expect("fits");
        let text = "ab".repeat(1_000_000);
        let stop = AtomicBool::new(true);
        let halted = pattern.is_match_within(&text, &Meter::new(&stop));
        assert_eq!(halted, Err(Halt::Stopped));
        let stop = AtomicBool::new(false);
        let halted = pattern.is_match_within(&text, &Meter::with_limit(&stop, 100_000));
        assert_eq!(halted, Err(Halt::Limit { limit: 100_000 }));
    }

    proptest! {
        #[test]
        fn byte_by_byte_is_the_same(
            pattern in r"([a-cé]|\[ab\]|\.|\\w|\\b|\(a\|bc\)|[a-c][*+?]|\(\?i:[aB]\)|\n|\^|\$){0,6}",
            text in "[a-cA-Cé\n ]{0,12}",
        ) {
            let Ok(pattern) = read(&pattern) else { return Ok(()) };
            let stop = AtomicBool::new(false);
            if let Some(dfa) = stepped(&pattern.source)
                && let Some(matches) = step_through(&dfa, &text, &Meter::new(&stop)).expect("not stopped")
            {
                prop_assert_eq!(matches, pattern.is_match(&text), "{}", pattern.source);
            }
        }
    }
}
