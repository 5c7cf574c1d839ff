//! Evaluates a condition for an entity. This is the reference for all other ways to answer.
//!
//! The rules are written once. [`Plain`] reads values as they are; [`Scan`] does the same for large
//! documents and conditions: it counts work, can be stopped, and reads nothing twice.

use std::{collections::BTreeMap, convert::Infallible};

use super::{
    Comparison, Condition, Connective, Function, Halt, Leaf, LifecycleField, Matcher, Meter,
    Operand, Operator, Subject, TextTest, Verdict, compare::Bounds, fold, scan::Scan,
};
use crate::clock::Timestamp;
use crate::dispatch::CriterionResult;
use crate::entity::{Path, Shape, Temporal, TemporalClass, Value};
use crate::id::{EntityId, TransactionId};
use crate::model::{Node, Schema, Types};

/// The facts about an entity that a condition sees.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The document, or the part of it that the condition reads ([`Condition::looks`]).
    pub document: Value<'a>,
    /// The latest committed version; none for a new entity.
    pub before: Option<Value<'a>>,
    pub schema: &'a Schema,
    pub lifecycle: Lifecycle<'a>,
    /// Whether `IS_NULL` holds below a missing list (`search.md` §3).
    pub absent_lists_are_null: bool,
}

/// The results of member functions so far, by number of the function.
pub type FunctionResults = BTreeMap<u32, CriterionResult>;

/// The metadata of an entity.
#[derive(Debug, Clone, Copy)]
pub struct Lifecycle<'a> {
    pub id: EntityId,
    /// Empty while the workflow of a new entity is being selected.
    pub state: &'a str,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// The transition of the latest committed write; empty for a new entity.
    pub previous_transition: &'a str,
    pub transaction: TransactionId,
}

/// What one leaf saw, and its result, for the decision record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafOutcome {
    /// [`Leaf::index`].
    pub leaf: u32,
    pub held: bool,
    /// The value that was read, as JSON; cut if long, none if absent. For a function, its reason.
    pub seen: Option<Box<str>>,
}

/// Collects the outcomes of leaves.
#[derive(Debug, Default)]
pub struct Trace {
    pub outcomes: Vec<LeafOutcome>,
}

/// How much of a value is recorded, in bytes.
const SEEN_MAX: usize = 120;

impl Trace {
    fn note(&mut self, leaf: u32, held: bool, seen: Option<&str>) {
        let seen = seen.map(
            |text| match text.char_indices().find(|(at, _)| *at >= SEEN_MAX) {
                Some((cut, _)) => format!("{}…", &text[..cut]).into(),
                None => text.into(),
            },
        );
        self.outcomes.push(LeafOutcome { leaf, held, seen });
    }

    /// The reason of a member is text for people and already bounded (`grpc.md` §9.5); it is not
    /// cut, because what matters may be at its end.
    fn note_evaluation(&mut self, leaf: u32, evaluation: &CriterionResult) {
        self.outcomes.push(LeafOutcome {
            leaf,
            held: evaluation.matches,
            seen: evaluation.reason.clone(),
        });
    }
}

/// A way of reading values.
pub(super) trait Look<'d> {
    /// Why it may stop early.
    type Halt;

    /// A leaf is about to be evaluated, in a document and the previous one.
    fn begin(&mut self, leaf: &Leaf, facts: &Facts<'d>) -> Result<(), Self::Halt>;

    /// Whether a value satisfies a leaf.
    fn matches(
        &mut self,
        leaf: &Leaf,
        value: Value<'d>,
        declared: Types,
    ) -> Result<bool, Self::Halt>;
}

/// Reads values as they are.
struct Plain;

impl<'d> Look<'d> for Plain {
    type Halt = Infallible;

    fn begin(&mut self, _: &Leaf, _: &Facts<'d>) -> Result<(), Infallible> {
        Ok(())
    }

    fn matches(
        &mut self,
        leaf: &Leaf,
        value: Value<'d>,
        declared: Types,
    ) -> Result<bool, Infallible> {
        Ok(leaf.matcher.matches(&value.shape(), declared))
    }
}

fn never<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
    }
}

impl Condition {
    /// Whether a condition without functions holds; `trace` receives each leaf that was evaluated.
    pub fn holds(&self, facts: Facts<'_>, trace: Option<&mut Trace>) -> bool {
        matches!(
            self.evaluate(facts, &FunctionResults::new(), trace),
            Verdict::Holds
        )
    }

    /// Whether a condition without functions holds. It stops on request and at a limit of work, for
    /// large documents and conditions.
    pub fn holds_within(&self, facts: Facts<'_>, meter: &Meter<'_>) -> Result<bool, Halt> {
        let verdict = self.evaluate_within(facts, &FunctionResults::new(), None, meter)?;
        Ok(matches!(verdict, Verdict::Holds))
    }

    /// Whether it has leaves that the database cannot evaluate: those with a pattern.
    pub fn has_patterns(&self) -> bool {
        let visit = &mut |leaf: &Leaf| if leaf.is_pattern() { Err(()) } else { Ok(()) };
        self.try_leaves(visit).is_err()
    }

    /// The result without patterns; none if the result depends on patterns.
    pub fn holds_without_patterns(&self, facts: Facts<'_>) -> Option<bool> {
        never(self.known_without_patterns(facts, &mut Plain))
    }

    /// The result without patterns; none if the result depends on patterns. It stops on request and
    /// at a limit of work, for large documents and conditions.
    pub fn holds_without_patterns_within(
        &self,
        facts: Facts<'_>,
        meter: &Meter<'_>,
    ) -> Result<Option<bool>, Halt> {
        self.known_without_patterns(facts, &mut Scan::new(self, meter))
    }

    fn known_without_patterns<'d, L: Look<'d>>(
        &self,
        facts: Facts<'d>,
        look: &mut L,
    ) -> Result<Option<bool>, L::Halt> {
        match self {
            Self::Leaf(leaf) if leaf.is_pattern() => Ok(None),
            Self::Leaf(leaf) => leaf.holds(facts, None, look).map(Some),
            Self::Function(_) => Ok(None),
            Self::Group {
                connective,
                children,
            } => {
                let (decisive, outcome) = connective.decision();
                let mut is_known = true;
                for child in children {
                    match child.known_without_patterns(facts, look)? {
                        Some(held) if held == decisive => return Ok(Some(outcome)),
                        Some(_) => {}
                        None => is_known = false,
                    }
                }
                Ok(is_known.then_some(!outcome))
            }
        }
    }

    /// Evaluates the condition with the member results in `answers`, from left to right, no further
    /// than needed.
    pub fn evaluate<'a>(
        &'a self,
        facts: Facts<'_>,
        answers: &FunctionResults,
        trace: Option<&mut Trace>,
    ) -> Verdict<'a> {
        never(self.evaluate_by(facts, answers, trace, &mut Plain))
    }

    /// Evaluates the condition with the member results in `answers`, from left to right, no further
    /// than needed. It stops on request and at a limit of work, for large documents and conditions.
    pub fn evaluate_within<'a>(
        &'a self,
        facts: Facts<'_>,
        answers: &FunctionResults,
        trace: Option<&mut Trace>,
        meter: &Meter<'_>,
    ) -> Result<Verdict<'a>, Halt> {
        self.evaluate_by(facts, answers, trace, &mut Scan::new(self, meter))
    }

    fn evaluate_by<'a, 'd, L: Look<'d>>(
        &'a self,
        facts: Facts<'d>,
        answers: &FunctionResults,
        mut trace: Option<&mut Trace>,
        look: &mut L,
    ) -> Result<Verdict<'a>, L::Halt> {
        match self {
            Self::Leaf(leaf) => leaf.holds(facts, trace, look).map(Verdict::of),
            Self::Function(function) => function.evaluate_by(facts, answers, trace, look),
            Self::Group {
                connective,
                children,
            } => {
                let (decisive, outcome) = connective.decision();
                for child in children {
                    match child.evaluate_by(facts, answers, trace.as_deref_mut(), look)? {
                        Verdict::Holds if decisive => return Ok(Verdict::of(outcome)),
                        Verdict::Fails if !decisive => return Ok(Verdict::of(outcome)),
                        Verdict::Holds | Verdict::Fails => {}
                        asks @ Verdict::Asks(_) => return Ok(asks),
                    }
                }
                Ok(Verdict::of(!outcome))
            }
        }
    }
}

impl Connective {
    /// The child result that decides, and the result it decides on.
    const fn decision(self) -> (bool, bool) {
        match self {
            Self::And => (false, false),
            Self::Or => (true, true),
            Self::Not => (true, false),
        }
    }
}

impl Verdict<'_> {
    const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

impl Function {
    fn evaluate_by<'a, 'd, L: Look<'d>>(
        &'a self,
        facts: Facts<'d>,
        answers: &FunctionResults,
        mut trace: Option<&mut Trace>,
        look: &mut L,
    ) -> Result<Verdict<'a>, L::Halt> {
        if let Some(condition) = &self.quick_exit {
            match condition.evaluate_by(facts, answers, trace.as_deref_mut(), look)? {
                Verdict::Holds => {}
                undecided @ (Verdict::Fails | Verdict::Asks(_)) => return Ok(undecided),
            }
        }
        let Some(evaluation) = answers.get(&self.index) else {
            return Ok(Verdict::Asks(self));
        };
        if let Some(trace) = trace {
            trace.note_evaluation(self.index, evaluation);
        }
        Ok(Verdict::of(evaluation.matches))
    }
}

impl Leaf {
    fn is_pattern(&self) -> bool {
        self.operator == Operator::MatchesPattern
    }

    fn holds<'d, L: Look<'d>>(
        &self,
        facts: Facts<'d>,
        trace: Option<&mut Trace>,
        look: &mut L,
    ) -> Result<bool, L::Halt> {
        look.begin(self, &facts)?;
        let path = match &self.subject {
            Subject::Field(path) => path,
            Subject::Either(path, _) if facts.schema.root.at(path).is_some() => path,
            Subject::Either(_, field) | Subject::Lifecycle(field) => {
                return Ok(self.lifecycle_holds(*field, facts.lifecycle, trace));
            }
        };
        self.field_holds(path, facts, trace, look)
    }

    fn field_holds<'d, L: Look<'d>>(
        &self,
        path: &Path,
        facts: Facts<'d>,
        trace: Option<&mut Trace>,
        look: &mut L,
    ) -> Result<bool, L::Halt> {
        let node = facts.schema.root.at(path);
        let root = facts.document;
        let held = if let Matcher::Changed { negated } = self.matcher {
            has_changed(path, facts) != negated
        } else {
            let mut halted = None;
            let held = path.any(root, &mut |value| {
                let held = self.value_holds(value, node, look);
                held.unwrap_or_else(|halt| {
                    halted = Some(halt);
                    true
                })
            });
            if let Some(halt) = halted {
                return Err(halt);
            }
            held || (facts.absent_lists_are_null
                && matches!(self.matcher, Matcher::IsNull)
                && path.misses_its_list(root))
        };
        if let Some(trace) = trace {
            trace.note(self.index, held, path.first(root).map(Value::json));
        }
        Ok(held)
    }

    /// Whether the value at the end of a path satisfies the leaf; for a list, any element.
    fn value_holds<'d, L: Look<'d>>(
        &self,
        value: Option<Value<'d>>,
        node: Option<&Node>,
        look: &mut L,
    ) -> Result<bool, L::Halt> {
        let types_of = |node: Option<&Node>| node.map_or(Types::EMPTY, |node| node.types);
        let Some(value) = value else {
            return Ok(matches!(self.matcher, Matcher::IsNull));
        };
        let Some(elements) = value.elements() else {
            return look.matches(self, value, types_of(node));
        };
        let types = types_of(node.and_then(|node| node.element.as_deref()));
        for element in elements {
            if look.matches(self, element, types)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn lifecycle_holds(
        &self,
        field: LifecycleField,
        facts: Lifecycle<'_>,
        trace: Option<&mut Trace>,
    ) -> bool {
        let held = match field {
            LifecycleField::CreationDate => self.matcher.matches_instant(facts.created),
            LifecycleField::LastUpdateTime => self.matcher.matches_instant(facts.updated),
            LifecycleField::State
            | LifecycleField::PreviousTransition
            | LifecycleField::TransactionId
            | LifecycleField::Id => self
                .matcher
                .matches(&Shape::String(field.text(facts).into()), Types::EMPTY),
        };
        if let Some(trace) = trace {
            trace.note(
                self.index,
                held,
                Some(&serde_json::Value::from(field.text(facts)).to_string()),
            );
        }
        held
    }
}

impl LifecycleField {
    /// The metadata field as text.
    pub fn text(self, facts: Lifecycle<'_>) -> String {
        match self {
            Self::State => facts.state.to_owned(),
            Self::CreationDate => facts.created.to_string(),
            Self::LastUpdateTime => facts.updated.to_string(),
            Self::PreviousTransition => facts.previous_transition.to_owned(),
            Self::TransactionId => facts.transaction.to_string(),
            Self::Id => facts.id.to_string(),
        }
    }
}

impl Matcher {
    /// `workflow-engine.md` §2.2 and §2.3: only `IS_NULL` matches null, negated operators do not
    /// either; text operators apply to text only.
    pub(super) fn matches(&self, stored: &Shape<'_>, declared: Types) -> bool {
        let is_null = matches!(stored, Shape::Null);
        match self {
            Self::IsNull => is_null,
            Self::NotNull => !is_null,
            Self::Compare(comparison, operand) => comparison.holds(stored, operand, declared),
            Self::Between {
                low,
                high,
                inclusive,
            } => {
                let (above, below) = bounds(*inclusive);
                Bounds(&[(above, low), (below, high)]).hold(stored, declared)
            }
            Self::In {
                any,
                negated: false,
            } => any.contains(stored, declared),
            Self::In { any, negated: true } => is_scalar(stored) && !any.contains(stored, declared),
            Self::Text {
                test,
                fold,
                negated,
                operand,
            } => text_of(stored)
                .zip(operand.as_deref())
                .is_some_and(|(text, operand)| test.holds(text, operand, *fold) != *negated),
            Self::Pattern(pattern) => text_of(stored).is_some_and(|text| pattern.is_match(text)),
            Self::BadPattern(_) | Self::Changed { .. } => false,
        }
    }

    /// Times of the metadata are compared as instants, in milliseconds; text operators never match
    /// them (`workflow-engine.md` §2.5).
    fn matches_instant(&self, stored: Timestamp) -> bool {
        let stored = Temporal {
            class: TemporalClass::ZonedDateTime,
            wall_ms: stored.millis(),
            offset_ms: 0,
        };
        let holds = |comparison: Comparison, operand: &Operand| {
            operand
                .time()
                .is_some_and(|time| comparison.times(stored, time))
        };
        match self {
            Self::NotNull => true,
            Self::Compare(comparison, operand) => holds(*comparison, operand),
            Self::Between {
                low,
                high,
                inclusive,
            } => {
                let (above, below) = bounds(*inclusive);
                holds(above, low) && holds(below, high)
            }
            Self::In { any, negated } => any.contains_time(stored) != *negated,
            Self::IsNull
            | Self::Text { .. }
            | Self::Pattern(_)
            | Self::BadPattern(_)
            | Self::Changed { .. } => false,
        }
    }
}

/// `workflow-engine.md` §2.10: by deep equality, where missing is null; in a new entity, a field
/// has changed if it has a value.
fn has_changed(path: &Path, facts: Facts<'_>) -> bool {
    let now = all(path, facts.document);
    let Some(before) = facts.before else {
        return !now.is_empty();
    };
    let before = all(path, before);
    now.len() != before.len()
        || now
            .iter()
            .zip(&before)
            .any(|(now, before)| !now.same_as(*before))
}

/// Every non-null value at the path.
fn all<'a>(path: &Path, document: Value<'a>) -> Vec<Value<'a>> {
    let mut found = Vec::new();
    path.any(document, &mut |value| {
        found.extend(value.filter(|value| !value.is_null()));
        false
    });
    found
}

const fn bounds(inclusive: bool) -> (Comparison, Comparison) {
    if inclusive {
        (Comparison::GreaterOrEqual, Comparison::LessOrEqual)
    } else {
        (Comparison::Greater, Comparison::Less)
    }
}

fn text_of<'a>(shape: &'a Shape<'_>) -> Option<&'a str> {
    if let Shape::String(text) = shape {
        Some(text)
    } else {
        None
    }
}

const fn is_scalar(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Bool(_) | Shape::Number(_) | Shape::String(_))
}

impl TextTest {
    /// An operand in the form that [`Self::holds`] expects.
    pub(super) fn operand(self, text: Box<str>, fold: bool) -> Box<str> {
        if !fold {
            return text;
        }
        match self {
            Self::Equals => text.chars().map(fold::fold).collect(),
            Self::Contains | Self::StartsWith | Self::EndsWith => fold::lower(&text).into(),
        }
    }

    pub(super) fn holds(self, text: &str, operand: &str, fold: bool) -> bool {
        if fold && self == Self::Equals {
            return fold::is_equal_folded(text, operand);
        }
        if fold {
            return self.holds(&fold::lower(text), operand, false);
        }
        match self {
            Self::Equals => text == operand,
            Self::Contains => text.contains(operand),
            Self::StartsWith => text.starts_with(operand),
            Self::EndsWith => text.ends_with(operand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Document;

    const DOCUMENT: &str = r#"{"n":5,"s":"Grape","z":null,"t":["a","b"],"e":[],"o":{"x":1},"l":[{"k":1,"w":"p"},{"k":2}],
        "day":"2024-03-01","b":true,"m":"line\nbreak","g":"ΟΔΟΣΤΡΩΜΑ","a":"ΟΔΟΣ","long":"ſ","IMDB Rating":7.5,"state":"own"}"#;

    fn holds_for(document: &str, condition: &str) -> bool {
        let document = Document::parse(document).expect("JSON");
        let schema = Schema::infer(&document);
        let condition = Condition::parse(condition).expect(condition);
        let lifecycle = Lifecycle {
            id: EntityId::NIL,
            state: "NEW",
            created: Timestamp::from_micros(1_000_000),
            updated: Timestamp::from_micros(2_000_999),
            previous_transition: "loopback",
            transaction: TransactionId::NIL,
        };
        let facts = Facts {
            document: document.root(),
            before: None,
            schema: &schema,
            lifecycle,
            absent_lists_are_null: false,
        };
        let mut trace = Trace::default();
        let held = condition.holds(facts, Some(&mut trace));
        assert_eq!(
            condition.holds(facts, None),
            held,
            "tracing changes nothing"
        );
        held
    }

    #[test]
    fn leaves_follow_the_operator_table() {
        for (path, operator, value, held) in [
            ("$.n", "EQUALS", "\"5\"", true),
            ("$.n", "NOT_EQUAL", "6", true),
            ("$.n", "NOT_EQUALS", "6", true),
            ("n", "GREATER_THAN_OR_EQUAL", "5", true),
            ("$.n", "BETWEEN", "[5,9]", false),
            ("$.n", "BETWEEN_INCLUSIVE", "[5,9]", true),
            ("$.n", "IN", "[1,5]", true),
            ("$.n", "NOT_IN", "[1,5]", false),
            ("$.n", "NOT_IN", "[1]", true),
            ("$.n", "CONTAINS", "5", false),
            // Missing and null.
            ("$.x", "IS_NULL", "0", true),
            ("$.z", "IS_NULL", "0", true),
            ("$.n", "IS_NULL", "0", false),
            ("$.x", "NOT_NULL", "0", false),
            ("$.x", "NOT_EQUAL", "1", false),
            ("$.z", "NOT_EQUAL", "1", false),
            ("$.x", "NOT_CONTAINS", "\"a\"", false),
            ("$.x", "INOT_EQUAL", "\"a\"", false),
            ("$.x", "NOT_IN", "[1]", false),
            ("$.s", "CONTAINS", "null", false),
            ("$.s", "NOT_CONTAINS", "null", false),
            // Arrays: any element; empty ones never.
            ("$.t", "EQUALS", "\"b\"", true),
            ("$.t[*]", "EQUALS", "\"b\"", true),
            ("$.t", "NOT_EQUAL", "\"b\"", true),
            ("$.t[0]", "EQUALS", "\"a\"", true),
            ("$.t[1]", "EQUALS", "\"a\"", false),
            ("$.e", "IS_NULL", "0", false),
            ("$.e", "NOT_NULL", "0", false),
            ("$.e[*]", "IS_NULL", "0", false),
            ("$.l[*].k", "EQUALS", "2", true),
            ("$.l[*].w", "IS_NULL", "0", true),
            ("$.l[*].w", "EQUALS", "\"p\"", true),
            // Objects.
            ("$.o", "NOT_NULL", "0", true),
            ("$.o", "IS_NULL", "0", false),
            ("$.o", "EQUALS", "1", false),
            ("$.o.x", "EQUALS", "1", true),
            // Text.
            ("$.s", "CONTAINS", "\"rap\"", true),
            ("$.s", "NOT_CONTAINS", "\"rap\"", false),
            ("$.s", "STARTS_WITH", "\"Gr\"", true),
            ("$.s", "NOT_STARTS_WITH", "\"gr\"", true),
            ("$.s", "ENDS_WITH", "\"pe\"", true),
            ("$.s", "NOT_ENDS_WITH", "\"pe\"", false),
            ("$.s", "IEQUALS", "\"gRAPE\"", true),
            ("$.s", "INOT_EQUAL", "\"gRAPE\"", false),
            ("$.s", "ICONTAINS", "\"RAP\"", true),
            ("$.s", "INOT_CONTAINS", "\"RAP\"", false),
            ("$.s", "ISTARTS_WITH", "\"gR\"", true),
            ("$.s", "IENDS_WITH", "\"PE\"", true),
            // What a letter becomes does not depend on its neighbours.
            ("$.g", "ICONTAINS", "\"ΟΔΟΣ\"", true),
            ("$.g", "INOT_CONTAINS", "\"ΟΔΟΣ\"", false),
            ("$.g", "ISTARTS_WITH", "\"οδοσ\"", true),
            ("$.a", "IENDS_WITH", "\"Σ\"", true),
            ("$.a", "IEQUALS", "\"οδοσ\"", true),
            ("$.a", "IEQUALS", "\"οδος\"", true),
            ("$.long", "IEQUALS", "\"S\"", true),
            ("$.long", "ICONTAINS", "\"S\"", false),
            ("$.s", "LIKE", "\"G%e\"", true),
            ("$.s", "LIKE", "\"g%\"", false),
            ("$.s", "LIKE", "\"_rape\"", true),
            ("$.s", "LIKE", "\"rape\"", false),
            ("$.s", "LIKE", "\"G.*\"", false),
            ("$.s", "LIKE", "\"G\\\\%\"", false),
            ("$.s", "LIKE", "\"G\\\\rape\"", false),
            ("$.m", "LIKE", "\"line%\"", false),
            ("$.n", "LIKE", "\"%\"", false),
            ("$.s", "MATCHES_PATTERN", "\"G.*e\"", true),
            ("$.s", "MATCHES_PATTERN", "\"rap\"", false),
            ("$.s", "MATCHES_PATTERN", "\"a|Grape\"", true),
            ("$.s", "MATCHES_PATTERN", "\"(\"", false),
            // The pattern must be valid on its own, not only inside the anchors around it.
            ("$.s", "MATCHES_PATTERN", "\"G)|(x\"", false),
            ("$.b", "EQUALS", "\"true\"", true),
            ("$.day", "GREATER_THAN", "\"2024-02\"", true),
            ("$['IMDB Rating']", "GREATER_THAN", "7", true),
            ("$.IMDB Rating", "LESS_THAN", "7", false),
            // Without `$` a declared field comes first.
            ("state", "EQUALS", "\"own\"", true),
            ("previousTransition", "EQUALS", "\"loopback\"", true),
        ] {
            let condition = format!(
                r#"{{"type":"simple","jsonPath":"{path}","operatorType":"{operator}","value":{value}}}"#
            );
            assert_eq!(
                holds_for(DOCUMENT, &condition),
                held,
                "{path} {operator} {value}"
            );
        }
    }

    #[test]
    fn life_cycle_fields_are_texts_or_instants() {
        for (field, operator, value, held) in [
            ("state", "EQUALS", "\"NEW\"", true),
            ("current_state", "EQUALS", "\"NEW\"", true),
            ("state", "STARTS_WITH", "\"N\"", true),
            ("transitionForLatestSave", "EQUALS", "\"loopback\"", true),
            ("creationDate", "EQUALS", "\"1970-01-01T00:00:01Z\"", true),
            ("creationDate", "GREATER_THAN", "\"1970\"", true),
            ("lastUpdateTime", "EQUALS", "\"1970-01-01T00:00:02\"", true),
            ("lastUpdateTime", "BETWEEN", "[\"1970\",\"1971-01\"]", true),
            ("creationDate", "STARTS_WITH", "\"1970\"", false),
            ("creationDate", "NOT_NULL", "0", true),
        ] {
            let condition = format!(
                r#"{{"type":"lifecycle","field":"{field}","operation":"{operator}","value":{value}}}"#
            );
            assert_eq!(
                holds_for(DOCUMENT, &condition),
                held,
                "{field} {operator} {value}"
            );
        }
    }

    #[test]
    fn groups_join_their_children() {
        let leaf = |truth: bool| {
            let operator = if truth { "NOT_NULL" } else { "IS_NULL" };
            format!(r#"{{"type":"simple","jsonPath":"$.n","operator":"{operator}"}}"#)
        };
        for (connective, children, held) in [
            ("AND", vec![], true),
            ("OR", vec![], false),
            ("NOT", vec![], true),
            ("and", vec![true, false], false),
            ("AND", vec![true, true], true),
            ("or", vec![true, false], true),
            ("NOT", vec![true], false),
            ("NOT", vec![false, false], true),
            ("NOT", vec![false, true], false),
        ] {
            let children: Vec<_> = children.into_iter().map(leaf).collect();
            let condition = format!(
                r#"{{"type":"group","operator":"{connective}","conditions":[{}]}}"#,
                children.join(",")
            );
            assert_eq!(holds_for(DOCUMENT, &condition), held, "{condition}");
        }
    }

    #[test]
    fn array_conditions_are_by_position_or_for_any_of_a_list() {
        for (members, held) in [
            (r#""jsonPath":"$.t","values":["a","b"]"#, true),
            (r#""jsonPath":"$.t[*]","values":["a"]"#, true),
            (r#""jsonPath":"$.t","values":["b"]"#, false),
            (r#""jsonPath":"$.t","values":[null,"b"]"#, true),
            (r#""jsonPath":"$.t","values":["a","b","c"]"#, false),
            (r#""jsonPath":"$.t","values":["a","b",null]"#, true),
            (r#""jsonPath":"$.t","values":[]"#, true),
            (r#""jsonPath":"$.x","values":["a"]"#, false),
            (r#""jsonPath":"$.x","values":[]"#, true),
            (
                r#""jsonPath":"$.t","operation":"NOT_EQUAL","values":["a"]"#,
                true,
            ),
            // Without an operator it is EQUALS.
            (r#""jsonPath":"$.s","value":["Plum","Grape"]"#, true),
            (r#""jsonPath":"$.s","value":["Plum"]"#, false),
            (r#""jsonPath":"$.s","value":[]"#, false),
            (
                r#""jsonPath":"$.n","operation":"EQUALS","value":["4","5"]"#,
                true,
            ),
            (
                r#""jsonPath":"$.s","operation":"STARTS_WITH","value":["x","Gr"]"#,
                true,
            ),
            (
                r#""jsonPath":"$.t","operation":"EQUALS","value":["b","z"]"#,
                true,
            ),
            // For negated operators, all operands must be satisfied.
            (
                r#""jsonPath":"$.s","operation":"NOT_EQUAL","value":["Plum","Pear"]"#,
                true,
            ),
            (
                r#""jsonPath":"$.s","operation":"NOT_EQUAL","value":["Plum","Grape"]"#,
                false,
            ),
            (
                r#""jsonPath":"$.s","operation":"NOT_CONTAINS","value":["x","rap"]"#,
                false,
            ),
            (
                r#""jsonPath":"$.s","operation":"INOT_EQUAL","value":["plum","GRAPE"]"#,
                false,
            ),
            (
                r#""jsonPath":"$.x","operation":"NOT_EQUAL","value":["Plum"]"#,
                false,
            ),
            // These use the list as it is, or not at all.
            (
                r#""jsonPath":"$.n","operation":"BETWEEN","value":[4,6]"#,
                true,
            ),
            (
                r#""jsonPath":"$.n","operation":"BETWEEN","value":[5,6]"#,
                false,
            ),
            (
                r#""jsonPath":"$.n","operation":"BETWEEN_INCLUSIVE","value":[5,6]"#,
                true,
            ),
            (
                r#""jsonPath":"$.x","operation":"IS_NULL","value":[1]"#,
                true,
            ),
            (r#""jsonPath":"$.n","operation":"NOT_NULL""#, true),
        ] {
            let condition = format!(r#"{{"type":"array",{members}}}"#);
            assert_eq!(holds_for(DOCUMENT, &condition), held, "{condition}");
        }
    }

    #[test]
    fn the_first_name_of_the_operator_that_is_not_empty_counts() {
        for (members, held) in [
            (r#""operatorType":"EQUALS""#, true),
            (r#""operator":"EQUALS""#, true),
            (r#""operation":"EQUALS""#, true),
            (r#""operation":"NOT_EQUAL","operator":"EQUALS""#, true),
            (r#""operation":"EQUALS","operator":"NOT_EQUAL""#, false),
            (r#""operator":"NOT_EQUAL","operatorType":"EQUALS""#, true),
            (
                r#""operatorType":"","operator":null,"operation":"EQUALS""#,
                true,
            ),
        ] {
            for subject in [
                r#""type":"simple","jsonPath":"$.s","value":"Grape""#,
                r#""type":"lifecycle","field":"state","value":"NEW""#,
                r#""type":"array","jsonPath":"$.s","value":["Grape"]"#,
            ] {
                let condition = format!("{{{subject},{members}}}");
                assert_eq!(holds_for(DOCUMENT, &condition), held, "{condition}");
            }
        }
    }

    /// The result of a criterion for a document, given the previous one and member results.
    fn verdict_of(
        now: &str,
        before: Option<&str>,
        criterion: &str,
        answered: &[(u32, bool)],
    ) -> String {
        let parse = |text| Document::parse(text).expect("JSON");
        let (now, before) = (parse(now), before.map(parse));
        let criterion = Condition::parse_criterion(criterion).expect(criterion);
        let facts = Facts {
            document: now.root(),
            before: before.as_ref().map(Document::root),
            absent_lists_are_null: false,
            schema: &Schema::infer(&now),
            lifecycle: Lifecycle {
                id: EntityId::NIL,
                state: "NEW",
                created: Timestamp::from_micros(0),
                updated: Timestamp::from_micros(0),
                previous_transition: "",
                transaction: TransactionId::NIL,
            },
        };
        let evaluation = |&(leaf, matches): &(u32, bool)| {
            let reason = None;
            (leaf, CriterionResult { matches, reason })
        };
        match criterion.evaluate(facts, &answered.iter().map(evaluation).collect(), None) {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Fails => "fails".to_owned(),
            Verdict::Asks(function) => format!("asks {}", function.name),
        }
    }

    #[test]
    fn a_long_value_is_cut_and_a_long_reason_is_not() {
        let long = "because ".repeat(30);
        let mut trace = Trace::default();
        trace.note(1, false, Some(&long));
        let evaluation = CriterionResult {
            matches: false,
            reason: Some(long.as_str().into()),
        };
        trace.note_evaluation(2, &evaluation);
        let seen = |index: usize| trace.outcomes[index].seen.as_deref().expect("seen");
        assert_eq!(seen(0).chars().count(), SEEN_MAX + 1);
        assert_eq!(seen(1), long);
    }

    #[test]
    fn a_change_is_detected_by_deep_equality_with_the_version_before() {
        for (before, now, path, changed) in [
            // In a new entity, every present field has changed.
            (None, r#"{"n":1}"#, "$.n", true),
            (None, r#"{"n":false}"#, "$.n", true),
            (None, r#"{"n":null}"#, "$.n", false),
            (None, r#"{"m":1}"#, "$.n", false),
            (Some(r#"{"n":1}"#), r#"{"n":1}"#, "$.n", false),
            (Some(r#"{"n":1}"#), r#"{"n":2}"#, "$.n", true),
            // Numbers by value, and by kind.
            (Some(r#"{"n":1}"#), r#"{"n":1.0}"#, "$.n", false),
            (Some(r#"{"n":100}"#), r#"{"n":1E2}"#, "$.n", false),
            (Some(r#"{"n":1}"#), r#"{"n":"1"}"#, "$.n", true),
            (Some(r#"{"n":0}"#), r#"{"n":false}"#, "$.n", true),
            (
                Some(r#"{"n":9007199254740993}"#),
                r#"{"n":9007199254740992}"#,
                "$.n",
                true,
            ),
            // Missing is null.
            (Some(r#"{"n":null}"#), "{}", "$.n", false),
            (Some("{}"), r#"{"n":null}"#, "$.n", false),
            (Some("{}"), r#"{"n":0}"#, "$.n", true),
            (Some(r#"{"n":0}"#), "{}", "$.n", true),
            // Whole objects and lists.
            (
                Some(r#"{"o":{"a":1,"b":[1,2]}}"#),
                r#"{"o":{"b":[1.0,2],"a":1}}"#,
                "$.o",
                false,
            ),
            (
                Some(r#"{"o":{"a":1,"b":[1,2]}}"#),
                r#"{"o":{"a":1,"b":[2,1]}}"#,
                "$.o",
                true,
            ),
            (
                Some(r#"{"o":{"a":1}}"#),
                r#"{"o":{"a":1,"b":2}}"#,
                "$.o",
                true,
            ),
            (Some(r#"{"o":[1]}"#), r#"{"o":[1,1]}"#, "$.o", true),
            (
                Some(r#"{"o":{"a":1,"b":1}}"#),
                r#"{"o":{"a":1,"b":2}}"#,
                "$.o.a",
                false,
            ),
            (
                Some(r#"{"o":[{"k":1},{"k":2}]}"#),
                r#"{"o":[{"k":1,"x":1},{"k":2}]}"#,
                "$.o[*].k",
                false,
            ),
            (
                Some(r#"{"o":[{"k":1},{"k":2}]}"#),
                r#"{"o":[{"k":1},{"k":3}]}"#,
                "$.o[*].k",
                true,
            ),
            (Some(r#"{"s":"a"}"#), r#"{"s":"\u0061"}"#, "$.s", false),
        ] {
            for (operator, holds) in [("IS_CHANGED", changed), ("IS_UNCHANGED", !changed)] {
                let criterion = format!(
                    r#"{{"type":"simple","jsonPath":"{path}","operatorType":"{operator}","value":7}}"#
                );
                let verdict = if holds { "holds" } else { "fails" };
                let found = verdict_of(now, before, &criterion, &[]);
                assert_eq!(found, verdict, "{before:?} {now} {path} {operator}");
            }
        }
    }

    #[test]
    fn a_member_is_asked_only_if_it_decides() {
        let leaf = |operand: u8| {
            format!(r#"{{"type":"simple","jsonPath":"$.n","operator":"EQUALS","value":{operand}}}"#)
        };
        let function = |name: &str, quick_exit: &str| {
            format!(
                r#"{{"type":"function","function":{{"name":"{name}","criterion":{quick_exit}}}}}"#
            )
        };
        let group = |operator: &str, children: &[&str]| {
            let children = children.join(",");
            format!(r#"{{"type":"group","operator":"{operator}","conditions":[{children}]}}"#)
        };
        let (yes, no) = (leaf(5), leaf(6));
        let (f, g) = (function("f", "null"), function("g", "{}"));
        for (criterion, answered, verdict) in [
            (f.clone(), &[][..], "asks f"),
            (f.clone(), &[(0, true)], "holds"),
            (f.clone(), &[(0, false)], "fails"),
            // The number of the function comes before those of its quick exit.
            (function("f", &yes), &[], "asks f"),
            (function("f", &yes), &[(0, true)], "holds"),
            (function("f", &no), &[], "fails"),
            (function("f", &no), &[(0, true)], "fails"),
            (function("f", &g), &[], "asks g"),
            (function("f", &g), &[(1, false)], "fails"),
            (function("f", &g), &[(1, true)], "asks f"),
            (group("AND", &[&no, &f]), &[], "fails"),
            (group("AND", &[&f, &no]), &[], "asks f"),
            (group("AND", &[&yes, &f, &g]), &[(1, false)], "fails"),
            (group("AND", &[&yes, &f, &g]), &[(1, true)], "asks g"),
            (group("OR", &[&yes, &f]), &[], "holds"),
            (group("OR", &[&no, &f, &g]), &[(1, true)], "holds"),
            (group("OR", &[&no, &f, &g]), &[(1, false)], "asks g"),
            (group("NOT", &[&yes, &f]), &[], "fails"),
            (group("NOT", &[&no, &f]), &[], "asks f"),
            (group("NOT", &[&function("f", &no)]), &[], "holds"),
            (
                group("AND", &[&group("OR", &[&no, &f]), &g]),
                &[(1, true)],
                "asks g",
            ),
        ] {
            assert_eq!(
                verdict_of(r#"{"n":5}"#, None, &criterion, answered),
                verdict,
                "{criterion}"
            );
        }
    }
}
