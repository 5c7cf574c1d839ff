//! A condition from its JSON (`workflow-engine.md` §2.1, `search.md` §1).

use regex::{Regex, RegexBuilder};

use super::{
    Condition, Connective, Error, GROUP_DEPTH_MAX, Leaf, LifecycleField, Matcher, Operand,
    Operator, Subject, operator::Family,
};
use crate::entity::{Document, DocumentError, Path, Shape, Value};

/// The most memory a compiled pattern may take, in bytes.
const PATTERN_SIZE_MAX: usize = 1 << 20;

/// The members that may name the operator; the first that is not empty counts.
const OPERATOR_MEMBERS: [&str; 3] = ["operatorType", "operator", "operation"];

impl Condition {
    /// Parses the JSON form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let document = Document::parse(text).map_err(|error| {
            if error == DocumentError::TooDeep {
                too_deep()
            } else {
                Error::Syntax(error.to_string())
            }
        })?;
        let mut parser = Parser { leaves: 0 };
        parser.condition(document.root(), 1)
    }
}

fn too_deep() -> Error {
    Error::Syntax(format!("groups nest deeper than {GROUP_DEPTH_MAX} levels"))
}

struct Parser {
    leaves: u32,
}

impl Parser {
    fn condition(&mut self, value: Value<'_>, depth: usize) -> Result<Condition, Error> {
        if !value.is_object() {
            return Err(Error::Syntax(
                "a condition is an object with a member `type`".to_owned(),
            ));
        }
        match text_member(value, "type")?.as_deref() {
            Some("simple") => self.leaf(value, field_subject(value)?),
            Some("lifecycle") => self.leaf(value, lifecycle_subject(value)?),
            Some("group") => self.group(value, depth),
            Some("array" | "function") => Err(Error::Syntax(
                "conditions of type `array` and `function` are not supported yet; use `simple`, `lifecycle` or `group`".to_owned(),
            )),
            Some(other) => Err(Error::Syntax(format!("unknown condition type `{other}`; known are simple, lifecycle, group"))),
            None => Err(Error::Syntax("a condition has no `type`; known are simple, lifecycle, group".to_owned())),
        }
    }

    fn group(&mut self, value: Value<'_>, depth: usize) -> Result<Condition, Error> {
        if depth > GROUP_DEPTH_MAX {
            return Err(too_deep());
        }
        let operator = text_member(value, "operator")?.unwrap_or_default();
        let connective = match operator.to_ascii_uppercase().as_str() {
            "AND" => Connective::And,
            "OR" => Connective::Or,
            "NOT" => Connective::Not,
            _ => {
                return Err(Error::Syntax(format!(
                    "unknown group operator `{operator}`; known are AND, OR, NOT"
                )));
            }
        };
        let children = match value.member("conditions").map(Value::shape) {
            Some(Shape::Array(children)) => children
                .map(|child| self.condition(child, depth + 1))
                .collect::<Result<_, _>>()?,
            Some(_) => {
                return Err(Error::Syntax(
                    "`conditions` of a group is a list".to_owned(),
                ));
            }
            None => Vec::new(),
        };
        Ok(Condition::Group {
            connective,
            children,
        })
    }

    fn leaf(&mut self, value: Value<'_>, subject: Subject) -> Result<Condition, Error> {
        let operator = operator(value)?;
        let matcher = matcher(operator, value.member("value"), &subject)?;
        let index = self.leaves;
        self.leaves += 1;
        Ok(Condition::Leaf(Leaf {
            index,
            subject,
            operator,
            matcher,
        }))
    }
}

fn text_member(value: Value<'_>, name: &str) -> Result<Option<String>, Error> {
    match value.member(name).map(Value::shape) {
        None | Some(Shape::Null) => Ok(None),
        Some(Shape::String(text)) => Ok(Some(text.into_owned())),
        Some(_) => Err(Error::Syntax(format!("`{name}` of a condition is a text"))),
    }
}

fn field_subject(value: Value<'_>) -> Result<Subject, Error> {
    let given = text_member(value, "jsonPath")?
        .ok_or_else(|| Error::Syntax("a simple condition has a `jsonPath`".to_owned()))?;
    let path = Path::parse(&given).map_err(|error| Error::Path(error.to_string()))?;
    let also = if given.starts_with('$') {
        None
    } else {
        path.single().and_then(simple_lifecycle)
    };
    Ok(match also {
        Some(field) => Subject::Either(path, field),
        None => Subject::Field(path),
    })
}

/// The fields that a simple condition may name without `$` (`search.md` §3).
fn simple_lifecycle(name: &str) -> Option<LifecycleField> {
    matches!(
        name,
        "state" | "previousTransition" | "creationDate" | "lastUpdateTime"
    )
    .then(|| LifecycleField::from_name(name))
    .flatten()
}

fn lifecycle_subject(value: Value<'_>) -> Result<Subject, Error> {
    let name = text_member(value, "field")?.unwrap_or_default();
    LifecycleField::from_name(&name)
        .map(Subject::Lifecycle)
        .ok_or_else(|| {
            let known: Vec<_> = LifecycleField::ALL
                .iter()
                .map(|field| field.as_str())
                .collect();
            Error::Path(format!(
                "unknown lifecycle field `{name}`; known are {}",
                known.join(", ")
            ))
        })
}

fn operator(value: Value<'_>) -> Result<Operator, Error> {
    for member in OPERATOR_MEMBERS {
        if let Some(given) = text_member(value, member)?.filter(|given| !given.is_empty()) {
            return Operator::from_name(&given).ok_or(Error::Operator { given });
        }
    }
    Err(Error::Operator {
        given: String::new(),
    })
}

fn matcher(
    operator: Operator,
    operand: Option<Value<'_>>,
    subject: &Subject,
) -> Result<Matcher, Error> {
    let object = || {
        Error::Operand(format!(
            "the operand of {} for {subject} cannot be an object or a list",
            operator.as_str()
        ))
    };
    let scalar = |value: Option<Value<'_>>| {
        value.map_or(Ok(Operand::NULL), |value| {
            Operand::read(value).ok_or_else(object)
        })
    };
    Ok(match operator.family() {
        Family::IsNull => Matcher::IsNull,
        Family::NotNull => Matcher::NotNull,
        Family::Compare(comparison) => Matcher::Compare(comparison, scalar(operand)?),
        Family::Between { inclusive } => {
            let Some(Shape::Array(bounds)) = operand.map(Value::shape) else {
                return Err(bounds_error(operator, subject));
            };
            let [low, high] = bounds.collect::<Vec<_>>()[..] else {
                return Err(bounds_error(operator, subject));
            };
            Matcher::Between {
                low: scalar(Some(low))?,
                high: scalar(Some(high))?,
                inclusive,
            }
        }
        Family::In { negated } => {
            let Some(Shape::Array(elements)) = operand.map(Value::shape) else {
                return Err(Error::Syntax(format!(
                    "{} for {subject} takes a list",
                    operator.as_str()
                )));
            };
            Matcher::In {
                any: elements
                    .map(|element| scalar(Some(element)))
                    .collect::<Result<_, _>>()?,
                negated,
            }
        }
        Family::Text {
            test,
            fold,
            negated,
        } => Matcher::Text {
            test,
            fold,
            negated,
            operand: scalar(operand)?.into_text().map(|text| {
                if fold {
                    text.to_lowercase().into()
                } else {
                    text
                }
            }),
        },
        Family::Like => pattern(scalar(operand)?, like),
        Family::Pattern => pattern(scalar(operand)?, |text| format!("^(?:{text})$")),
    })
}

fn bounds_error(operator: Operator, subject: &Subject) -> Error {
    Error::Syntax(format!(
        "{} for {subject} takes a list of exactly two values",
        operator.as_str()
    ))
}

fn pattern(operand: Operand, to_regex: impl FnOnce(&str) -> String) -> Matcher {
    let Some(text) = operand.into_text() else {
        return Matcher::BadPattern("there is none".into());
    };
    match compile(&to_regex(&text)) {
        Ok(regex) => Matcher::Pattern(regex),
        Err(error) => Matcher::BadPattern(error.to_string().into()),
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_SIZE_MAX)
        .dfa_size_limit(PATTERN_SIZE_MAX)
        .build()
}

/// `%` any run, `_` one character, `\` escapes; whole value, never across lines
/// (`workflow-engine.md` §2.6).
fn like(text: &str) -> String {
    let mut pattern = String::from("^(?-s:");
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '%' => pattern.push_str(".*"),
            '_' => pattern.push('.'),
            '\\' => pattern.push_str(&regex::escape(
                chars.next().unwrap_or('\\').encode_utf8(&mut [0; 4]),
            )),
            other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern + ")$"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, Coded as _};

    #[test]
    fn what_is_no_condition_is_refused_with_its_code() {
        let deep = |levels: usize| {
            format!(
                "{}{}",
                r#"{"type":"group","operator":"AND","conditions":["#.repeat(levels),
                "]}".repeat(levels)
            )
        };
        assert!(Condition::parse(&deep(GROUP_DEPTH_MAX)).is_ok());
        for (text, code) in [
            ("", Code::BadRequest),
            ("[]", Code::BadRequest),
            ("{}", Code::BadRequest),
            (r#"{"type":"Simple"}"#, Code::BadRequest),
            (r#"{"type":"simple"}"#, Code::BadRequest),
            (r#"{"type":"simple","jsonPath":"$.a"}"#, Code::BadRequest),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"equals","value":1}"#,
                Code::BadRequest,
            ),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"BETWEEN","value":[1]}"#,
                Code::BadRequest,
            ),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"IN","value":1}"#,
                Code::BadRequest,
            ),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"EQUALS","value":{}}"#,
                Code::InvalidCondition,
            ),
            (
                r#"{"type":"simple","jsonPath":"$..a","operatorType":"EQUALS","value":1}"#,
                Code::InvalidFieldPath,
            ),
            (
                r#"{"type":"lifecycle","field":"colour","operatorType":"EQUALS","value":1}"#,
                Code::InvalidFieldPath,
            ),
            (
                r#"{"type":"group","operator":"XOR","conditions":[]}"#,
                Code::BadRequest,
            ),
            (&deep(GROUP_DEPTH_MAX + 1), Code::BadRequest),
            (&deep(10_000), Code::BadRequest),
        ] {
            let error = Condition::parse(text)
                .err()
                .unwrap_or_else(|| panic!("{text} was taken"));
            assert_eq!(error.code(), code, "{text}: {error}");
        }
    }

    #[test]
    fn bad_patterns_are_found_and_large_ones_are_bad() {
        for pattern in ["(", "a{1000}{1000}", "(?=x)", r"(a)\\1"] {
            let text = format!(
                r#"{{"type":"simple","jsonPath":"$.a","operatorType":"MATCHES_PATTERN","value":"{pattern}"}}"#
            );
            let condition = Condition::parse(&text).expect(&text);
            assert_eq!(
                condition.check_patterns().err().map(|error| error.code()),
                Some(Code::InvalidCondition),
                "{pattern}"
            );
        }
    }
}
