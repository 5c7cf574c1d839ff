//! Parses a condition from its JSON (`workflow-engine.md` §2.1, `search.md` §1).

use std::sync::Arc;

use super::{
    Condition, Connective, Error, Function, GROUP_DEPTH_MAX, Leaf, LifecycleField, Matcher,
    Operand, Operator, Subject,
    list::List,
    operator::Family,
    pattern::{Pattern, Patterns},
};
use crate::dispatch::{CallSettings, Given};
use crate::entity::{Document, DocumentError, Path, Shape, Value};

/// The maximum number of leaves of a condition, where each element of a list counts as one.
const LEAVES_MAX: usize = 100_000;

/// The members that may name the operator; the first that is not empty is used.
const OPERATOR_MEMBERS: [&str; 3] = ["operatorType", "operator", "operation"];

/// The purpose of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A search: no member is called, and there is no previous version.
    Search,
    /// A deletion: a search in which nothing is left out.
    Deletion,
    Criterion,
    /// A criterion in which an unknown test fails only the run that reaches it.
    CriterionOrUnknown,
}

impl Use {
    /// Whether a condition selects entities, instead of letting a transition pass.
    const fn selects(self) -> bool {
        matches!(self, Self::Search | Self::Deletion)
    }
}

impl Condition {
    /// Parses the JSON form of a search condition.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_for(Use::Search, text)
    }

    /// Parses the condition of a deletion. Unlike in a search, `conditions` and `value` must not be
    /// left out: a member with a misspelled name would delete entities that it was meant to keep.
    pub fn parse_deletion(text: &str) -> Result<Self, Error> {
        Self::parse_for(Use::Deletion, text)
    }

    /// Parses the JSON form of a workflow criterion, which may also call members and compare with
    /// the previous version.
    pub fn parse_criterion(text: &str) -> Result<Self, Error> {
        Self::parse_for(Use::Criterion, text)
    }

    /// Parses the JSON form of a workflow criterion, and keeps unknown types and operators: a run
    /// that reaches them fails ([`Function::unknown`]).
    pub fn parse_criterion_or_unknown(text: &str) -> Result<Self, Error> {
        Self::parse_for(Use::CriterionOrUnknown, text)
    }

    fn parse_for(purpose: Use, text: &str) -> Result<Self, Error> {
        let document = Document::parse(text).map_err(|error| {
            if error == DocumentError::TooDeep {
                too_deep()
            } else {
                Error::Syntax(error.to_string())
            }
        })?;
        let mut parser = Parser {
            purpose,
            leaves: 0,
            counted: 0,
            patterns: Patterns::default(),
        };
        parser.condition(document.root(), 1)
    }
}

fn too_deep() -> Error {
    Error::Syntax(format!(
        "groups nest deeper than {GROUP_DEPTH_MAX} levels; nest them less"
    ))
}

struct Parser {
    purpose: Use,
    leaves: u32,
    /// The leaves, and the elements of their lists.
    counted: usize,
    patterns: Patterns,
}

const KNOWN: &str = "simple, lifecycle, group, array, function";

impl Parser {
    fn condition(&mut self, value: Value<'_>, depth: usize) -> Result<Condition, Error> {
        match self.known_condition(value, depth) {
            Err(error @ (Error::Unknown { .. } | Error::Operator { .. }))
                if self.purpose == Use::CriterionOrUnknown =>
            {
                Ok(self.unknown(&error))
            }
            parsed => parsed,
        }
    }

    fn unknown(&mut self, error: &Error) -> Condition {
        let index = self.leaves;
        self.leaves += 1;
        Condition::Function(Box::new(Function {
            index,
            name: "".into(),
            call: CallSettings::default(),
            quick_exit: None,
            unknown: Some(error.to_string().into()),
        }))
    }

    fn known_condition(&mut self, value: Value<'_>, depth: usize) -> Result<Condition, Error> {
        if !value.is_object() {
            return Err(Error::Syntax(
                "a condition must be an object with a member `type`".to_owned(),
            ));
        }
        match text_member(value, "type")?.as_deref() {
            Some("simple") => {
                let subject = field_subject(value)?;
                self.leaf(self.operator(value)?, value.member("value"), subject)
                    .map(Condition::Leaf)
            }
            Some("lifecycle") => {
                let subject = lifecycle_subject(value)?;
                self.leaf(self.operator(value)?, value.member("value"), subject)
                    .map(Condition::Leaf)
            }
            Some("group") => self.group(value, depth),
            Some("array") => self.array(value),
            Some("function") if self.purpose.selects() => Err(Error::Function),
            Some("function") => self.function(value, depth),
            Some(other) => Err(Error::Unknown {
                what: "condition type",
                given: other.to_owned(),
                known: KNOWN,
            }),
            None => Err(Error::Syntax(format!(
                "a condition has no `type`; known are {KNOWN}"
            ))),
        }
    }

    /// `workflow-engine.md` §2.8: both shapes are groups of simple conditions.
    fn array(&mut self, value: Value<'_>) -> Result<Condition, Error> {
        let list = |name: &str| match value.member(name).map(Value::shape) {
            None | Some(Shape::Null) => Ok(None),
            Some(Shape::Array(elements)) => Ok(Some(elements)),
            Some(_) => Err(Error::Syntax(format!(
                "`{name}` of an array condition must be a list"
            ))),
        };
        if let Some(values) = list("values")? {
            let path = text_member(value, "jsonPath")?.unwrap_or_default();
            let path = path.strip_suffix("[*]").unwrap_or(&path);
            let mut children = Vec::new();
            for (index, value) in values.enumerate().filter(|(_, value)| !value.is_null()) {
                let path = Path::parse(&format!("{path}[{index}]"))
                    .map_err(|error| Error::Path(error.to_string()))?;
                children.push(self.element(Operator::Equals, Some(value), Subject::Field(path))?);
            }
            return Ok(Condition::Group {
                connective: Connective::And,
                children,
            });
        }
        let operator = self.given_operator(value)?.unwrap_or(Operator::Equals);
        let subject = field_subject(value)?;
        let takes_all = matches!(
            operator.family(),
            Family::IsNull | Family::NotNull | Family::Between { .. } | Family::In { .. }
        );
        if takes_all {
            return self.element(operator, value.member("value"), subject);
        }
        let operands = list("value")?.ok_or_else(|| {
            Error::Syntax("an array condition needs `values` or a list as `value`".to_owned())
        })?;
        let children = operands
            .map(|operand| self.element(operator, Some(operand), subject.clone()))
            .collect::<Result<_, _>>()?;
        Ok(Condition::Group {
            connective: if operator.is_negative() {
                Connective::And
            } else {
                Connective::Or
            },
            children,
        })
    }

    /// `workflow-engine.md` §2.9.
    fn function(&mut self, value: Value<'_>, depth: usize) -> Result<Condition, Error> {
        if depth > GROUP_DEPTH_MAX {
            return Err(too_deep());
        }
        let function = value.member("function").filter(|value| value.is_object());
        let name = match function {
            Some(function) => text_member(function, "name")?,
            None => None,
        };
        let (Some(function), Some(name)) = (function, name.filter(|name| !name.is_empty())) else {
            return Err(Error::Syntax(
                "a function condition needs a `function` with a `name`".to_owned(),
            ));
        };
        let index = self.leaves;
        self.leaves += 1;
        let quick_exit = match function.member("criterion") {
            Some(criterion) if !is_empty(criterion) => Some(self.condition(criterion, depth + 1)?),
            _ => None,
        };
        let call = match function.member("config") {
            Some(config) => self.call(config)?,
            None => CallSettings::default(),
        };
        Ok(Condition::Function(Box::new(Function {
            index,
            name: name.into(),
            call,
            quick_exit,
            unknown: None,
        })))
    }

    /// The settings of a call to a function.
    fn call(&self, config: Value<'_>) -> Result<CallSettings, Error> {
        let text = |name| text_member(config, name);
        let (tags, retry, context) = (
            text("calculationNodesTags")?,
            text("retryPolicy")?,
            text("context")?,
        );
        let attach_entity = self.setting(config, "attachEntity", "true or false", |value| {
            if let Shape::Bool(attach) = value {
                Some(attach)
            } else {
                None
            }
        })?;
        let whole = "a whole number, such as 5000";
        let response_timeout_ms = self.setting(config, "responseTimeoutMs", whole, |value| {
            if let Shape::Number(literal) = value {
                literal.parse().ok()
            } else {
                None
            }
        })?;
        let given = Given {
            attach_entity,
            tags: tags.as_deref(),
            response_timeout_ms,
            retry_policy: retry.as_deref(),
            context: context.as_deref(),
        };
        Ok(given.settings())
    }

    /// A setting of a call, which must be what `read` takes.
    fn setting<T>(
        &self,
        config: Value<'_>,
        name: &str,
        what: &str,
        read: impl FnOnce(Shape<'_>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let value = match config.member(name).map(Value::shape) {
            None | Some(Shape::Null) => return Ok(None),
            Some(value) => read(value),
        };
        // The profile of cyoda does not check it, and what earlier releases stored must load.
        if value.is_none() && self.purpose == Use::Criterion {
            return Err(Error::Syntax(format!(
                "`{name}` of a function must be {what}"
            )));
        }
        Ok(value)
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
                return Err(Error::Unknown {
                    what: "group operator",
                    given: operator,
                    known: "AND, OR, NOT",
                });
            }
        };
        let children = match value.member("conditions").map(Value::shape) {
            Some(Shape::Array(children)) => children
                .map(|child| self.condition(child, depth + 1))
                .collect::<Result<_, _>>()?,
            None | Some(Shape::Null) if self.purpose == Use::Deletion => {
                return Err(Error::Syntax(
                    "a group has no `conditions`; an empty list in `AND` selects everything"
                        .to_owned(),
                ));
            }
            None | Some(Shape::Null) => Vec::new(),
            Some(_) => {
                return Err(Error::Syntax(
                    "`conditions` of a group must be a list".to_owned(),
                ));
            }
        };
        Ok(Condition::Group {
            connective,
            children,
        })
    }

    /// A test of an `array` condition.
    fn element(
        &mut self,
        operator: Operator,
        operand: Option<Value<'_>>,
        subject: Subject,
    ) -> Result<Condition, Error> {
        let leaf = self.leaf(operator, operand, subject)?;
        Ok(Condition::Leaf(Leaf {
            is_of_array: true,
            ..leaf
        }))
    }

    fn leaf(
        &mut self,
        operator: Operator,
        operand: Option<Value<'_>>,
        subject: Subject,
    ) -> Result<Leaf, Error> {
        self.counted += match operand.map(Value::shape) {
            Some(Shape::Array(elements)) => elements.count().max(1),
            _ => 1,
        };
        if self.counted > LEAVES_MAX {
            return Err(Error::Syntax(format!(
                "a condition may have at most {LEAVES_MAX} tests and list elements"
            )));
        }
        let is_alone = matches!(
            operator.family(),
            Family::IsNull | Family::NotNull | Family::Changed { .. }
        );
        if operand.is_none() && !is_alone && self.purpose == Use::Deletion {
            return Err(Error::Syntax(format!(
                "a test with `{}` has no `value`",
                operator.as_str()
            )));
        }
        let matcher = matcher(operator, operand, &subject, &mut self.patterns)?;
        if matches!(matcher, Matcher::Changed { .. })
            && (self.purpose.selects() || !matches!(subject, Subject::Field(_)))
        {
            return Err(Error::Changed {
                operator: operator.as_str(),
            });
        }
        let index = self.leaves;
        self.leaves += 1;
        Ok(Leaf {
            index,
            subject,
            operator,
            operand: operand.map(|operand| operand.json().into()),
            is_of_array: false,
            matcher,
        })
    }

    fn operator(&self, value: Value<'_>) -> Result<Operator, Error> {
        let given = self.given_operator(value)?;
        given.ok_or_else(|| self.unknown_operator(String::new()))
    }

    fn given_operator(&self, value: Value<'_>) -> Result<Option<Operator>, Error> {
        for member in OPERATOR_MEMBERS {
            if let Some(given) = text_member(value, member)?.filter(|given| !given.is_empty()) {
                let operator = Operator::from_name(&given);
                return operator
                    .map(Some)
                    .ok_or_else(|| self.unknown_operator(given));
            }
        }
        Ok(None)
    }

    fn unknown_operator(&self, given: String) -> Error {
        let known = if self.purpose.selects() {
            Operator::names_in_searches()
        } else {
            Operator::names()
        };
        Error::Operator { given, known }
    }
}

fn text_member(value: Value<'_>, name: &str) -> Result<Option<String>, Error> {
    match value.member(name).map(Value::shape) {
        None | Some(Shape::Null) => Ok(None),
        Some(Shape::String(text)) => Ok(Some(text.into_owned())),
        Some(_) => Err(Error::Syntax(format!(
            "`{name}` of a condition must be a string"
        ))),
    }
}

fn field_subject(value: Value<'_>) -> Result<Subject, Error> {
    let given = text_member(value, "jsonPath")?
        .ok_or_else(|| Error::Syntax("a simple condition needs a `jsonPath`".to_owned()))?;
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

/// The metadata fields that a simple condition may name without `$` (`search.md` §3).
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

/// Whether the value counts as absent.
fn is_empty(value: Value<'_>) -> bool {
    match value.shape() {
        Shape::Null => true,
        Shape::Object(mut members) => members.next().is_none(),
        Shape::Bool(_) | Shape::Number(_) | Shape::String(_) | Shape::Array(_) => false,
    }
}

fn matcher(
    operator: Operator,
    operand: Option<Value<'_>>,
    subject: &Subject,
    patterns: &mut Patterns,
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
        Family::Changed { negated } => Matcher::Changed { negated },
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
                    "{} for {subject} needs a list",
                    operator.as_str()
                )));
            };
            let any = elements.map(|element| scalar(Some(element)));
            Matcher::In {
                any: List::new(any.collect::<Result<_, _>>()?),
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
            operand: scalar(operand)?
                .into_text()
                .map(|text| test.operand(text, fold)),
        },
        Family::Like => pattern(patterns.read(scalar(operand)?, true)),
        Family::Pattern => pattern(patterns.read(scalar(operand)?, false)),
    })
}

fn pattern(read: Result<Arc<Pattern>, Box<str>>) -> Matcher {
    read.map_or_else(Matcher::BadPattern, Matcher::Pattern)
}

fn bounds_error(operator: Operator, subject: &Subject) -> Error {
    Error::Syntax(format!(
        "{} for {subject} needs a list of exactly two values",
        operator.as_str()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::pattern::PATTERN_TEXT_MAX;
    use crate::error::{Code, Coded as _};

    #[test]
    fn the_condition_of_a_deletion_leaves_nothing_out() {
        for (text, is_whole) in [
            (r#"{"type":"group","operator":"AND"}"#, false),
            (
                r#"{"type":"group","operator":"AND","conditions":null}"#,
                false,
            ),
            (r#"{"type":"group","operator":"AND","conditons":[]}"#, false),
            (r#"{"type":"group","operator":"AND","conditions":[]}"#, true),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"EQUALS","vlaue":1}"#,
                false,
            ),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"EQUALS","value":null}"#,
                true,
            ),
            (
                r#"{"type":"simple","jsonPath":"$.a","operatorType":"IS_NULL"}"#,
                true,
            ),
        ] {
            assert!(Condition::parse(text).is_ok(), "{text}");
            assert_eq!(Condition::parse_deletion(text).is_ok(), is_whole, "{text}");
        }
    }

    #[test]
    fn a_setting_of_a_function_is_of_its_type_unless_it_is_stored() {
        for (setting, is_good) in [
            (r#""responseTimeoutMs":5000"#, true),
            (r#""responseTimeoutMs":null"#, true),
            (r#""responseTimeoutMs":-1"#, true),
            (r#""responseTimeoutMs":5000.0"#, false),
            (r#""responseTimeoutMs":5e3"#, false),
            (r#""responseTimeoutMs":99999999999999999999"#, false),
            (r#""responseTimeoutMs":"5000""#, false),
            (r#""attachEntity":false"#, true),
            (r#""attachEntity":"true""#, false),
        ] {
            let text = format!(
                r#"{{"type":"function","function":{{"name":"f","config":{{{setting}}}}}}}"#
            );
            let imported = Condition::parse_criterion(&text);
            assert_eq!(imported.is_ok(), is_good, "{setting}");
            assert!(Condition::parse_criterion_or_unknown(&text).is_ok());
        }
    }

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
    fn patterns_are_counted_together_and_so_are_leaves() {
        let group = |leaves: &[String]| {
            let leaves = leaves.join(",");
            format!(r#"{{"type":"group","operator":"OR","conditions":[{leaves}]}}"#)
        };
        let pattern = |operator: &str, text: &str| {
            format!(
                r#"{{"type":"simple","jsonPath":"$.a","operatorType":"{operator}","value":"{text}"}}"#
            )
        };
        let refused = |leaves: Vec<String>| {
            let condition = Condition::parse(&group(&leaves)).expect("a condition");
            condition.check_patterns().is_err()
        };
        let likes = |count: usize| {
            (0..count)
                .map(|n| pattern("LIKE", &format!("x{n}%")))
                .collect()
        };
        assert!(!refused(likes(2_000)));
        assert!(refused(likes(20_000)));
        assert!(refused(
            (0..1_000)
                .map(|n| pattern("MATCHES_PATTERN", &format!("a{{20000}}{n}")))
                .collect()
        ));
        assert!(refused(vec![pattern(
            "LIKE",
            &"x".repeat(PATTERN_TEXT_MAX + 1)
        )]));
        let list = |count: usize| {
            let ones = vec!["1"; count].join(",");
            format!(r#"{{"type":"simple","jsonPath":"$.a","operatorType":"IN","value":[{ones}]}}"#)
        };
        assert!(Condition::parse(&list(LEAVES_MAX)).is_ok());
        for condition in [list(LEAVES_MAX + 1), group(&[list(LEAVES_MAX), list(1)])] {
            let error = Condition::parse(&condition).expect_err("too many");
            assert_eq!(error.code(), Code::BadRequest);
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
