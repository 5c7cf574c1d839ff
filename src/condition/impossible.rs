//! Finds conditions that can never hold, as far as that can be decided without an entity.
//!
//! Nothing is reported that the evaluator could refute: contradictions are reported only for fields
//! for which the model declares exactly one value of one kind. Fields that the model does not know
//! may become anything, and are ignored.

use std::cmp::Ordering;

use super::{
    Comparison, Condition, Connective, Leaf, LifecycleField, Matcher, Operand, Subject,
    compare::is_representable,
    schema::{is_object, scalar_types},
};
use crate::entity::{Number, Path, Shape, Step, TemporalClass};
use crate::model::{DataType, Node, Schema, Types};

/// How much of a condition is quoted, in characters.
const QUOTED_MAX: usize = 60;

/// In a condition with more leaves than this, leaves are not compared with each other.
const LEAVES_MAX: usize = 200;

/// A likely mistake in a condition; the text says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The condition never holds.
    Never(String),
    /// A part of it never holds.
    PartNever(String),
    /// A part holds only for values that the model does not declare.
    Stray(String),
}

impl Condition {
    /// The mistakes in it, given what the model declares.
    pub fn findings(&self, schema: &Schema) -> Vec<Finding> {
        let mut leaves = 0;
        let _ = self.try_leaves::<()>(&mut |_| {
            leaves += 1;
            Ok(())
        });
        let contradictions = Contradictions {
            schema,
            compares: leaves <= LEAVES_MAX,
        };
        if let Some(reason) = contradictions.never(self, &mut Vec::new()) {
            return vec![Finding::Never(reason)];
        }
        let mut findings = Vec::new();
        contradictions.parts(self, &mut findings);
        findings
    }

    /// Whether it always holds, whatever the model.
    pub fn is_always(&self) -> bool {
        match self {
            Self::Leaf(_) | Self::Function(_) => false,
            Self::Group {
                connective,
                children,
            } => match connective {
                Connective::And => children.iter().all(Self::is_always),
                Connective::Or => children.iter().any(Self::is_always),
                Connective::Not => children.is_empty(),
            },
        }
    }
}

struct Contradictions<'a> {
    schema: &'a Schema,
    /// Whether leaves are compared with each other.
    compares: bool,
}

/// What is known about the single value of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Domain {
    Number,
    Text,
    Truth,
    /// A time that the document contains as text.
    Time(TemporalClass),
    /// A time of the metadata, which is an instant.
    Instant,
    /// One value, of one of several kinds.
    Mixed,
}

/// What a subject refers to.
enum Resolved<'a, 'b> {
    Field(&'b Path, &'a Node),
    Lifecycle(LifecycleField),
}

impl<'a> Contradictions<'a> {
    /// Why the condition never holds together with all of `facts`, if so.
    fn never(&self, condition: &'a Condition, facts: &mut Vec<&'a Leaf>) -> Option<String> {
        let (connective, children) = match condition {
            Condition::Leaf(leaf) => return self.refuted(leaf, facts),
            Condition::Function(function) => {
                return self.never(function.quick_exit.as_ref()?, facts);
            }
            Condition::Group {
                connective,
                children,
            } => (connective, children),
        };
        match connective {
            Connective::And => {
                let known = facts.len();
                let mut others = Vec::new();
                let reason = self
                    .gather(children, facts, &mut others)
                    .or_else(|| others.iter().find_map(|other| self.never(other, facts)));
                facts.truncate(known);
                reason
            }
            Connective::Or => self.none_of(children, facts),
            Connective::Not => children
                .iter()
                .find(|child| child.is_always())
                .map(|_| "what it negates always holds".to_owned()),
        }
    }

    /// Adds the leaves of a conjunction to the facts, until one contradicts them; other parts are
    /// kept for later.
    fn gather(
        &self,
        children: &'a [Condition],
        facts: &mut Vec<&'a Leaf>,
        others: &mut Vec<&'a Condition>,
    ) -> Option<String> {
        for child in children {
            let reason = match child {
                Condition::Leaf(leaf) => {
                    let reason = self.refuted(leaf, facts);
                    facts.push(leaf);
                    reason
                }
                Condition::Group {
                    connective: Connective::And,
                    children,
                } => self.gather(children, facts, others),
                Condition::Function(_) | Condition::Group { .. } => {
                    others.push(child);
                    None
                }
            };
            if reason.is_some() {
                return reason;
            }
        }
        None
    }

    fn none_of(&self, children: &'a [Condition], facts: &mut Vec<&'a Leaf>) -> Option<String> {
        if children.is_empty() {
            return Some("an empty OR never holds; add conditions".to_owned());
        }
        let mut reasons: Vec<String> = Vec::new();
        for child in children {
            let reason = self.never(child, facts)?;
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Some(reasons.join("; "))
    }

    /// The parts of a condition that never hold, if the whole can hold.
    fn parts(&self, condition: &'a Condition, findings: &mut Vec<Finding>) {
        let children = match condition {
            Condition::Leaf(leaf) => {
                findings.extend(self.stray(leaf).map(Finding::Stray));
                return;
            }
            Condition::Function(function) => {
                if let Some(quick_exit) = &function.quick_exit {
                    self.parts(quick_exit, findings);
                }
                return;
            }
            Condition::Group { children, .. } => children,
        };
        for child in children {
            match self.never(child, &mut Vec::new()) {
                Some(reason) => {
                    let part = child.in_words(QUOTED_MAX);
                    findings.push(Finding::PartNever(format!("{part}: {reason}")));
                }
                None => self.parts(child, findings),
            }
        }
    }

    /// Why a leaf never holds, by itself or together with the facts.
    fn refuted(&self, leaf: &Leaf, facts: &[&'a Leaf]) -> Option<String> {
        self.leaf_never(leaf).or_else(|| self.clash(leaf, facts))
    }

    /// Why a leaf never holds, if so.
    fn leaf_never(&self, leaf: &Leaf) -> Option<String> {
        if let Some(reason) = compares_with_nothing(leaf) {
            return Some(reason);
        }
        match self.resolve(&leaf.subject)? {
            Resolved::Field(_, node) => field_never(leaf, node),
            Resolved::Lifecycle(field) => lifecycle_never(leaf, field),
        }
        .or_else(|| self.empty_range(leaf))
    }

    fn empty_range(&self, leaf: &Leaf) -> Option<String> {
        let domain = self.domain(&leaf.subject)?;
        let (low, high) = range(leaf)?;
        excludes(low?, high?, domain).then(|| format!("nothing satisfies {}", quoted(leaf)))
    }

    /// Which of the facts the leaf contradicts.
    fn clash(&self, leaf: &Leaf, facts: &[&'a Leaf]) -> Option<String> {
        if !self.compares || facts.is_empty() {
            return None;
        }
        let domain = self.domain(&leaf.subject)?;
        let types = match self.resolve(&leaf.subject)? {
            Resolved::Field(_, node) => node.types,
            Resolved::Lifecycle(_) => Types::EMPTY,
        };
        let fact = facts.iter().find(|fact| {
            self.is_same(&fact.subject, &leaf.subject)
                && (rules_out(fact, leaf, domain, types) || rules_out(leaf, fact, domain, types))
        })?;
        Some(format!(
            "{} and {} exclude each other",
            quoted(fact),
            quoted(leaf)
        ))
    }

    /// Whether an operand is not a value of a declared type, in a field that may hold any text.
    fn stray(&self, leaf: &Leaf) -> Option<String> {
        let Resolved::Field(_, node) = self.resolve(&leaf.subject)? else {
            return None;
        };
        let types = scalar_types(node);
        let operand = operands(leaf)
            .into_iter()
            .find(|operand| !operand.fits(types))?;
        types.any(DataType::is_temporal).then(|| {
            format!(
                "{} holds only for text that is not a valid {types}, because `{}` is not one",
                quoted(leaf),
                operand.text().unwrap_or_default()
            )
        })
    }

    fn resolve<'b>(&self, subject: &'b Subject) -> Option<Resolved<'a, 'b>> {
        let field = |path: &'b Path| Some(Resolved::Field(path, self.schema.root.at(path)?));
        match subject {
            Subject::Field(path) => field(path),
            Subject::Lifecycle(at) => Some(Resolved::Lifecycle(*at)),
            Subject::Either(path, at) => field(path).or(Some(Resolved::Lifecycle(*at))),
        }
    }

    fn is_same(&self, one: &Subject, other: &Subject) -> bool {
        match (self.resolve(one), self.resolve(other)) {
            (Some(Resolved::Field(one, _)), Some(Resolved::Field(other, _))) => one == other,
            (Some(Resolved::Lifecycle(one)), Some(Resolved::Lifecycle(other))) => one == other,
            _ => false,
        }
    }

    /// None if there may be several values, or if the model does not say.
    fn domain(&self, subject: &Subject) -> Option<Domain> {
        let (path, node) = match self.resolve(subject)? {
            Resolved::Lifecycle(field) if field.is_time() => return Some(Domain::Instant),
            Resolved::Lifecycle(_) => return Some(Domain::Text),
            Resolved::Field(path, node) => (path, node),
        };
        if node.is_structure() || !is_single(&self.schema.root, path) {
            return None;
        }
        let types: Vec<_> = node.types.iter().collect();
        match types[..] {
            [] | [DataType::Null] => None,
            [one] if one.is_numeric() => Some(Domain::Number),
            [DataType::String] => Some(Domain::Text),
            [DataType::Boolean] => Some(Domain::Truth),
            [one] => CLASSES
                .into_iter()
                .find(|class| DataType::from(*class) == one)
                .map_or(Some(Domain::Mixed), |class| Some(Domain::Time(class))),
            _ => Some(Domain::Mixed),
        }
    }
}

const CLASSES: [TemporalClass; 6] = [
    TemporalClass::ZonedDateTime,
    TemporalClass::LocalDateTime,
    TemporalClass::LocalDate,
    TemporalClass::LocalTime,
    TemporalClass::YearMonth,
    TemporalClass::Year,
];

fn quoted(leaf: &Leaf) -> String {
    Condition::Leaf(leaf.clone()).in_words(QUOTED_MAX)
}

/// Whether a path leads to at most one value, as far as the model says.
fn is_single(root: &Node, path: &Path) -> bool {
    let mut node = root;
    path.steps().iter().all(|step| {
        let next = match (step, &node.members, &node.element) {
            (Step::Member(name), Some(members), None) => members.get(name),
            (Step::Element(_), None, Some(element)) => Some(&**element),
            (Step::Member(_) | Step::Element(_) | Step::Each, ..) => None,
        };
        next.inspect(|next| node = next).is_some()
    })
}

/// The operands of a leaf.
fn operands(leaf: &Leaf) -> Vec<&Operand> {
    match &leaf.matcher {
        Matcher::Compare(_, operand) => vec![operand],
        Matcher::Between { low, high, .. } => vec![low, high],
        Matcher::In {
            any,
            negated: false,
        } => any.iter().collect(),
        Matcher::In { negated: true, .. }
        | Matcher::IsNull
        | Matcher::NotNull
        | Matcher::Changed { .. }
        | Matcher::Text { .. }
        | Matcher::Pattern(_)
        | Matcher::BadPattern(_) => Vec::new(),
    }
}

fn compares_with_nothing(leaf: &Leaf) -> Option<String> {
    let is_null = |operand: &Operand| operand.text().is_none();
    let nothing = match &leaf.matcher {
        Matcher::Compare(_, operand) => is_null(operand),
        Matcher::Text { operand, .. } => operand.is_none(),
        Matcher::Between { low, high, .. } => is_null(low) || is_null(high),
        Matcher::In {
            any,
            negated: false,
        } if any.is_empty() => {
            return Some(format!("{} has no operands", quoted(leaf)));
        }
        Matcher::In {
            any,
            negated: false,
        } => any.iter().all(is_null),
        Matcher::BadPattern(_) => true,
        Matcher::In { negated: true, .. }
        | Matcher::IsNull
        | Matcher::NotNull
        | Matcher::Changed { .. }
        | Matcher::Pattern(_) => false,
    };
    nothing.then(|| {
        format!(
            "{}, and a comparison with null never holds; use IS_NULL or NOT_NULL",
            quoted(leaf)
        )
    })
}

/// Why no value that the model declares satisfies a leaf, if so.
fn field_never(leaf: &Leaf, node: &Node) -> Option<String> {
    let types = scalar_types(node);
    if leaf.is_about_presence() {
        return None;
    }
    if is_object(node) {
        return Some(format!(
            "{} is an object; only IS_NULL and NOT_NULL apply to it",
            leaf.subject
        ));
    }
    // Only null was seen there, or nothing at all.
    if types.is_empty() || types.contains(DataType::Null) {
        return None;
    }
    let is_text = matches!(leaf.matcher, Matcher::Text { .. } | Matcher::Pattern(_));
    let holds_texts = types.any(|one| !one.is_numeric() && one != DataType::Boolean);
    if is_text && !holds_texts {
        return Some(format!(
            "{} applies to text only, but the model declares {types}",
            quoted(leaf)
        ));
    }
    let has_order =
        types.any(|one| !matches!(one, DataType::Boolean | DataType::Uuid | DataType::TimeUuid));
    if range(leaf).is_some() && !has_order {
        return Some(format!("{}, but {types} has no order", quoted(leaf)));
    }
    let operands = operands(leaf);
    let unfit: Vec<_> = operands
        .iter()
        .filter(|operand| !can_match(leaf, operand, types))
        .collect();
    // For a list, one operand suffices.
    let is_list = matches!(leaf.matcher, Matcher::In { .. });
    let operand = unfit.first()?.text()?;
    (!is_list || unfit.len() == operands.len())
        .then(|| format!("{}: `{operand}` is not a value of {types}", quoted(leaf)))
}

/// Whether a value of the declared types can satisfy the comparison with the operand.
fn can_match(leaf: &Leaf, operand: &Operand, types: Types) -> bool {
    // Any text may be stored in a field declared as a time.
    if types.any(DataType::is_temporal) {
        return true;
    }
    let is_equality = range(leaf).is_none();
    let is_exact = match operand.text().and_then(Number::parse) {
        Some(number) if is_equality && types.iter().all(DataType::is_numeric) => {
            is_representable(&number, types)
        }
        _ => true,
    };
    operand.fits(types) && is_exact
}

fn lifecycle_never(leaf: &Leaf, field: LifecycleField) -> Option<String> {
    let is_text = matches!(leaf.matcher, Matcher::Text { .. } | Matcher::Pattern(_));
    if matches!(leaf.matcher, Matcher::IsNull) {
        return Some(format!("{} is never null", leaf.subject));
    }
    (is_text && field.is_time()).then(|| {
        format!(
            "{} applies to text only, but {} is a time",
            quoted(leaf),
            leaf.subject
        )
    })
}

/// One end of a range, and whether the range includes it.
#[derive(Clone, Copy)]
struct Bound<'a> {
    operand: &'a Operand,
    inclusive: bool,
}

type Range<'a> = (Option<Bound<'a>>, Option<Bound<'a>>);

/// The range in which a leaf holds, if it is one: its low and its high end.
fn range(leaf: &Leaf) -> Option<Range<'_>> {
    let bound = |operand, inclusive| Some(Bound { operand, inclusive });
    match &leaf.matcher {
        Matcher::Compare(comparison, operand) => match comparison {
            Comparison::Less => Some((None, bound(operand, false))),
            Comparison::LessOrEqual => Some((None, bound(operand, true))),
            Comparison::Greater => Some((bound(operand, false), None)),
            Comparison::GreaterOrEqual => Some((bound(operand, true), None)),
            Comparison::Equal | Comparison::NotEqual => None,
        },
        Matcher::Between {
            low,
            high,
            inclusive,
        } => Some((bound(low, *inclusive), bound(high, *inclusive))),
        Matcher::In { .. }
        | Matcher::IsNull
        | Matcher::NotNull
        | Matcher::Changed { .. }
        | Matcher::Text { .. }
        | Matcher::Pattern(_)
        | Matcher::BadPattern(_) => None,
    }
}

/// Whether no value is both above `low` and below `high`.
fn excludes(low: Bound<'_>, high: Bound<'_>, domain: Domain) -> bool {
    match order(low.operand, high.operand, domain) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => !(low.inclusive && high.inclusive),
        Some(Ordering::Less) | None => false,
    }
}

/// The order of two operands, if it is the order of the values that equal them.
fn order(one: &Operand, other: &Operand, domain: Domain) -> Option<Ordering> {
    let (one_text, other_text) = (one.text()?, other.text()?);
    match domain {
        Domain::Number => Some(Number::parse(one_text)?.cmp(&Number::parse(other_text)?)),
        Domain::Text => Some(one_text.cmp(other_text)),
        Domain::Instant => {
            let instant = |time: &Operand| time.time()?.floor_ms(TemporalClass::ZonedDateTime);
            Some(instant(one)?.cmp(&instant(other)?))
        }
        // Text that is not a time may also be stored there, and is compared as text.
        Domain::Time(class) => {
            let (one, other) = (one.time()?, other.time()?);
            let times = one.floor_ms(class)?.cmp(&other.floor_ms(class)?);
            let agree = one.class == class && other.class == class;
            (agree && times == one_text.cmp(other_text)).then_some(times)
        }
        Domain::Truth | Domain::Mixed => None,
    }
}

/// Whether no value that satisfies `fact` can satisfy `leaf`.
fn rules_out(fact: &Leaf, leaf: &Leaf, domain: Domain, types: Types) -> bool {
    if matches!(leaf.matcher, Matcher::Changed { .. }) {
        return false;
    }
    if matches!(fact.matcher, Matcher::IsNull) {
        return !matches!(leaf.matcher, Matcher::IsNull);
    }
    let is_point = matches!(
        fact.matcher,
        Matcher::Compare(Comparison::Equal, _) | Matcher::In { negated: false, .. }
    );
    let misses = |operand: &Operand| {
        shape(operand, domain).is_some_and(|value| !leaf.matcher.matches(&value, types))
    };
    if is_point && operands(fact).into_iter().all(misses) {
        return true;
    }
    let low = range(fact).and_then(|(low, _)| low);
    let high = range(leaf).and_then(|(_, high)| high);
    low.zip(high)
        .is_some_and(|(low, high)| excludes(low, high, domain))
}

/// The only value that equals an operand.
fn shape(operand: &Operand, domain: Domain) -> Option<Shape<'_>> {
    let text = operand.text()?;
    match (domain, text) {
        (Domain::Number, _) => Number::parse(text).map(|_| Shape::Number(text)),
        (Domain::Text, _) => Some(Shape::String(text.into())),
        (Domain::Truth, "true") => Some(Shape::Bool(true)),
        (Domain::Truth, "false") => Some(Shape::Bool(false)),
        // Equal times may be written in several ways.
        (Domain::Truth | Domain::Time(_) | Domain::Instant | Domain::Mixed, _) => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::clock::Timestamp;
    use crate::condition::{Facts, Lifecycle, Operator};
    use crate::entity::Document;
    use crate::id::{EntityId, TransactionId};

    pub(in crate::condition) const SAMPLE: &str = r#"{"n":1,"x":1.5,"s":"a","b":true,"d":"2024-01-01","z":"2024-01-01T00:00:00Z",
        "t":["a"],"m":["a","2024-01-01"],"o":{"n":1},"l":[{"n":1}],"e":null}"#;

    pub(in crate::condition) fn document(text: &str) -> Document {
        Document::parse(text).expect("JSON")
    }

    fn simple(path: &str, operator: &str, value: &str) -> String {
        let kind = if path.starts_with('$') {
            format!(r#""simple","jsonPath":"{path}""#)
        } else {
            format!(r#""lifecycle","field":"{path}""#)
        };
        format!(r#"{{"type":{kind},"operatorType":"{operator}","value":{value}}}"#)
    }

    fn group(operator: &str, children: &[&str]) -> String {
        format!(
            r#"{{"type":"group","operator":"{operator}","conditions":[{}]}}"#,
            children.join(",")
        )
    }

    fn findings(condition: &str) -> Vec<Finding> {
        let schema = Schema::infer(&document(SAMPLE));
        let condition = Condition::parse_criterion(condition).expect(condition);
        condition.findings(&schema)
    }

    /// Checks the reason why a conjunction of `path operator value` never holds; empty if it may
    /// hold.
    fn check(leaves: &[(&str, &str, &str)], expected: &str) {
        let texts: Vec<_> = leaves
            .iter()
            .map(|(path, operator, value)| simple(path, operator, value))
            .collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let reason = match findings(&group("AND", &texts)).as_slice() {
            [] => String::new(),
            [Finding::Never(reason)] => reason.clone(),
            other => panic!("{leaves:?}: {other:?}"),
        };
        assert!(
            reason.contains(expected) && reason.is_empty() == expected.is_empty(),
            "{leaves:?}: {reason}"
        );
    }

    #[test]
    #[rustfmt::skip]
    fn contradictions_are_reported_where_there_is_one_value() {
        let apart = "exclude each other";
        check(&[("$.n", "GREATER_THAN", "5"), ("$.n", "LESS_THAN", "3")], "$.n > 5 and $.n < 3 exclude each other");
        check(&[("$.n", "GREATER_THAN", "3"), ("$.n", "LESS_THAN", "5")], "");
        check(&[("$.n", "GREATER_THAN", "3"), ("$.n", "LESS_OR_EQUAL", "3")], apart);
        check(&[("$.n", "GREATER_OR_EQUAL", "3"), ("$.n", "LESS_OR_EQUAL", "3.0")], "");
        check(&[("$.n", "EQUALS", "1"), ("$.x", "EQUALS", "2")], "");
        check(&[("$.s", "EQUALS", "\"a\""), ("$.s", "EQUALS", "\"b\"")], "$.s = \"a\" and $.s = \"b\" exclude each other");
        check(&[("$.s", "EQUALS", "\"a\""), ("$.s", "NOT_EQUAL", "\"a\"")], apart);
        check(&[("$.s", "EQUALS", "\"a\""), ("$.s", "STARTS_WITH", "\"b\"")], apart);
        check(&[("$.s", "IN", "[\"a\",\"b\"]"), ("$.s", "IN", "[\"c\"]")], apart);
        check(&[("$.s", "IN", "[\"a\",\"b\"]"), ("$.s", "EQUALS", "\"b\"")], "");
        check(&[("$.s", "GREATER_THAN", "\"9\""), ("$.s", "LESS_THAN", "\"10\"")], apart);
        check(&[("$.b", "EQUALS", "true"), ("$.b", "EQUALS", "false")], apart);
        check(&[("$.s", "IS_NULL", "0"), ("$.s", "EQUALS", "\"a\"")], "$.s is null and $.s = \"a\" exclude each other");
        check(&[("$.s", "NOT_NULL", "0"), ("$.s", "IS_NULL", "0")], apart);
        check(&[("$.d", "GREATER_THAN", "\"2024-02-01\""), ("$.d", "LESS_THAN", "\"2024-01-01\"")], apart);
        check(&[("state", "EQUALS", "\"A\""), ("state", "EQUALS", "\"B\"")], apart);
        check(&[("creationDate", "GREATER_THAN", "\"2024-01-01\""), ("creationDate", "LESS_THAN", "\"2023\"")], apart);
        check(&[("$.n", "BETWEEN", "[5,3]")], "nothing satisfies 5 < $.n < 3");
        check(&[("$.n", "BETWEEN", "[3,3]")], "nothing satisfies");
        check(&[("$.n", "BETWEEN_INCLUSIVE", "[3,3]")], "");
        // Any element of a list suffices, and fields that the model does not know may be lists.
        check(&[("$.t", "EQUALS", "\"a\""), ("$.t", "EQUALS", "\"b\"")], "");
        check(&[("$.t[*]", "EQUALS", "\"a\""), ("$.t[*]", "EQUALS", "\"b\"")], "");
        check(&[("$.l[*].n", "GREATER_THAN", "5"), ("$.l[*].n", "LESS_THAN", "3")], "");
        check(&[("$.t[0]", "EQUALS", "\"a\""), ("$.t[0]", "EQUALS", "\"b\"")], apart);
        check(&[("$.new", "EQUALS", "\"a\""), ("$.new", "EQUALS", "\"b\"")], "");
        check(&[("$.e", "EQUALS", "\"a\""), ("$.e", "EQUALS", "\"b\"")], "");
        // The previous version says nothing about the current one.
        check(&[("$.s", "IS_CHANGED", "0"), ("$.s", "IS_NULL", "0")], "");
    }

    #[test]
    #[rustfmt::skip]
    fn operands_are_held_against_what_the_model_declares() {
        for (path, operator, value, expected) in [
            ("$.n", "EQUALS", "\"abc\"", "$.n = \"abc\": `abc` is not a value of INTEGER"),
            ("$.n", "GREATER_THAN", "\"abc\"", "is not a value of INTEGER"),
            ("$.n", "NOT_EQUAL", "\"abc\"", "is not a value of INTEGER"),
            ("$.n", "EQUALS", "\"5\"", ""),
            ("$.n", "EQUALS", "2.5", "`2.5` is not a value of INTEGER"),
            ("$.n", "GREATER_THAN", "2.5", ""),
            ("$.n", "BETWEEN", "[1,\"z\"]", "`z` is not a value of INTEGER"),
            ("$.n", "IN", "[1,\"z\"]", ""),
            ("$.n", "IN", "[\"y\",\"z\"]", "`y` is not a value of INTEGER"),
            ("$.n", "NOT_IN", "[\"z\"]", ""),
            ("$.n", "IN", "[]", "has no operands"),
            ("$.n", "CONTAINS", "\"5\"", "applies to text only, but the model declares INTEGER"),
            ("$.n", "LIKE", "\"5%\"", "applies to text only"),
            ("$.s", "LIKE", "\"5%\"", ""),
            ("$.s", "EQUALS", "5", ""),
            ("$.s", "EQUALS", "null", "a comparison with null never holds; use IS_NULL or NOT_NULL"),
            ("$.new", "EQUALS", "null", "a comparison with null never holds"),
            ("$.b", "EQUALS", "\"yes\"", "`yes` is not a value of BOOLEAN"),
            ("$.b", "GREATER_THAN", "false", "BOOLEAN has no order"),
            ("$.t", "EQUALS", "5", ""),
            ("$.l[*].n", "EQUALS", "\"abc\"", "is not a value of INTEGER"),
            ("$.o", "EQUALS", "5", "$.o is an object"),
            ("$.o", "NOT_NULL", "0", ""),
            ("$.new", "EQUALS", "\"abc\"", ""),
            ("$.e", "EQUALS", "\"abc\"", ""),
            ("state", "IS_NULL", "0", "state is never null"),
            ("creationDate", "CONTAINS", "\"2024\"", "creationDate is a time"),
        ] {
            check(&[(path, operator, value)], expected);
        }
        // Any text may be stored in a field declared as a time.
        let expected = "$.d = \"soon\" holds only for text that is not a valid LOCAL_DATE, because `soon` is not one";
        assert_eq!(findings(&simple("$.d", "EQUALS", "\"soon\"")), [Finding::Stray(expected.to_owned())]);
    }

    #[test]
    #[rustfmt::skip]
    fn groups_are_judged_as_a_whole_and_in_parts() {
        let (low, high) = (&*simple("$.n", "LESS_THAN", "3"), &*simple("$.n", "GREATER_THAN", "5"));
        let fine = &*simple("$.s", "EQUALS", "\"a\"");
        let (both, all) = (&*group("AND", &[low, high]), &*group("AND", &[]));
        let asks = |quick: &str| format!(r#"{{"type":"function","function":{{"name":"f","criterion":{quick}}}}}"#);
        for (condition, expected) in [
            (group("OR", &[]), "never"),
            (all.to_owned(), ""),
            (group("NOT", &[]), ""),
            (group("NOT", &[all]), "never"),
            (group("NOT", &[both]), "part"),
            (group("OR", &[both, fine]), "part"),
            (group("OR", &[both, both]), "never"),
            (group("AND", &[fine, both]), "never"),
            (group("AND", &[low, &group("OR", &[high, both])]), "never"),
            (group("AND", &[low, &group("OR", &[high, fine])]), ""),
            (group("AND", &[low, &group("AND", &[high])]), "never"),
            (asks(both), "never"),
            (asks(fine), ""),
            (group("OR", &[&asks(both), fine]), "part"),
            // Too many leaves to compare each with each.
            (group("AND", &[vec![low; 150], vec![high; 150]].concat()), ""),
        ] {
            let found = match findings(&condition).as_slice() {
                [] => "",
                [Finding::Never(_)] => "never",
                [Finding::PartNever(_)] => "part",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected, "{condition}");
        }
    }

    #[rustfmt::skip]
    fn leaf() -> impl Strategy<Value = String> {
        let paths = vec!["$.n", "$.x", "$.s", "$.b", "$.d", "$.z", "$.t", "$.t[*]", "$.t[0]", "$.m", "$.m[*]", "$.o", "$.o.n",
            "$.l[*].n", "$.l.0.n", "$.e", "$.new", "state", "creationDate"];
        let values = vec!["1", "2", "2.5", "3", "\"a\"", "\"b\"", "\"1\"", "true", "false", "null", "\"\"",
            "\"2024-01-01\"", "\"2024-02\"", "\"2024-01-01T00:00:00Z\"", "\"2024-01-01T02:00:00+02:00\""];
        let names = Operator::ALL.iter().map(|operator| operator.as_str());
        let operators: Vec<_> = names.filter(|name| !name.ends_with("CHANGED")).collect();
        (select(paths), select(operators), select(values.clone()), select(values)).prop_map(
            |(path, operator, one, other)| {
                let takes_list = operator.contains("BETWEEN") || matches!(operator, "IN" | "NOT_IN");
                let value = if takes_list { format!("[{one},{other}]") } else { one.to_owned() };
                simple(path, operator, &value)
            },
        )
    }

    pub(in crate::condition) fn condition() -> impl Strategy<Value = String> {
        leaf().prop_recursive(3, 12, 4, |inner| {
            let children = prop::collection::vec(inner, 0..4);
            (select(vec!["AND", "AND", "OR", "NOT"]), children).prop_map(|(operator, children)| {
                let children: Vec<_> = children.iter().map(String::as_str).collect();
                group(operator, &children)
            })
        })
    }

    /// A document that matches the model of the sample.
    #[rustfmt::skip]
    pub(in crate::condition) fn entity() -> impl Strategy<Value = String> {
        let one_of = |values: &[&'static str]| select(values.to_vec());
        let integer = || one_of(&["1", "2", "3", "null"]);
        let text = || one_of(&["\"a\"", "\"b\"", "\"1\"", "\"\"", "null", "\"2024-02\""]);
        let day = one_of(&["\"2024-01-01\"", "\"2024-02-03\"", "\"2024-02\"", "\"a\"", "null"]);
        let instant = one_of(&["\"2024-01-01T00:00:00Z\"", "\"2024-01-01T02:00:00+02:00\"", "\"2024-02-01T00:00:00Z\"", "\"b\"", "null"]);
        let listed = one_of(&["\"a\"", "\"1\"", "\"\"", "null", "\"2024-01-01\"", "\"2024-02\"", "[\"a\"]"]);
        let mixed = prop::collection::vec(listed, 0..3);
        let list = prop::collection::vec(text(), 0..3);
        let objects = prop::collection::vec(integer(), 0..3);
        (integer(), one_of(&["1", "2.5", "2", "null"]), text(), one_of(&["true", "false", "null"]), day, instant, list, mixed, objects, any::<bool>())
            .prop_map(|(n, x, s, b, d, z, t, m, l, whole)| {
                let (t, m) = (t.join(","), m.join(","));
                let l: Vec<_> = l.iter().map(|n| format!(r#"{{"n":{n}}}"#)).collect();
                let l = l.join(",");
                if whole {
                    format!(r#"{{"n":{n},"x":{x},"s":{s},"b":{b},"d":{d},"z":{z},"t":[{t}],"m":[{m}],"l":[{l}],"o":{{"n":{n}}},"e":null}}"#)
                } else {
                    format!(r#"{{"n":{n},"s":{s},"d":{d},"t":[{t}],"m":[{m}]}}"#)
                }
            })
    }

    pub(in crate::condition) fn facts<'a>(
        document: &'a Document,
        schema: &'a Schema,
        state: &'a str,
    ) -> Facts<'a> {
        let now = Timestamp::from_micros(1_704_067_200_000_000);
        Facts {
            document: document.root(),
            before: None,
            schema,
            lifecycle: Lifecycle {
                id: EntityId::NIL,
                state,
                created: now,
                updated: now,
                previous_transition: "",
                transaction: TransactionId::NIL,
            },
            absent_lists_are_null: false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn what_never_holds_holds_for_no_entity(
            condition in condition(),
            entities in prop::collection::vec((entity(), select(vec!["a", "b", "1"])), 1..12),
        ) {
            let schema = Schema::infer(&document(SAMPLE));
            let Ok(condition) = Condition::parse(&condition) else { return Ok(()) };
            let findings = condition.findings(&schema);
            let is_never = matches!(findings.first(), Some(Finding::Never(_)));
            for (entity, state) in entities {
                let document = document(&entity);
                let facts = facts(&document, &schema, state);
                let holds = condition.holds(facts, None);
                prop_assert!(!(is_never && holds), "{:?} {}", findings, entity);
                prop_assert!(holds || !condition.is_always());
            }
        }
    }
}
