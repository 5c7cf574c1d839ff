//! Evaluates large documents with large conditions: the rules of [`super::evaluate`], with work
//! that is counted, can be stopped within one text, and is not done twice.
//!
//! The unescaped and the lower-cased form of a long text are made once, however many leaves read
//! it; and if many leaves search one field for text, one pass searches for all of it.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

use aho_corasick::{Anchored, MatchKind, automaton::Automaton as _, nfa::contiguous::NFA};

use super::{
    Condition, Facts, Leaf, Matcher, Subject, TextTest,
    evaluate::Look,
    fold,
    meter::{Halt, Meter},
};
use crate::entity::{Path, Shape, Value};
use crate::model::Types;

/// Shorter text is searched directly, in bytes.
const LONG: usize = 1 << 10;

/// The number of leaves that search one field from which a common pass is worth it.
const MANY: usize = 4;

/// The maximum number of bytes that one pass searches for: the automaton may be a thousand times as
/// large.
const SOUGHT_MAX: usize = 32 << 10;

/// How many bytes are read between two checks of the meter.
const STEP: usize = 16 << 10;

/// The cost of a leaf beside what it reads.
const LEAF: usize = 32;

/// How much longer comparing two values takes than reading them.
const COMPARED: usize = 8;

/// How much longer folding a character takes than reading a byte.
const FOLDED: usize = 4;

/// One evaluation of a condition on one document.
pub(super) struct Scan<'c, 'd> {
    condition: &'c Condition,
    meter: &'c Meter<'c>,
    /// By position in the document.
    texts: HashMap<usize, Text<'d>>,
    /// The common passes; made when first needed.
    passes: Option<Passes>,
    /// Which texts of a pass occur in the text at a position.
    found: HashMap<(usize, usize), Vec<bool>>,
}

/// A long text of the document.
struct Text<'d> {
    plain: Cow<'d, str>,
    folded: Option<Box<str>>,
}

/// All common passes.
#[derive(Default)]
struct Passes {
    passes: Vec<Pass>,
    /// By number of the leaf: its pass, and its text in that pass.
    of_leaf: HashMap<u32, (usize, usize)>,
}

/// Text that is searched for in one field at once.
struct Pass {
    texts: Vec<Box<str>>,
    automaton: Option<NFA>,
}

impl<'c> Scan<'c, '_> {
    pub(super) fn new(condition: &'c Condition, meter: &'c Meter<'c>) -> Self {
        Self {
            condition,
            meter,
            texts: HashMap::new(),
            passes: None,
            found: HashMap::new(),
        }
    }
}

impl<'d> Look<'d> for Scan<'_, 'd> {
    type Halt = Halt;

    fn begin(&mut self, leaf: &Leaf, facts: &Facts<'d>) -> Result<(), Halt> {
        let mut units = LEAF + facts.document.extent();
        if matches!(leaf.matcher, Matcher::Changed { .. }) {
            let before = facts.before.map_or(0, Value::extent);
            units = COMPARED * (units + before);
        }
        self.meter.spend(units)
    }

    fn matches(&mut self, leaf: &Leaf, value: Value<'d>, declared: Types) -> Result<bool, Halt> {
        let length = value.json().len();
        let is_long_text = length >= LONG && value.json().starts_with('"');
        match &leaf.matcher {
            Matcher::Text {
                test,
                fold,
                negated,
                operand: Some(operand),
            } if is_long_text => {
                let holds = self.text_holds(leaf, *test, *fold, operand, value)?;
                Ok(holds != *negated)
            }
            Matcher::Pattern(pattern) => {
                if is_long_text {
                    let meter = self.meter;
                    let text = self.text(value)?;
                    return pattern.is_match_within(&text.plain, meter);
                }
                let text = value.as_str();
                text.map_or(Ok(false), |text| pattern.is_match_within(&text, self.meter))
            }
            Matcher::IsNull | Matcher::NotNull => {
                Ok(value.is_null() == matches!(leaf.matcher, Matcher::IsNull))
            }
            matcher if is_long_text => {
                // Compared as text, which ends at the first difference, or as a time.
                self.meter.spend(length / 16)?;
                let shape = Shape::String(Cow::Borrowed(&self.text(value)?.plain));
                Ok(matcher.matches(&shape, declared))
            }
            Matcher::Changed { .. }
            | Matcher::Compare(..)
            | Matcher::Between { .. }
            | Matcher::In { .. }
            | Matcher::Text { .. }
            | Matcher::BadPattern(_) => {
                let is_scalar = !value.is_object();
                self.meter
                    .spend(LEAF + if is_scalar { length } else { 0 })?;
                Ok(leaf.matcher.matches(&value.shape(), declared))
            }
        }
    }
}

impl<'d> Scan<'_, 'd> {
    fn text_holds(
        &mut self,
        leaf: &Leaf,
        test: TextTest,
        fold: bool,
        operand: &str,
        value: Value<'d>,
    ) -> Result<bool, Halt> {
        if test == TextTest::Contains
            && let Some((pass, text)) = self.pass_of(leaf)
        {
            return self.is_found(pass, text, fold, value);
        }
        let meter = self.meter;
        if fold && test == TextTest::Equals {
            // It ends at the first difference.
            meter.spend(FOLDED * operand.len())?;
            return Ok(test.holds(&self.text(value)?.plain, operand, true));
        }
        let long = self.text(value)?.as_looked_for(fold, meter)?;
        meter.spend(match test {
            TextTest::Contains => long.len(),
            TextTest::Equals | TextTest::StartsWith | TextTest::EndsWith => operand.len(),
        })?;
        Ok(test.holds(long, operand, false))
    }

    /// The long text of a value.
    fn text(&mut self, value: Value<'d>) -> Result<&mut Text<'d>, Halt> {
        let json = value.json();
        match self.texts.entry(json.as_ptr().addr()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                self.meter.spend(json.len())?;
                Ok(place.insert(Text {
                    plain: value.as_str().unwrap_or_default(),
                    folded: None,
                }))
            }
        }
    }

    /// The pass that contains the text of a leaf.
    fn pass_of(&mut self, leaf: &Leaf) -> Option<(usize, usize)> {
        let condition = self.condition;
        let passes = self.passes.get_or_insert_with(|| Passes::of(condition));
        passes.of_leaf.get(&leaf.index).copied()
    }

    /// Whether the text of a pass occurs in a value.
    fn is_found(
        &mut self,
        pass: usize,
        text: usize,
        fold: bool,
        value: Value<'d>,
    ) -> Result<bool, Halt> {
        let place = (value.json().as_ptr().addr(), pass);
        if !self.found.contains_key(&place) {
            self.text(value)?;
            let (Some(passes), Some(long)) = (&mut self.passes, self.texts.get_mut(&place.0))
            else {
                return Ok(false);
            };
            let long = long.as_looked_for(fold, self.meter)?;
            let found = passes.passes[pass].find_in(long, self.meter)?;
            self.found.insert(place, found);
        }
        let found = self.found.get(&place);
        Ok(found.is_some_and(|found| found[text]))
    }
}

impl Text<'_> {
    /// The text to search, lower-cased or as it is.
    fn as_looked_for(&mut self, fold: bool, meter: &Meter<'_>) -> Result<&str, Halt> {
        if fold {
            return self.folded(meter);
        }
        Ok(&self.plain)
    }

    /// In lower case. Each character is changed by itself, so it can be done in parts.
    fn folded(&mut self, meter: &Meter<'_>) -> Result<&str, Halt> {
        if self.folded.is_none() {
            let mut rest = &*self.plain;
            meter.spend(rest.len())?;
            let mut folded = String::with_capacity(rest.len());
            while !rest.is_empty() {
                let (part, further) = rest.split_at(rest.ceil_char_boundary(STEP));
                folded.push_str(&fold::lower(part));
                meter.spend(part.len())?;
                rest = further;
            }
            self.folded = Some(folded.into());
        }
        Ok(self.folded.as_deref().unwrap_or_default())
    }
}

impl Passes {
    fn of(condition: &Condition) -> Self {
        let mut fields: HashMap<(&Path, bool), Vec<(u32, &str)>> = HashMap::new();
        collect(condition, &mut fields);
        let mut all = Self::default();
        for ((_, _), leaves) in fields
            .into_iter()
            .filter(|(_, leaves)| leaves.len() >= MANY)
        {
            let mut texts: Vec<Box<str>> = Vec::new();
            let mut known: HashMap<&str, usize> = HashMap::new();
            let mut bytes = 0;
            for (leaf, text) in leaves {
                if bytes + text.len() > SOUGHT_MAX {
                    all.passes.push(Pass::of(std::mem::take(&mut texts)));
                    known.clear();
                    bytes = 0;
                }
                let at = *known.entry(text).or_insert_with(|| {
                    bytes += text.len();
                    texts.push(text.into());
                    texts.len() - 1
                });
                all.of_leaf.insert(leaf, (all.passes.len(), at));
            }
            all.passes.push(Pass::of(texts));
        }
        all
    }
}

/// The leaves that search a field for text, by field and case sensitivity.
fn collect<'c>(
    condition: &'c Condition,
    fields: &mut HashMap<(&'c Path, bool), Vec<(u32, &'c str)>>,
) {
    match condition {
        Condition::Leaf(leaf) => {
            if let Matcher::Text {
                test: TextTest::Contains,
                fold,
                operand: Some(operand),
                ..
            } = &leaf.matcher
                && let Subject::Field(path) | Subject::Either(path, _) = &leaf.subject
                && operand.len() <= LONG
            {
                let leaves = fields.entry((path, *fold)).or_default();
                leaves.push((leaf.index, operand));
            }
        }
        Condition::Function(function) => {
            if let Some(condition) = &function.quick_exit {
                collect(condition, fields);
            }
        }
        Condition::Group { children, .. } => {
            for child in children {
                collect(child, fields);
            }
        }
    }
}

impl Pass {
    const fn of(texts: Vec<Box<str>>) -> Self {
        Self {
            texts,
            automaton: None,
        }
    }

    /// Which of its texts occur in a text.
    fn find_in(&mut self, text: &str, meter: &Meter<'_>) -> Result<Vec<bool>, Halt> {
        let mut found: Vec<bool> = self.texts.iter().map(|text| text.is_empty()).collect();
        if self.automaton.is_none() {
            meter
                .spend(STATES_TO_BYTES * self.texts.iter().map(|text| text.len()).sum::<usize>())?;
            let built = NFA::builder()
                .match_kind(MatchKind::Standard)
                .prefilter(false)
                .build(self.texts.iter().map(|text| text.as_bytes()));
            self.automaton = built.ok();
        }
        let Some(automaton) = &self.automaton else {
            return self.find_one_by_one(text, meter);
        };
        let Ok(mut state) = automaton.start_state(Anchored::No) else {
            return self.find_one_by_one(text, meter);
        };
        let mut missing = found.iter().filter(|found| !**found).count();
        // A state reports everything that ends there, each time it is reached.
        let mut seen = std::collections::HashSet::new();
        for part in text.as_bytes().chunks(STEP) {
            meter.spend(part.len())?;
            if missing == 0 {
                break;
            }
            for byte in part {
                state = automaton.next_state(Anchored::No, state, *byte);
                if automaton.is_special(state) && automaton.is_match(state) && seen.insert(state) {
                    let matches = automaton.match_len(state);
                    meter.spend(matches)?;
                    for at in 0..matches {
                        let found = &mut found[automaton.match_pattern(state, at).as_usize()];
                        missing -= usize::from(!std::mem::replace(found, true));
                    }
                }
            }
        }
        Ok(found)
    }

    fn find_one_by_one(&self, text: &str, meter: &Meter<'_>) -> Result<Vec<bool>, Halt> {
        let is_found = |sought: &str| {
            meter.spend(text.len())?;
            Ok(text.contains(sought))
        };
        self.texts.iter().map(|sought| is_found(sought)).collect()
    }
}

/// The cost of building a pass, for each byte of its texts.
const STATES_TO_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::Timestamp;
    use crate::condition::{FunctionResults, Lifecycle, Trace, Verdict};
    use crate::entity::Document;
    use crate::id::{EntityId, TransactionId};
    use crate::model::Schema;

    fn facts<'a>(document: &'a Document, schema: &'a Schema) -> Facts<'a> {
        Facts {
            document: document.root(),
            before: None,
            schema,
            lifecycle: Lifecycle {
                id: EntityId::NIL,
                state: "NEW",
                created: Timestamp::from_micros(0),
                updated: Timestamp::from_micros(0),
                previous_transition: "",
                transaction: TransactionId::NIL,
            },
            absent_lists_are_null: false,
        }
    }

    fn leaf(path: &str, operator: &str, value: &serde_json::Value) -> String {
        format!(
            r#"{{"type":"simple","jsonPath":"{path}","operatorType":"{operator}","value":{value}}}"#
        )
    }

    fn group(operator: &str, children: &[String]) -> String {
        let children = children.join(",");
        format!(r#"{{"type":"group","operator":"{operator}","conditions":[{children}]}}"#)
    }

    /// The result of both evaluators, which must be equal, traces included.
    fn both(document: &str, condition: &str) -> bool {
        let document = Document::parse(document).expect("JSON");
        let schema = Schema::infer(&document);
        let condition = Condition::parse_criterion(condition).expect(condition);
        let facts = facts(&document, &schema);
        let (mut plain, mut counted) = (Trace::default(), Trace::default());
        let stop = AtomicBool::new(false);
        let meter = Meter::new(&stop);
        let one = condition.evaluate(facts, &FunctionResults::new(), Some(&mut plain));
        let other = condition
            .evaluate_within(facts, &FunctionResults::new(), Some(&mut counted), &meter)
            .expect("within limits");
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert_eq!(plain.outcomes, counted.outcomes);
        assert_eq!(
            condition.holds_without_patterns(facts),
            condition
                .holds_without_patterns_within(facts, &meter)
                .expect("within limits")
        );
        matches!(one, Verdict::Holds)
    }

    fn texts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[abcABC]{1,6}",
            Just("ΑΣ ΣΑΣ".to_owned()),
            Just("İSTANBUL".to_owned()),
            Just("Straße\n\"".to_owned()),
            Just("x".repeat(900)),
            Just("Ab".repeat(700)),
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    const TESTS: &[&str] = &[
        "CONTAINS",
        "NOT_CONTAINS",
        "ICONTAINS",
        "INOT_CONTAINS",
        "STARTS_WITH",
        "ISTARTS_WITH",
        "IENDS_WITH",
        "IEQUALS",
        "EQUALS",
        "NOT_EQUAL",
        "GREATER_THAN",
        "LIKE",
        "MATCHES_PATTERN",
        "IS_NULL",
        "NOT_NULL",
        "IN",
    ];

    fn leaves() -> impl Strategy<Value = String> {
        let path = prop::sample::select(vec![
            "$.s", "$.t", "$.l", "$.l[*]", "$.o.s", "$.none", "$.o",
        ]);
        let operand = prop_oneof![
            "[abcABC]{0,3}",
            Just("ας".to_owned()),
            Just("σασ".to_owned()),
            Just("i̇s".to_owned()),
            Just("ß\n".to_owned()),
            Just("b".repeat(2_000)),
            Just("%a%".to_owned()),
            Just(".*(a|bc)\\s?.*".to_owned()),
        ];
        (path, prop::sample::select(TESTS), operand).prop_map(|(path, test, operand)| {
            if test == "IN" {
                return leaf(path, test, &serde_json::json!([operand, "a", 1]));
            }
            leaf(path, test, &serde_json::json!(operand))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn counting_changes_nothing(
            texts in prop::collection::vec(texts(), 5),
            leaves in prop::collection::vec(leaves(), 1..24),
            connective in prop::sample::select(vec!["AND", "OR", "NOT"]),
        ) {
            let document = serde_json::json!({
                "s": texts[0], "t": texts[1], "l": [texts[2], 7, null, texts[3]], "o": {"s": texts[4]},
            });
            both(&document.to_string(), &group(connective, &leaves));
            // If a leaf decides early, little is read.
            let all: Vec<_> = leaves.iter().map(|leaf| {
                group("OR", &[group("NOT", std::slice::from_ref(leaf)), leaf.clone(), group("AND", &[])])
            }).collect();
            both(&document.to_string(), &group("AND", &all));
        }
    }

    #[test]
    fn many_leaves_over_one_text_take_one_pass() {
        let text = "Lorem IPSUM ".repeat(20_000);
        let document = Document::parse(&format!(r#"{{"s":"{text}"}}"#)).expect("JSON");
        let schema = Schema::infer(&document);
        let leaves: Vec<_> = (0..1_500)
            .map(|n| leaf("$.s", "ICONTAINS", &format!("ipsum{n}").into()))
            .collect();
        let condition = Condition::parse(&group("OR", &leaves)).expect("a condition");
        let stop = AtomicBool::new(false);
        // Folded, unescaped and gone through: not once for each leaf.
        let meter = Meter::with_limit(&stop, 8 * text.len() as u64);
        assert_eq!(
            condition.holds_within(facts(&document, &schema), &meter),
            Ok(false)
        );
    }

    #[test]
    fn texts_that_are_parts_of_each_other_are_all_found() {
        let document = format!(r#"{{"s":"{}"}}"#, "a".repeat(3_000));
        let leaves = (0..150).map(|n| leaf("$.s", "CONTAINS", &"a".repeat(n).into()));
        assert!(both(&document, &group("AND", &leaves.collect::<Vec<_>>())));
    }

    #[test]
    fn an_evaluation_stops_at_its_limit_and_when_nobody_waits() {
        let text = "x".repeat(1_000_000);
        let document = Document::parse(&format!(r#"{{"s":"{text}"}}"#)).expect("JSON");
        let schema = Schema::infer(&document);
        for test in ["ICONTAINS", "CONTAINS", "EQUALS", "LIKE", "NOT_EQUAL"] {
            let condition =
                Condition::parse(&leaf("$.s", test, &"y%".into())).expect("a condition");
            let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
            let facts = facts(&document, &schema);
            assert_eq!(
                condition.holds_within(facts, &Meter::with_limit(&go, 1_000)),
                Err(Halt::Limit { limit: 1_000 }),
                "{test}"
            );
            assert_eq!(
                condition.holds_within(facts, &Meter::new(&stop)),
                Err(Halt::Stopped),
                "{test}"
            );
        }
    }
}
