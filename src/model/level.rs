//! How far a document may extend its model (`models-and-entities.md` §4.3).
//!
//! The schema inferred from the document is compared with the model's, node by node: types must be
//! equal, not only assignable, and each difference needs a level. What the level permits becomes a
//! delta that contains only what is new, so that concurrent deltas merge without a conflict.

use std::{fmt, fmt::Write as _};

use super::{
    check::expected_kind,
    infer::seen,
    place::{Listed, push_member},
    schema::{Node, Schema, SchemaMembers},
    types::{DataType, Types},
};
use crate::compat::Compat;
use crate::entity::Document;
use crate::error::{Code, Coded};

/// How far documents may extend the model; each level permits what the lower ones do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeLevel {
    /// Lists may be longer than before.
    ArrayLength,
    /// Elements of lists may have other types.
    ArrayElements,
    /// Members may have other types.
    Type,
    /// There may be new fields.
    Structural,
}

impl ChangeLevel {
    pub const ALL: [Self; 4] = [
        Self::ArrayLength,
        Self::ArrayElements,
        Self::Type,
        Self::Structural,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ArrayLength => "ARRAY_LENGTH",
            Self::ArrayElements => "ARRAY_ELEMENTS",
            Self::Type => "TYPE",
            Self::Structural => "STRUCTURAL",
        }
    }

    /// The level of that name; names are case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// What a document adds to its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Only what is new.
    pub delta: Schema,
    /// The level that it needs.
    pub needs: ChangeLevel,
}

/// Why a document may not extend its model that far.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("change level violation: {}", self.list())]
pub struct Excess {
    level: ChangeLevel,
    listed: Vec<Violation>,
    /// How many are not listed.
    more: usize,
    size: Listed,
    /// Whether one of them is not permitted by any level.
    is_polymorphic: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    path: String,
    difference: Difference,
    /// None if no level permits it.
    needs: Option<ChangeLevel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Difference {
    NewField,
    Types {
        declared: Types,
        found: Types,
    },
    /// An object, a list or a scalar in the place of another.
    Kind {
        declared: &'static str,
        found: &'static str,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewField => f.write_str("a new field"),
            Self::Types { declared, found } => write!(f, "{found} where {declared} is declared"),
            Self::Kind { declared, found } => write!(f, "{found} where {declared} is declared"),
        }
    }
}

impl Excess {
    fn list(&self) -> String {
        let mut text = String::new();
        for violation in &self.listed {
            if !text.is_empty() {
                text.push_str("; ");
            }
            if !violation.path.is_empty() {
                let _ = write!(text, "{}: ", violation.path);
            }
            let _ = match violation.needs {
                Some(needs) => write!(
                    text,
                    "{} requires {} level, but level is \"{}\"",
                    violation.difference,
                    needs.as_str(),
                    self.level.as_str()
                ),
                None => write!(text, "{}, which no level permits", violation.difference),
            };
        }
        if self.more > 0 {
            let _ = write!(text, "; and {} more", self.more);
        }
        text
    }
}

impl Coded for Excess {
    fn code(&self) -> Code {
        if self.is_polymorphic {
            Code::PolymorphicSlot
        } else {
            Code::BadRequest
        }
    }
}

/// What a document adds to a schema at a level; none if nothing is new.
pub(super) fn extension(
    schema: &Schema,
    document: &Document,
    level: ChangeLevel,
    compat: Compat,
) -> Result<Option<Extension>, Excess> {
    let mut comparison = Comparison::at(level, compat);
    let delta = comparison.node(&schema.root, seen(document.root()), Slot::Field);
    let Comparison { needs, excess, .. } = comparison;
    if excess.listed.is_empty() {
        Ok(delta.map(|root| Extension {
            delta: Schema { root },
            needs,
        }))
    } else {
        Err(excess)
    }
}

impl Schema {
    /// Checks that a delta, which was computed against an earlier state of this schema, may still be
    /// merged: fields and types of concurrent writers commute, but one place takes objects, lists or
    /// scalars, as it would if the writers came one after the other.
    pub fn check_delta(&self, delta: &Self) -> Result<(), Excess> {
        // The level is checked elsewhere, and all profiles have the same kinds.
        let mut comparison = Comparison::at(ChangeLevel::Structural, Compat::Documented);
        comparison.node(&self.root, delta.root.clone(), Slot::Field);
        if comparison.excess.is_polymorphic {
            return Err(comparison.excess);
        }
        Ok(())
    }
}

/// The kind of place of a node, which decides the level that another type needs.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Field,
    Element,
}

impl Slot {
    const fn level(self) -> ChangeLevel {
        match self {
            Self::Field => ChangeLevel::Type,
            Self::Element => ChangeLevel::ArrayElements,
        }
    }
}

struct Comparison {
    compat: Compat,
    /// The current path, long names shortened: `lines[*].qty`.
    path: String,
    /// The highest level needed so far.
    needs: ChangeLevel,
    excess: Excess,
}

impl Comparison {
    fn at(level: ChangeLevel, compat: Compat) -> Self {
        Self {
            compat,
            path: String::new(),
            needs: ChangeLevel::ArrayLength,
            excess: Excess {
                level,
                listed: Vec::new(),
                more: 0,
                size: Listed::default(),
                is_polymorphic: false,
            },
        }
    }

    /// Compares something below the current path.
    fn within<T>(
        &mut self,
        part: impl FnOnce(&mut String),
        compare: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let len = self.path.len();
        part(&mut self.path);
        let compared = compare(self);
        self.path.truncate(len);
        compared
    }

    fn differs(&mut self, needs: ChangeLevel, difference: Difference) {
        self.needs = self.needs.max(needs);
        if needs > self.excess.level {
            self.report(Some(needs), difference);
        }
    }

    fn is_polymorphic(&mut self, known: &Node, found: &'static str) {
        self.excess.is_polymorphic = true;
        let declared = expected_kind(known);
        self.report(None, Difference::Kind { declared, found });
    }

    fn report(&mut self, needs: Option<ChangeLevel>, difference: Difference) {
        if !self.excess.size.has_room() {
            self.excess.more += 1;
            return;
        }
        self.excess.size.add(&self.path);
        self.excess.listed.push(Violation {
            path: self.path.clone(),
            difference,
            needs,
        });
    }

    /// What `found` adds to `known`.
    fn node(&mut self, known: &Node, found: Node, slot: Slot) -> Option<Node> {
        let delta = Node {
            types: self.types(known, &found, slot),
            members: found
                .members
                .and_then(|members| self.members(known, members, slot)),
            element: found
                .element
                .and_then(|element| self.element(known, *element, slot))
                .map(Box::new),
        };
        (delta.is_structure() || !delta.types.is_empty()).then_some(delta)
    }

    fn types(&mut self, known: &Node, found: &Node, slot: Slot) -> Types {
        let (declared, types) = (known.types, found.types);
        if types.is_empty() {
            return Types::EMPTY;
        }
        if known.is_structure() && declared.is_without_value() {
            return match (types.is_without_value(), declared.is_empty()) {
                (false, _) => {
                    self.is_polymorphic(known, "a scalar");
                    Types::EMPTY
                }
                (true, false) => Types::EMPTY,
                // A field may become null, the document may not.
                (true, true) if self.path.is_empty() => {
                    self.is_polymorphic(known, DataType::Null.as_str());
                    Types::EMPTY
                }
                (true, true) => {
                    let declared = expected_kind(known);
                    let found = DataType::Null.as_str();
                    self.differs(slot.level(), Difference::Kind { declared, found });
                    types
                }
            };
        }
        if types.says_the_same_as(declared, self.compat) {
            return Types::EMPTY;
        }
        self.differs(
            slot.level(),
            Difference::Types {
                declared,
                found: types,
            },
        );
        types.beyond(declared, self.compat)
    }

    /// Whether a structure may replace null; if so, that is noted.
    fn replaces_null(&mut self, known: &Node, found: &'static str, slot: Slot) -> bool {
        let fits = !known.is_structure() && known.types.is_without_value();
        if fits {
            let declared = DataType::Null.as_str();
            self.differs(slot.level(), Difference::Kind { declared, found });
        } else {
            self.is_polymorphic(known, found);
        }
        fits
    }

    fn members(&mut self, known: &Node, found: SchemaMembers, slot: Slot) -> Option<SchemaMembers> {
        let Some(declared) = &known.members else {
            let fits = self.replaces_null(known, "object", slot);
            let settled = |(name, node): (_, Node)| (name, node.settled());
            return fits.then(|| found.into_iter().map(settled).collect());
        };
        let mut new = SchemaMembers::default();
        for (name, node) in found {
            let step = |path: &mut String| push_member(path, &name);
            let delta = self.within(step, |comparison| {
                if let Some(known) = declared.get(&name) {
                    return comparison.node(known, node, Slot::Field);
                }
                comparison.differs(ChangeLevel::Structural, Difference::NewField);
                Some(node.settled())
            });
            if let Some(delta) = delta {
                new.insert(name, delta);
            }
        }
        (!new.is_empty()).then_some(new)
    }

    fn element(&mut self, known: &Node, found: Node, slot: Slot) -> Option<Node> {
        let Some(declared) = &known.element else {
            let fits = self.replaces_null(known, "array", slot);
            return fits.then(|| found.settled_element());
        };
        self.within(
            |path| path.push_str("[*]"),
            |comparison| comparison.node(declared, found, Slot::Element),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::oracle::any_sample;

    const SAMPLE: &str = r#"{"sku":"A","qty":3,"price":1.5,"tags":["x"],"dims":{"w":1.5},
        "lines":[{"n":1}],"none":null,"empty":[],"many":[1,"x"],"both":[1,{"a":1}],"day":"2024-01-01"}"#;

    fn schema(sample: &str) -> Schema {
        Schema::infer(&Document::parse(sample).expect(sample))
    }

    /// The level that a document needs (`-` for none), or what no level permits.
    fn needs(document: &str, compat: Compat) -> String {
        let (schema, document) = (schema(SAMPLE), Document::parse(document).expect(document));
        let at = |level| extension(&schema, &document, level, compat);
        if let Err(excess) = at(ChangeLevel::Structural) {
            return excess.to_string();
        }
        let enough = ChangeLevel::ALL
            .into_iter()
            .find(|level| at(*level).is_ok());
        let enough = enough.expect("the highest is enough");
        match at(enough).expect("enough") {
            Some(extension) => assert!(extension.needs <= enough),
            None if enough == ChangeLevel::ArrayLength => return "-".to_owned(),
            None => return format!("{} for nothing new", enough.as_str()),
        }
        enough.as_str().to_owned()
    }

    #[test]
    fn each_difference_needs_the_level_of_the_table() {
        for (document, level) in [
            (SAMPLE, "-"),
            ("{}", "-"),
            (r#"{"tags":["x","y","z"]}"#, "-"),
            (r#"{"tags":[]}"#, "-"),
            (r#"{"lines":[]}"#, "-"),
            (r#"{"sku":"2024","day":"no day"}"#, "-"),
            (r#"{"tags":["x",null]}"#, "-"),
            (r#"{"tags":[1]}"#, "ARRAY_ELEMENTS"),
            (r#"{"tags":[null]}"#, "ARRAY_ELEMENTS for nothing new"),
            (r#"{"lines":[{"n":1},null]}"#, "ARRAY_ELEMENTS"),
            (r#"{"empty":["x"]}"#, "ARRAY_ELEMENTS"),
            (r#"{"empty":[{"n":1}]}"#, "ARRAY_ELEMENTS"),
            (r#"{"many":[1]}"#, "ARRAY_ELEMENTS for nothing new"),
            (r#"{"many":["x",7]}"#, "-"),
            (r#"{"both":[1,{"a":2}]}"#, "-"),
            (r#"{"both":[{"a":2}]}"#, "-"),
            (r#"{"both":[1.5]}"#, "ARRAY_ELEMENTS"),
            (r#"{"qty":"abc"}"#, "TYPE"),
            (r#"{"qty":13.111}"#, "TYPE"),
            (r#"{"price":2}"#, "TYPE for nothing new"),
            (r#"{"sku":null}"#, "TYPE for nothing new"),
            (r#"{"lines":[{"n":"x"}]}"#, "TYPE"),
            (r#"{"dims":null}"#, "TYPE"),
            (r#"{"tags":null}"#, "TYPE"),
            (r#"{"none":"x"}"#, "TYPE"),
            (r#"{"none":{"a":1}}"#, "TYPE"),
            (r#"{"none":[]}"#, "TYPE"),
            (r#"{"new":null}"#, "STRUCTURAL"),
            (r#"{"dims":{"h":1}}"#, "STRUCTURAL"),
            (r#"{"lines":[{"m":1}]}"#, "STRUCTURAL"),
            (
                r#"{"dims":[1]}"#,
                "change level violation: dims: array where object is declared, which no level permits",
            ),
            (
                "null",
                "change level violation: NULL where object is declared, which no level permits",
            ),
            (
                r#"{"dims":1}"#,
                "change level violation: dims: a scalar where object is declared, which no level permits",
            ),
            (
                r#"{"tags":{"a":1},"sku":["x"],"qty":"x"}"#,
                "change level violation: sku: array where a scalar is declared, which no level permits; \
                 tags: object where array is declared, which no level permits",
            ),
            (
                r#"{"tags":[["x"]]}"#,
                "change level violation: tags[*]: array where a scalar is declared, which no level permits",
            ),
            (
                "[]",
                "change level violation: array where object is declared, which no level permits",
            ),
        ] {
            assert_eq!(needs(document, Compat::Documented), level, "{document}");
        }
        assert_eq!(needs(r#"{"sku":"2024"}"#, Compat::Cyoda08), "TYPE");
    }

    #[test]
    fn deltas_of_the_same_schema_merge_unless_they_make_two_kinds_of_one_place() {
        let known = schema(r#"{"a":1,"none":null,"empty":[]}"#);
        for (first, second, refused) in [
            (r#"{"b":1}"#, r#"{"b":"x","c":{"d":1}}"#, None),
            (r#"{"b":{"c":1}}"#, r#"{"b":{"d":[1]}}"#, None),
            (r#"{"b":null}"#, r#"{"b":{"c":1}}"#, None),
            (r#"{"b":{"c":1}}"#, r#"{"b":null}"#, None),
            (r#"{"b":[]}"#, r#"{"b":[{"c":1}]}"#, None),
            (r#"{"b":[1,{"c":1}]}"#, r#"{"b":[1,{"c":1}]}"#, None),
            (
                r#"{"b":1}"#,
                r#"{"b":{"c":1}}"#,
                Some("b: object where a scalar is declared"),
            ),
            (
                r#"{"b":{"c":1}}"#,
                r#"{"b":1}"#,
                Some("b: a scalar where object is declared"),
            ),
            (
                r#"{"b":{"c":1}}"#,
                r#"{"b":[1]}"#,
                Some("b: array where object is declared"),
            ),
            (
                r#"{"none":1}"#,
                r#"{"none":[1]}"#,
                Some("none: array where a scalar is declared"),
            ),
            (
                r#"{"empty":[1]}"#,
                r#"{"empty":[[1]]}"#,
                Some("empty[*]: array where a scalar is declared"),
            ),
            (
                r#"{"b":{"c":1}}"#,
                r#"{"b":{"c":[1]}}"#,
                Some("b.c: array where a scalar is declared"),
            ),
        ] {
            let delta = |sample: &str| {
                let document = Document::parse(sample).expect(sample);
                let level = ChangeLevel::Structural;
                let added = extension(&known, &document, level, Compat::Documented);
                added.expect("permitted").expect("new").delta
            };
            let grown = known.clone().merge(delta(first));
            let checked = grown.check_delta(&delta(second));
            let said = checked.map_err(|excess| {
                assert_eq!(excess.code(), Code::PolymorphicSlot);
                excess.to_string()
            });
            match refused {
                None => assert_eq!(said, Ok(()), "{first} {second}"),
                Some(why) => {
                    let said = said.expect_err(second);
                    assert!(said.contains(why), "{said}");
                }
            }
        }
    }

    #[test]
    fn a_violation_says_where_what_and_which_level() {
        let (schema, document) = (
            schema(r#"{"a":1,"b":[1]}"#),
            Document::parse(r#"{"a":"x","b":["x"],"c":1}"#).expect("JSON"),
        );
        let excess = extension(
            &schema,
            &document,
            ChangeLevel::ArrayLength,
            Compat::Documented,
        )
        .expect_err("too much");
        assert_eq!(
            excess.to_string(),
            "change level violation: a: STRING where INTEGER is declared requires TYPE level, but level is \"ARRAY_LENGTH\"; \
             b[*]: STRING where INTEGER is declared requires ARRAY_ELEMENTS level, but level is \"ARRAY_LENGTH\"; \
             c: a new field requires STRUCTURAL level, but level is \"ARRAY_LENGTH\""
        );
    }

    #[test]
    fn new_fields_below_a_long_name_make_a_short_message() {
        let (name, count) = ("k".repeat(100_000), 1_500);
        let schema = schema(&format!("{{\"{name}\":{{\"b\":1}}}}"));
        let members: Vec<_> = (0..count).map(|n| format!("\"x{n}\":1")).collect();
        let document = format!("{{\"{name}\":{{{}}}}}", members.join(","));
        let document = Document::parse(&document).expect("JSON");
        let level = ChangeLevel::Type;
        let excess = extension(&schema, &document, level, Compat::Documented);
        let excess = excess.expect_err("too much");
        assert_eq!(excess.listed.len() + excess.more, count);
        let message = excess.to_string();
        assert!(message.len() < 512 << 10, "{}", message.len());
    }

    #[test]
    fn a_null_that_became_known_at_a_structure_is_no_difference_any_more() {
        let (schema, document) = (
            schema(r#"{"a":{"b":1}}"#),
            Document::parse(r#"{"a":null}"#).expect("JSON"),
        );
        let at = |schema: &Schema| {
            extension(schema, &document, ChangeLevel::Type, Compat::Documented).expect("permitted")
        };
        let grown = schema.clone().merge(at(&schema).expect("new").delta);
        assert_eq!(at(&grown), None);
    }

    proptest! {
        #[test]
        fn what_was_extended_takes_the_document_and_has_nothing_more_to_learn_from_it(a in any_sample(), b in any_sample()) {
            let (schema, document) = (schema(&a), Document::parse(&b).expect("JSON"));
            for compat in [Compat::Documented, Compat::Cyoda08] {
                if let Ok(added) = extension(&schema, &document, ChangeLevel::Structural, compat) {
                    let grown = match added {
                        Some(added) => schema.clone().merge(added.delta),
                        None => schema.clone(),
                    };
                    prop_assert!(super::super::check::violations(&grown, &document, compat).is_none());
                    let again = extension(&grown, &document, ChangeLevel::Structural, compat);
                    prop_assert_eq!(again, Ok(None));
                    // It is what importing the document as a sample would give, except for text and
                    // times, which the documented profile does not distinguish.
                    if compat == Compat::Cyoda08 {
                        let imported = schema.clone().root.merge(seen(document.root())).settled();
                        prop_assert_eq!(grown.root, imported);
                    }
                }
            }
        }

        #[test]
        fn a_delta_fits_the_schema_it_was_computed_against_and_its_own_result(a in any_sample(), b in any_sample()) {
            let (schema, document) = (schema(&a), Document::parse(&b).expect("JSON"));
            if let Ok(Some(added)) = extension(&schema, &document, ChangeLevel::Structural, Compat::Documented) {
                prop_assert_eq!(schema.check_delta(&added.delta), Ok(()));
                let grown = schema.merge(added.delta.clone());
                prop_assert_eq!(grown.check_delta(&added.delta), Ok(()));
            }
        }

        #[test]
        fn a_level_permits_what_the_lower_ones_do(a in any_sample(), b in any_sample()) {
            let (schema, document) = (schema(&a), Document::parse(&b).expect("JSON"));
            let permitted = ChangeLevel::ALL.map(|level| extension(&schema, &document, level, Compat::Documented).is_ok());
            prop_assert!(permitted.is_sorted());
        }
    }
}
