//! What an index can contribute to a condition: a superset of the matches (`storage.md` §6).
//!
//! A narrowing is implied by its condition: it contains everything that satisfies the condition. It
//! may contain more; the evaluator decides.

use super::{
    Comparison, Condition, Connective, Leaf, LifecycleField, Matcher, Operand, Operator, Subject,
    TextTest,
};
use crate::entity::{Key, KeyRange, Path, Step, TemporalClass};
use crate::id::{EntityId, StateName};
use crate::model::{DataType, Node, Schema, Types};

/// How many operands of a list are looked up in an index, at most: beyond, reading everything is
/// faster.
const RANGES_MAX: usize = 1_000;

/// A superset of the entities that satisfy a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Narrowing {
    /// All entities.
    Everything,
    /// The value of the path lies in one of the ranges; without ranges, there are no matches.
    Keys { path: Path, ranges: Vec<KeyRange> },
    /// The entity is in that state.
    State(StateName),
    /// The entity comes after that one, in the order of ids.
    After(EntityId),
    /// The intersection.
    All(Vec<Self>),
    /// The union.
    Any(Vec<Self>),
}

/// The path under which an index finds the values of a path: with all elements of a list, and
/// without `[*]` at its end.
pub fn indexed_path(path: &Path) -> Path {
    let mut steps: Vec<Step> = path
        .steps()
        .iter()
        .map(|step| match step {
            Step::Element(_) => Step::Each,
            Step::Member(_) | Step::Each => step.clone(),
        })
        .collect();
    while steps.len() > 1 && steps.last() == Some(&Step::Each) {
        steps.pop();
    }
    Path::from_steps(steps)
}

impl Condition {
    /// A superset of what satisfies this; `schema` is that of the entities.
    pub fn narrowing(&self, schema: &Schema) -> Narrowing {
        match self {
            Self::Leaf(leaf) => leaf.narrowing(schema).unwrap_or(Narrowing::Everything),
            Self::Group {
                connective: Connective::And,
                children,
            } => {
                let parts = children
                    .iter()
                    .map(|child| child.narrowing(schema))
                    .filter(|part| *part != Narrowing::Everything);
                one_or(parts.collect(), Narrowing::Everything, Narrowing::All)
            }
            Self::Group {
                connective: Connective::Or,
                children,
            } => {
                let parts: Vec<_> = children
                    .iter()
                    .map(|child| child.narrowing(schema))
                    .collect();
                if parts.contains(&Narrowing::Everything) {
                    return Narrowing::Everything;
                }
                let nothing = Narrowing::Any(Vec::new());
                one_or(parts, nothing, Narrowing::Any)
            }
            Self::Function(_)
            | Self::Group {
                connective: Connective::Not,
                ..
            } => Narrowing::Everything,
        }
    }

    /// The paths by which an index could serve a search with this condition.
    pub fn indexable_paths(&self, schema: &Schema) -> Vec<Path> {
        let mut paths = Vec::new();
        self.narrowing(schema).collect_paths(&mut paths);
        paths
    }
}

impl Narrowing {
    /// The entity after which all of them come, in the order of ids, if it is known.
    pub fn after(&self) -> Option<EntityId> {
        match self {
            Self::After(id) => Some(*id),
            Self::All(parts) => parts.iter().filter_map(Self::after).max(),
            Self::Everything | Self::Keys { .. } | Self::State(_) | Self::Any(_) => None,
        }
    }

    fn collect_paths(&self, into: &mut Vec<Path>) {
        match self {
            Self::Everything | Self::State(_) | Self::After(_) => {}
            Self::Keys { path, .. } if into.contains(path) => {}
            Self::Keys { path, .. } => into.push(path.clone()),
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.collect_paths(into);
                }
            }
        }
    }
}

fn one_or(
    mut parts: Vec<Narrowing>,
    none: Narrowing,
    many: impl FnOnce(Vec<Narrowing>) -> Narrowing,
) -> Narrowing {
    match parts.len() {
        0 => none,
        1 => parts.remove(0),
        _ => many(parts),
    }
}

impl Leaf {
    fn narrowing(&self, schema: &Schema) -> Option<Narrowing> {
        match &self.subject {
            Subject::Field(path) => self.field_narrowing(path, schema),
            Subject::Either(path, field) => {
                if schema.root.at(path).is_some() {
                    self.field_narrowing(path, schema)
                } else {
                    self.lifecycle_narrowing(*field)
                }
            }
            Subject::Lifecycle(field) => self.lifecycle_narrowing(*field),
        }
    }

    fn lifecycle_narrowing(&self, field: LifecycleField) -> Option<Narrowing> {
        if field == LifecycleField::Id {
            return self.later_narrowing();
        }
        if field != LifecycleField::State {
            return None;
        }
        let state = |operand: &Operand| Some(Narrowing::State(operand.text()?.into()));
        match &self.matcher {
            Matcher::Compare(Comparison::Equal, operand) => state(operand),
            Matcher::In {
                any,
                negated: false,
            } => Some(Narrowing::Any(any.iter().filter_map(state).collect())),
            Matcher::Changed { .. }
            | Matcher::IsNull
            | Matcher::NotNull
            | Matcher::Compare(..)
            | Matcher::Between { .. }
            | Matcher::In { .. }
            | Matcher::Text { .. }
            | Matcher::Pattern(_)
            | Matcher::BadPattern(_) => None,
        }
    }

    /// A caller that reads everything in parts asks for what comes after the last id of a part.
    fn later_narrowing(&self) -> Option<Narrowing> {
        let Matcher::Compare(Comparison::Greater, operand) = &self.matcher else {
            return None;
        };
        let text = operand.text()?;
        let id: EntityId = text.parse().ok()?;
        // Texts are compared, and only those in this form have the order of ids.
        (id.to_string() == text).then_some(Narrowing::After(id))
    }

    fn field_narrowing(&self, path: &Path, schema: &Schema) -> Option<Narrowing> {
        let indexed = indexed_path(path);
        // An index has the elements of a list, but not those of the lists within it.
        let has_inner_lists = |node: &Node| node.element.as_ref()?.element.as_ref().map(|_| ());
        if schema.root.at(&indexed).and_then(has_inner_lists).is_some() {
            return None;
        }
        let types = declared(schema.root.at(path));
        let is_of_one_element = path
            .steps()
            .iter()
            .any(|step| matches!(step, Step::Element(_)));
        let is_of_each = path.steps().contains(&Step::Each);
        let ranges = match &self.matcher {
            // A missing element has no key among those of all elements, and neither has a value
            // below a missing list, which is null in some profiles.
            Matcher::IsNull if is_of_one_element || is_of_each => return None,
            Matcher::IsNull => vec![KeyRange::only(&Key::null())],
            Matcher::NotNull => vec![KeyRange::present()],
            Matcher::Compare(comparison, operand) => compared(*comparison, operand, types)?,
            Matcher::Between { low, high, .. } => between(low, high, types),
            Matcher::In {
                any,
                negated: false,
            } if any.len() <= RANGES_MAX => any
                .iter()
                .map(|operand| compared(Comparison::Equal, operand, types))
                .collect::<Option<Vec<_>>>()?
                .concat(),
            Matcher::Text {
                test: TextTest::Equals,
                fold: false,
                negated: false,
                operand: Some(text),
            } => vec![KeyRange::only(&Key::text(text))],
            Matcher::Text {
                test: TextTest::StartsWith,
                fold: false,
                negated: false,
                operand: Some(text),
            } => vec![KeyRange::prefix(text)],
            Matcher::Pattern(pattern) if self.operator == Operator::Like => {
                vec![KeyRange::prefix(literal_start(&pattern.given))]
            }
            Matcher::Changed { .. }
            | Matcher::In { .. }
            | Matcher::Text { .. }
            | Matcher::Pattern(_)
            | Matcher::BadPattern(_) => return None,
        };
        Some(Narrowing::Keys {
            path: indexed,
            ranges,
        })
    }
}

/// What may be stored at a place, including elements of a list.
fn declared(node: Option<&Node>) -> Types {
    let element = node.and_then(|node| node.element.as_deref());
    let types = |node: Option<&Node>| node.map_or(Types::EMPTY, |node| node.types);
    types(node).merge(types(element))
}

/// The range of values that satisfy a comparison; none if that is nearly everything.
fn compared(comparison: Comparison, operand: &Operand, declared: Types) -> Option<Vec<KeyRange>> {
    let range: fn(&Key) -> KeyRange = match comparison {
        Comparison::Equal => KeyRange::only,
        Comparison::NotEqual => return None,
        Comparison::Less | Comparison::LessOrEqual => KeyRange::below,
        Comparison::Greater | Comparison::GreaterOrEqual => KeyRange::above,
    };
    // An identifier may be written in other ways than the operand.
    if declared.contains(DataType::Uuid) || declared.contains(DataType::TimeUuid) {
        return None;
    }
    let keys = keys(operand, declared);
    Some(keys.iter().map(range).collect())
}

fn between(low: &Operand, high: &Operand, declared: Types) -> Vec<KeyRange> {
    let lows = keys(low, declared);
    let highs = keys(high, declared);
    let same_kind = |low: &Key| highs.iter().find(|high| high.is_of_kind(low));
    lows.iter()
        .filter_map(|low| Some(KeyRange::between(low, same_kind(low)?)))
        .collect()
}

/// The keys of every reading of an operand.
fn keys(operand: &Operand, declared: Types) -> Vec<Key> {
    let Some(text) = operand.text() else {
        return Vec::new();
    };
    let mut keys = vec![Key::text(text)];
    keys.extend(operand.truth().map(Key::truth));
    keys.extend(operand.number.as_ref().map(Key::number));
    let Some(time) = operand.time() else {
        return keys;
    };
    // Values are compared at the granularity at which they are stored.
    keys.extend(
        TemporalClass::ALL
            .iter()
            .filter(|class| declared.contains((**class).into()))
            .filter_map(|class| Some(Key::time(*class, time.floor_ms(*class)?))),
    );
    keys
}

/// The text with which every match of a `LIKE` pattern begins.
fn literal_start(pattern: &str) -> &str {
    pattern
        .find(['%', '_', '\\'])
        .map_or(pattern, |at| &pattern[..at])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::condition::impossible::tests::{SAMPLE, condition, document, entity, facts};
    use crate::entity::{Document, Value};

    /// Whether a look-up by a narrowing finds a document.
    fn finds(narrowing: &Narrowing, root: Value<'_>, state: &str) -> bool {
        match narrowing {
            Narrowing::Everything | Narrowing::After(_) => true,
            Narrowing::State(known) => known.as_str() == state,
            Narrowing::Keys { path, ranges } => Key::of(path, root)
                .iter()
                .any(|key| *key == Key::many() || ranges.iter().any(|range| range.holds(key))),
            Narrowing::All(parts) => parts.iter().all(|part| finds(part, root, state)),
            Narrowing::Any(parts) => parts.iter().any(|part| finds(part, root, state)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_holds_for_an_entity_is_found_by_an_index(
            text in condition(),
            entities in prop::collection::vec((entity(), prop::sample::select(vec!["a", "b", "1"])), 1..12),
        ) {
            let schema = Schema::infer(&document(SAMPLE));
            let Ok(condition) = Condition::parse(&text) else { return Ok(()) };
            let narrowing = condition.narrowing(&schema);
            for (entity, state) in entities {
                let document = document(&entity);
                let holds = condition.holds(facts(&document, &schema, state), None);
                prop_assert!(!holds || finds(&narrowing, document.root(), state), "{text} {entity}");
            }
        }
    }

    /// The scan found what the index did not: an end that holds for the time, one for the text.
    #[test]
    fn both_ends_of_a_range_are_read_alike() {
        let schema = Schema::infer(&document(SAMPLE));
        for (range, held) in [
            (r#"["2024-01-01","2024-12-31"]"#, true),
            (r#"["2024-01-01T00:00:00Z","2024-12-31T24:00:00Z"]"#, false),
            (r#"["2024-01-01","2023-12-31T23:59:00Z"]"#, false),
            (r#"["2024-01-02","2024-01-01T24:00:00Z"]"#, false),
        ] {
            let text = leaf("$.m", "BETWEEN_INCLUSIVE", range);
            let condition = Condition::parse(&text).expect("a condition");
            let document = document(r#"{"m":["2024-01-01"]}"#);
            let holds = condition.holds(facts(&document, &schema, "a"), None);
            let found = finds(&condition.narrowing(&schema), document.root(), "a");
            assert_eq!(holds, held, "{range}");
            assert!(!held || found, "{range}");
        }
    }

    fn narrowing(condition: &str) -> Narrowing {
        let sample = r#"{"n":1,"s":"x","t":["a"],"l":[{"k":1}],"g":[1,[2]],"day":"2024-01-01"}"#;
        let schema = Schema::infer(&Document::parse(sample).expect("JSON"));
        Condition::parse(condition)
            .expect(condition)
            .narrowing(&schema)
    }

    fn leaf(path: &str, operator: &str, value: &str) -> String {
        format!(
            r#"{{"type":"simple","jsonPath":"{path}","operatorType":"{operator}","value":{value}}}"#
        )
    }

    #[test]
    fn groups_narrow_as_far_as_their_children_do() {
        let n = leaf("$.n", "EQUALS", "1");
        let s = leaf("$.s", "CONTAINS", "\"x\"");
        let group = |operator: &str, children: &[&str]| {
            narrowing(&format!(
                r#"{{"type":"group","operator":"{operator}","conditions":[{}]}}"#,
                children.join(",")
            ))
        };
        assert_eq!(group("AND", &[]), Narrowing::Everything);
        assert_eq!(group("OR", &[]), Narrowing::Any(vec![]));
        assert_eq!(group("AND", &[&n, &s]), narrowing(&n));
        assert_eq!(group("OR", &[&n, &s]), Narrowing::Everything);
        assert_eq!(group("NOT", &[&n]), Narrowing::Everything);
        assert!(matches!(group("OR", &[&n, &n]), Narrowing::Any(parts) if parts.len() == 2));
    }

    #[test]
    fn states_are_found_by_their_name() {
        let state = |operator: &str, value: &str| {
            narrowing(&format!(
                r#"{{"type":"lifecycle","field":"state","operatorType":"{operator}","value":{value}}}"#
            ))
        };
        assert_eq!(state("EQUALS", "\"NEW\""), Narrowing::State("NEW".into()));
        assert_eq!(state("NOT_EQUAL", "\"NEW\""), Narrowing::Everything);
    }

    #[test]
    fn what_comes_after_an_id_is_found_by_it() {
        let after = |operator: &str, id: &str| {
            narrowing(&format!(
                r#"{{"type":"lifecycle","field":"id","operatorType":"{operator}","value":"{id}"}}"#
            ))
            .after()
        };
        let id = "0190163e-0000-7000-8000-0000000000ab";
        assert_eq!(after("GREATER_THAN", id), id.parse().ok());
        for (operator, id) in [
            ("GREATER_OR_EQUAL", id),
            ("LESS_THAN", id),
            ("GREATER_THAN", "0190163E-0000-7000-8000-0000000000AB"),
            ("GREATER_THAN", "0190163e"),
            ("GREATER_THAN", ""),
        ] {
            assert_eq!(after(operator, id), None, "{operator} {id}");
        }
        let id: EntityId = id.parse().expect("an id");
        let (first, later) = (Narrowing::After(EntityId::NIL), Narrowing::After(id));
        let n = narrowing(&leaf("$.n", "EQUALS", "1"));
        let both = Narrowing::All(vec![first, n.clone(), later.clone()]);
        assert_eq!(both.after(), Some(id));
        assert_eq!(Narrowing::Any(vec![n, later]).after(), None);
    }

    #[test]
    fn paths_of_elements_share_an_index() {
        for (path, indexed) in [
            ("$.t", "$.t"),
            ("$.t[*]", "$.t"),
            ("$.t[0]", "$.t"),
            ("$.l[3].k", "$.l[*].k"),
            ("n", "$.n"),
        ] {
            let Narrowing::Keys { path, .. } = narrowing(&leaf(path, "EQUALS", "1")) else {
                panic!("{path} is not narrowed");
            };
            assert_eq!(path.to_string(), indexed);
        }
        assert_eq!(
            narrowing(&leaf("$.t[9]", "IS_NULL", "0")),
            Narrowing::Everything
        );
        for path in ["$.g", "$.g[0]", "$.g[*][*]", "$.g[0][1]"] {
            let narrowed = narrowing(&leaf(path, "EQUALS", "1"));
            assert_eq!(narrowed, Narrowing::Everything, "{path}");
        }
    }
}
