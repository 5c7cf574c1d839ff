//! A condition in words, for people: diagrams and messages.

use std::fmt::Write as _;

use super::{
    Comparison, Condition, Connective, Function, Leaf, Matcher, Operand, Operator, TextTest,
};
use crate::entity::Number;

/// How much of one operand is shown, in characters.
const OPERAND_MAX: usize = 40;

/// How much of one path is shown, in characters.
const SUBJECT_MAX: usize = 80;

/// Replaces what is omitted.
const MORE: &str = "…";

impl Condition {
    /// For instance `$.total > 100 and (state = "NEW" or …)`: after `length` characters no further
    /// part is begun.
    pub fn in_words(&self, length: usize) -> String {
        let mut words = Words {
            text: String::new(),
            left: length,
        };
        words.condition(self, Nesting::Alone);
        words.text
    }
}

/// The position of a part, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Alone,
    Within(Connective),
}

struct Words {
    text: String,
    /// How many characters may be written before the rest is omitted.
    left: usize,
}

impl Words {
    fn push(&mut self, text: &str) {
        self.left = self.left.saturating_sub(text.chars().count());
        self.text.push_str(text);
    }

    fn condition(&mut self, condition: &Condition, place: Nesting) {
        match condition {
            _ if self.left == 0 => self.push(MORE),
            Condition::Leaf(leaf) => self.push(&leaf.in_words()),
            Condition::Function(function) => self.function(function, place),
            Condition::Group {
                connective,
                children,
            } => self.group(*connective, children, place),
        }
    }

    /// The local condition comes first: if it does not hold, no member is called.
    fn function(&mut self, function: &Function, place: Nesting) {
        let and = Nesting::Within(Connective::And);
        let are_two = function.quick_exit.is_some();
        let in_brackets = are_two && !matches!(place, Nesting::Alone) && place != and;
        if in_brackets {
            self.push("(");
        }
        if let Some(condition) = &function.quick_exit {
            self.condition(condition, and);
            self.push(" and ");
        }
        if function.unknown.is_some() {
            self.push("an unknown test");
        } else {
            self.push("function ");
            self.push(&cut(function.name.as_str(), OPERAND_MAX));
        }
        if in_brackets {
            self.push(")");
        }
    }

    fn group(&mut self, connective: Connective, children: &[Condition], place: Nesting) {
        match (connective, children) {
            (Connective::And | Connective::Not, []) => self.push("always"),
            (Connective::Or, []) => self.push("never"),
            (Connective::And | Connective::Or, [only]) => self.condition(only, place),
            (Connective::Not, _) => {
                self.push("not (");
                // A single part needs no parentheses.
                match children {
                    [only] => self.condition(only, Nesting::Alone),
                    _ => self.joined(" or ", Connective::Or, children),
                }
                self.push(")");
            }
            (Connective::And, _) => self.bracketed(" and ", connective, children, place),
            (Connective::Or, _) => self.bracketed(" or ", connective, children, place),
        }
    }

    fn bracketed(
        &mut self,
        word: &str,
        connective: Connective,
        children: &[Condition],
        place: Nesting,
    ) {
        let needed = !matches!(place, Nesting::Alone) && place != Nesting::Within(connective);
        if needed {
            self.push("(");
        }
        self.joined(word, connective, children);
        if needed {
            self.push(")");
        }
    }

    fn joined(&mut self, word: &str, connective: Connective, children: &[Condition]) {
        for (at, child) in children.iter().enumerate() {
            let is_cut = self.left == 0;
            if is_cut && self.text.ends_with(MORE) {
                return;
            }
            if at > 0 {
                self.push(word);
            }
            if is_cut {
                return self.push(MORE);
            }
            self.condition(child, Nesting::Within(connective));
        }
    }
}

impl Leaf {
    fn in_words(&self) -> String {
        let subject = cut(&self.subject.to_string(), SUBJECT_MAX);
        match &self.matcher {
            Matcher::Changed { negated: false } => format!("{subject} has changed"),
            Matcher::Changed { negated: true } => format!("{subject} has not changed"),
            Matcher::IsNull => format!("{subject} is null"),
            Matcher::NotNull => format!("{subject} is not null"),
            Matcher::Compare(comparison, operand) => {
                format!("{subject} {} {}", comparison.sign(), value(operand))
            }
            Matcher::Between {
                low,
                high,
                inclusive,
            } => {
                let sign = if *inclusive { "≤" } else { "<" };
                format!("{} {sign} {subject} {sign} {}", value(low), value(high))
            }
            Matcher::In { any, negated } => {
                let word = if *negated { "not in" } else { "in" };
                format!("{subject} {word} {}", list(any))
            }
            Matcher::Text {
                test,
                fold,
                negated,
                operand,
            } => {
                let operand = operand.as_deref().map_or_else(|| "null".to_owned(), quoted);
                let case = if *fold { " in any case" } else { "" };
                format!("{subject} {} {operand}{case}", test.verb(*negated))
            }
            Matcher::Pattern(pattern) => {
                let verb = if self.operator == Operator::Like {
                    "is like"
                } else {
                    "matches"
                };
                format!("{subject} {verb} {}", quoted(&pattern.given))
            }
            Matcher::BadPattern(_) => format!("{subject} matches no pattern"),
        }
    }
}

impl Comparison {
    const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "≠",
            Self::Less => "<",
            Self::LessOrEqual => "≤",
            Self::Greater => ">",
            Self::GreaterOrEqual => "≥",
        }
    }
}

impl TextTest {
    const fn verb(self, negated: bool) -> &'static str {
        match (self, negated) {
            (Self::Equals, false) => "=",
            (Self::Equals, true) => "≠",
            (Self::Contains, false) => "contains",
            (Self::Contains, true) => "does not contain",
            (Self::StartsWith, false) => "starts with",
            (Self::StartsWith, true) => "does not start with",
            (Self::EndsWith, false) => "ends with",
            (Self::EndsWith, true) => "does not end with",
        }
    }
}

fn list(operands: &[Operand]) -> String {
    let mut text = String::from("[");
    for (at, operand) in operands.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        if text.chars().count() > OPERAND_MAX {
            text.push_str(MORE);
            break;
        }
        let _ = write!(text, "{}", value(operand));
    }
    text + "]"
}

/// Numbers and booleans are unquoted, and so is text that reads as one: it means the same.
fn value(operand: &Operand) -> String {
    match operand.text() {
        None => "null".to_owned(),
        Some(text) if matches!(text, "true" | "false") || Number::parse(text).is_some() => {
            cut(text, OPERAND_MAX)
        }
        Some(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(cut(text, OPERAND_MAX)).to_string()
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((at, _)) => format!("{}{MORE}", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(condition: &str, length: usize) -> String {
        Condition::parse_criterion(condition)
            .expect(condition)
            .in_words(length)
    }

    #[test]
    fn leaves_read_as_sentences() {
        for (operator, value, expected) in [
            ("EQUALS", "\"NEW\"", "$.a = \"NEW\""),
            ("NOT_EQUAL", "true", "$.a ≠ true"),
            ("GREATER_THAN", "100", "$.a > 100"),
            ("LESS_OR_EQUAL", "\"1.50\"", "$.a ≤ 1.50"),
            ("EQUALS", "null", "$.a = null"),
            ("BETWEEN", "[1,5]", "1 < $.a < 5"),
            ("BETWEEN_INCLUSIVE", "[\"a\",\"b\"]", "\"a\" ≤ $.a ≤ \"b\""),
            ("IN", "[1,\"x\"]", "$.a in [1, \"x\"]"),
            ("NOT_IN", "[]", "$.a not in []"),
            ("IS_NULL", "0", "$.a is null"),
            ("IS_CHANGED", "0", "$.a has changed"),
            ("IS_UNCHANGED", "0", "$.a has not changed"),
            ("NOT_NULL", "0", "$.a is not null"),
            ("NOT_CONTAINS", "\"x\"", "$.a does not contain \"x\""),
            ("IENDS_WITH", "\"X\"", "$.a ends with \"x\" in any case"),
            ("INOT_EQUAL", "\"X\"", "$.a ≠ \"x\" in any case"),
            ("LIKE", "\"a%\"", "$.a is like \"a%\""),
            ("MATCHES_PATTERN", "\"a|b\\n\"", "$.a matches \"a|b\\n\""),
            ("LIKE", "null", "$.a matches no pattern"),
        ] {
            let condition = format!(
                r#"{{"type":"simple","jsonPath":"$.a","operatorType":"{operator}","value":{value}}}"#
            );
            assert_eq!(words(&condition, 100), expected);
        }
        let long = format!(
            r#"{{"type":"simple","jsonPath":"$.a","operatorType":"EQUALS","value":"{}"}}"#,
            "é".repeat(41)
        );
        assert_eq!(words(&long, 1), format!("$.a = \"{}…\"", "é".repeat(40)));
        let many = format!(
            r#"{{"type":"simple","jsonPath":"$.a","operatorType":"IN","value":[{}1]}}"#,
            "1000,".repeat(50)
        );
        assert!(words(&many, 1).ends_with("1000, …]"), "{}", words(&many, 1));
    }

    #[test]
    fn groups_are_bracketed_where_it_matters_and_cut_where_they_are_long() {
        let leaf = |name: &str| {
            format!(
                r#"{{"type":"lifecycle","field":"{name}","operatorType":"EQUALS","value":"x"}}"#
            )
        };
        let group = |operator: &str, children: &[String]| {
            format!(
                r#"{{"type":"group","operator":"{operator}","conditions":[{}]}}"#,
                children.join(",")
            )
        };
        let (state, id) = (leaf("state"), leaf("id"));
        let both = [state.clone(), id.clone()];
        let (all, any, none) = (group("AND", &both), group("OR", &both), group("NOT", &both));
        let asks = r#"{"type":"function","function":{"name":"f"}}"#.to_owned();
        let asks_first =
            format!(r#"{{"type":"function","function":{{"name":"f","criterion":{state}}}}}"#);
        for (condition, length, expected) in [
            (&all, 100, r#"state = "x" and id = "x""#),
            (&none, 100, r#"not (state = "x" or id = "x")"#),
            (
                &group("NOT", std::slice::from_ref(&all)),
                100,
                r#"not (state = "x" and id = "x")"#,
            ),
            (
                &group("AND", &[state.clone(), any.clone()]),
                100,
                r#"state = "x" and (state = "x" or id = "x")"#,
            ),
            (
                &group("AND", &[state.clone(), any.clone()]),
                25,
                r#"state = "x" and (state = "x" or …)"#,
            ),
            (
                &group("AND", &[state.clone(), all.clone()]),
                100,
                r#"state = "x" and state = "x" and id = "x""#,
            ),
            (
                &group("OR", &[any.clone(), all.clone()]),
                5,
                r#"state = "x" or …"#,
            ),
            (
                &group("AND", std::slice::from_ref(&none)),
                100,
                r#"not (state = "x" or id = "x")"#,
            ),
            (&asks, 100, "function f"),
            (
                &group("OR", &[asks_first.clone(), state.clone()]),
                100,
                r#"(state = "x" and function f) or state = "x""#,
            ),
            (
                &group("AND", &[asks_first.clone(), asks.clone()]),
                100,
                r#"state = "x" and function f and function f"#,
            ),
            (&asks_first, 1, r#"state = "x" and function f"#),
            (&group("AND", &[]), 100, "always"),
            (&group("OR", &[]), 100, "never"),
        ] {
            assert_eq!(words(condition, length), expected);
        }
    }
}
