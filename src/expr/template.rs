//! JSON in which some texts are CEL expressions (`orchestration.md` 2.2).

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    CelError,
    budget::{Budget, TooMuchWork},
    cel::{self, Variable},
    members,
    path::{Segment, walk},
    quoted,
    scan::{Chain, Scan, scan},
    string,
};

/// The largest value, in bytes of JSON.
const VALUE_MAX: usize = 2 << 20;

/// The roots of expressions.
const INPUT: &str = "input";
const STEP: &str = "step";
const ERROR: &str = "error";

/// The member of `input` that is the last signal.
const SIGNAL: &str = "signal";

/// The members of `input` that a route adds to the body of its request.
const OF_ROUTE: [&str; 2] = ["params", "headers"];

/// JSON in which some texts are CEL expressions. It is stored, and compiled when it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Template {
    /// JSON that stays as it is.
    Literal(Box<str>),
    Cel(Box<str>),
    Object(Vec<(Box<str>, Self)>),
    Array(Vec<Self>),
    /// The body of the request that started the run: the input without what its route added.
    Body,
    /// A column of the row that is changed, plus or minus a value: `{"$column", "$op", "$value"}`.
    Sum {
        column: Box<str>,
        is_plus: bool,
        value: Box<Self>,
    },
    /// An expression that reads columns of the row that is changed: `{"$compute", "$values"}`, for
    /// [`compute`].
    Compute(Box<str>),
}

/// Which values an expression may read.
pub struct Scope<'a> {
    /// Whether a step has a result by then; none: there are no steps.
    pub steps: Option<&'a dyn Fn(&str) -> bool>,
    /// Whether there is an `error`.
    pub has_error: bool,
    /// Whether other names are columns of a row.
    pub has_columns: bool,
}

impl Scope<'_> {
    /// `input` and nothing else.
    pub const INPUT: Scope<'static> = Scope {
        steps: None,
        has_error: false,
        has_columns: false,
    };
}

/// What a template reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    pub input: bool,
    pub signal: bool,
    pub steps: BTreeSet<Box<str>>,
    pub error: bool,
}

/// JSON texts by root.
pub struct Values<'a> {
    pub input: &'a str,
    /// None: there was no signal, which reads as null.
    pub signal: Option<&'a str>,
    /// The result of a step; none if it has none.
    pub steps: &'a dyn Fn(&str) -> Option<&'a str>,
    /// An object with a `message`.
    pub error: Option<&'a str>,
    /// What is known of these already.
    pub read: Read<'a>,
}

/// What the texts of one template share: how much they have read, and the members of the input.
#[derive(Default)]
pub struct Read<'a> {
    budget: Budget,
    input: OnceCell<Option<IndexMap<String, &'a RawValue>>>,
}

impl<'a> Values<'a> {
    /// `input` and nothing else.
    pub fn of_input(input: &'a str) -> Self {
        Self {
            input,
            signal: None,
            steps: &|_| None,
            error: None,
            read: Read::default(),
        }
    }

    /// The members of the input, if it is an object.
    fn input_members(&self) -> Result<Option<&IndexMap<String, &'a RawValue>>, TooMuchWork> {
        if self.read.input.get().is_none() {
            self.read.budget.take(self.input.len())?;
        }
        Ok(self.read.input.get_or_init(|| members(self.input)).as_ref())
    }
}

impl Template {
    /// A text of a document: CEL if it reads a root, else the text itself.
    pub fn of_text(text: &str, scope: &Scope<'_>) -> Result<Self, CelError> {
        let is_cel = [INPUT, STEP, ERROR]
            .iter()
            .any(|root| contains_root(text, root));
        if !is_cel {
            return Ok(Self::Literal(quoted(text).into()));
        }
        let found = check(text, scope)?;
        let is_column = |chain: &Chain<'_>| ![INPUT, STEP, ERROR].contains(&chain.root);
        let columns = found.chains.iter().filter(|chain| is_column(chain)).count();
        if columns == 0 {
            return Ok(Self::Cel(text.into()));
        }
        let sum = found.sum.filter(|(column, ..)| {
            columns == 1
                && found.chains[0].root == *column
                && is_column(&found.chains[0])
                && found.chains[0].members.is_empty()
        });
        Ok(match sum {
            Some((column, sign, value)) => Self::Sum {
                column: column.into(),
                is_plus: sign == '+',
                value: Box::new(Self::Cel(value.into())),
            },
            None => Self::Compute(text.into()),
        })
    }

    /// A text as JSON.
    pub fn literal(text: &str) -> Self {
        Self::Literal(quoted(text).into())
    }

    /// What it reads, so that no more has to be loaded.
    pub fn roots(&self) -> Roots {
        let mut roots = Roots::default();
        self.collect(&mut roots);
        roots
    }

    fn collect(&self, roots: &mut Roots) {
        match self {
            Self::Literal(_) => {}
            Self::Body => roots.input = true,
            Self::Object(members) => members.iter().for_each(|(_, value)| value.collect(roots)),
            Self::Array(items) => items.iter().for_each(|item| item.collect(roots)),
            Self::Sum { value, .. } => value.collect(roots),
            Self::Cel(text) | Self::Compute(text) => {
                for chain in scan(text).unwrap_or_default().chains {
                    roots.add(&chain);
                }
            }
        }
    }

    /// The JSON text, in which each part that has no value is null; and why these have none.
    pub fn evaluate_or_null(&self, values: &Values<'_>) -> (String, Vec<CelError>) {
        let mut errors = Vec::new();
        let text = self.or_null(values, &mut errors);
        (text, errors)
    }

    fn or_null(&self, values: &Values<'_>, errors: &mut Vec<CelError>) -> String {
        match self {
            Self::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| (&**name, value.or_null(values, errors)))
                    .collect();
                object_of(members.iter().map(|(name, value)| (*name, &**value)))
            }
            Self::Array(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| item.or_null(values, errors))
                    .collect();
                format!("[{}]", items.join(","))
            }
            Self::Literal(_) | Self::Cel(_) | Self::Body | Self::Sum { .. } | Self::Compute(_) => {
                self.evaluate(values).unwrap_or_else(|error| {
                    errors.push(error);
                    "null".to_owned()
                })
            }
        }
    }

    /// The member of an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let mut members = members.iter();
        let (_, value) = members.find(|(member, _)| **member == *name)?;
        Some(value)
    }

    /// The text that it is, whatever the values.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Literal(json) => string(json),
            Self::Cel(_)
            | Self::Object(_)
            | Self::Array(_)
            | Self::Body
            | Self::Sum { .. }
            | Self::Compute(_) => None,
        }
    }

    /// The JSON text.
    pub fn evaluate(&self, values: &Values<'_>) -> Result<String, CelError> {
        let mut text = String::new();
        self.write(values, &mut text)?;
        Ok(text)
    }

    fn write(&self, values: &Values<'_>, into: &mut String) -> Result<(), CelError> {
        match self {
            Self::Literal(json) => push(into, json),
            Self::Cel(text) => push(into, &evaluated(text, values)?),
            Self::Body => push(into, &body(values.input)),
            Self::Array(items) => {
                push(into, "[")?;
                for (at, item) in items.iter().enumerate() {
                    push(into, if at > 0 { "," } else { "" })?;
                    item.write(values, into)?;
                }
                push(into, "]")
            }
            Self::Object(members) => {
                push(into, "{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    push(into, if at > 0 { "," } else { "" })?;
                    push(into, &quoted(name))?;
                    push(into, ":")?;
                    value.write(values, into)?;
                }
                push(into, "}")
            }
            Self::Sum {
                column,
                is_plus,
                value,
            } => {
                let (column, sign) = (quoted(column), if *is_plus { "+" } else { "-" });
                push(
                    into,
                    &format!(r#"{{"$column":{column},"$op":"{sign}","$value":"#),
                )?;
                value.write(values, into)?;
                push(into, "}")
            }
            Self::Compute(text) => {
                let found = scan(text)?;
                let kept = kept(&found, values)?;
                push(
                    into,
                    &format!(r#"{{"$compute":{},"$values":"#, quoted(text)),
                )?;
                push(into, &object(&kept))?;
                push(into, "}")
            }
        }
    }
}

impl Roots {
    fn add(&mut self, chain: &Chain<'_>) {
        match (chain.root, chain.members.first()) {
            (INPUT, Some(Segment::Field(name))) if &**name == SIGNAL => self.signal = true,
            (INPUT, Some(_)) => self.input = true,
            (INPUT, None) => (self.input, self.signal) = (true, true),
            (STEP, Some(Segment::Field(name))) => {
                self.steps.insert(name.clone());
            }
            (ERROR, _) => self.error = true,
            _ => {}
        }
    }

    /// The roots that either of two templates uses.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.input |= other.input;
        self.signal |= other.signal;
        self.error |= other.error;
        self.steps.extend(other.steps);
        self
    }
}

/// Checks an expression that is one whatever its text: a guard, a filter.
pub fn check_condition(text: &str) -> Result<(), CelError> {
    check(text, &Scope::INPUT).map(|_| ())
}

/// Whether a condition over `input` holds.
pub fn holds(text: &str, input: &str) -> Result<bool, CelError> {
    match &*evaluated(text, &Values::of_input(input))? {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(CelError::NotTruth),
    }
}

/// The value of an expression that reads columns: its `$compute`, its `$values` and the row, as
/// JSON texts.
pub fn compute(text: &str, values: &str, row: &str) -> Result<String, CelError> {
    let known = members(values).unwrap_or_default();
    let columns = members(row).unwrap_or_default();
    let found = scan(text)?;
    let mut variables = BTreeMap::new();
    for chain in &found.chains {
        let value = known.get(chain.root).or_else(|| columns.get(chain.root));
        let missing = || CelError::NoColumn(chain.root.to_owned());
        let value = value.ok_or_else(missing)?.get();
        variables.insert(chain.root, Cow::Borrowed(value));
    }
    run(text, &variables, &Budget::default())
}

fn push(into: &mut String, text: &str) -> Result<(), CelError> {
    if into.len() + text.len() > VALUE_MAX {
        return Err(CelError::TooLarge(VALUE_MAX));
    }
    into.push_str(text);
    Ok(())
}

/// Whether a text reads a root: by the word, as authors of documents expect it.
fn contains_root(text: &str, root: &str) -> bool {
    text.match_indices(root)
        .any(|(at, _)| text[at + root.len()..].starts_with('.'))
}

/// Checks a text where it is written: later it is evaluated as it is.
fn check<'a>(text: &'a str, scope: &Scope<'_>) -> Result<Scan<'a>, CelError> {
    let found = scan(text)?;
    for chain in &found.chains {
        match (chain.root, scope.steps) {
            (INPUT, _) => {}
            (STEP, Some(steps)) => match chain.members.first() {
                Some(Segment::Field(name)) if steps(name) => {}
                Some(Segment::Field(name)) => return Err(CelError::NoStep(name.to_string())),
                Some(Segment::Element(_)) | None => return Err(CelError::StepWithoutName),
            },
            (ERROR, _) if scope.has_error => {}
            (ERROR, Some(_)) => return Err(CelError::NoErrorHere),
            (root, _) if scope.has_columns && root != STEP && root != ERROR => {
                if !chain.members.is_empty() {
                    return Err(CelError::Undeclared(root.to_owned(), known(scope)));
                }
            }
            (root, _) => return Err(CelError::Undeclared(root.to_owned(), known(scope))),
        }
    }
    cel::compile(text)?;
    Ok(found)
}

/// The names that are there, for messages.
fn known(scope: &Scope<'_>) -> &'static str {
    match (scope.steps.is_some(), scope.has_error, scope.has_columns) {
        (false, ..) => "input",
        (true, false, false) => "input, step",
        (true, false, true) => "input, step, and columns of the row",
        (true, true, false) => "input, step, error",
        (true, true, true) => "input, step, error, and columns of the row",
    }
}

fn evaluated(text: &str, values: &Values<'_>) -> Result<String, CelError> {
    let found = scan(text)?;
    // What is only copied keeps its digits.
    if let [chain] = &*found.chains
        && chain.is_all
    {
        return value_of(chain, values).map(Cow::into_owned);
    }
    let kept = kept(&found, values)?;
    run(text, &kept, &values.read.budget)
}

/// The value of a name with its members.
fn value_of<'a>(chain: &Chain<'_>, values: &Values<'a>) -> Result<Cow<'a, str>, CelError> {
    let missing = || CelError::Missing(spelled(chain));
    let (root, rest): (&str, &[Segment]) = match (chain.root, &*chain.members) {
        (INPUT, [Segment::Field(name), rest @ ..]) if &**name == SIGNAL => {
            (values.signal.unwrap_or("null"), rest)
        }
        (INPUT, []) => return input_with_signal(values).map(Cow::Owned),
        (INPUT, [Segment::Field(name), rest @ ..]) => {
            let found = values.input_members()?.and_then(|all| all.get(&**name));
            (found.ok_or_else(missing)?.get(), rest)
        }
        (INPUT, rest) => (values.input, rest),
        (STEP, [Segment::Field(name), rest @ ..]) => {
            ((values.steps)(name).ok_or_else(missing)?, rest)
        }
        (ERROR, rest) => (values.error.ok_or_else(missing)?, rest),
        _ => return Err(missing()),
    };
    let found = walk(rest, root, &values.read.budget)?;
    found.map(Cow::Borrowed).ok_or_else(missing)
}

/// A name with its members, as it is written.
fn spelled(chain: &Chain<'_>) -> String {
    let mut text = chain.root.to_owned();
    for member in &chain.members {
        match member {
            Segment::Field(name) => text.extend([".", name]),
            Segment::Element(at) => text.extend(["[", &at.to_string(), "]"]),
        }
    }
    text
}

/// The roots that a text reads, each without the members that it does not read.
fn kept<'a>(
    found: &Scan<'_>,
    values: &Values<'a>,
) -> Result<BTreeMap<&'static str, Cow<'a, str>>, CelError> {
    let mut kept = BTreeMap::new();
    let of = |root: &str| {
        let chains: Vec<_> = found
            .chains
            .iter()
            .filter(|chain| chain.root == root)
            .collect();
        (!chains.is_empty()).then_some(chains)
    };
    if let Some(chains) = of(INPUT) {
        kept.insert(INPUT, input_for(&chains, values)?);
    }
    if let Some(chains) = of(STEP) {
        let mut steps = BTreeMap::new();
        for chain in chains {
            let Some(Segment::Field(name)) = chain.members.first() else {
                return Err(CelError::StepWithoutName);
            };
            if let Some(result) = (values.steps)(name) {
                steps.insert(&**name, Cow::Borrowed(result));
            }
        }
        kept.insert(STEP, Cow::Owned(object(&steps)));
    }
    if of(ERROR).is_some()
        && let Some(error) = values.error
    {
        kept.insert(ERROR, Cow::Borrowed(error));
    }
    Ok(kept)
}

/// The members of the input that these read; all of it if one reads it whole.
fn input_for<'a>(chains: &[&Chain<'_>], values: &Values<'a>) -> Result<Cow<'a, str>, CelError> {
    let mut names = BTreeSet::new();
    for chain in chains {
        match chain.members.first() {
            Some(Segment::Field(name)) => names.insert(&**name),
            Some(Segment::Element(_)) | None => return input_with_signal(values).map(Cow::Owned),
        };
    }
    let Some(all) = values.input_members()? else {
        return Ok(Cow::Borrowed(values.input));
    };
    let mut read: BTreeMap<&str, Cow<'_, str>> = BTreeMap::new();
    for name in names {
        if name == SIGNAL {
            read.insert(name, Cow::Borrowed(values.signal.unwrap_or("null")));
        } else if let Some(value) = all.get(name) {
            read.insert(name, Cow::Borrowed(value.get()));
        }
    }
    Ok(Cow::Owned(object(&read)))
}

fn input_with_signal(values: &Values<'_>) -> Result<String, CelError> {
    values.read.budget.take(values.input.len())?;
    let Some(signal) = values.signal else {
        return Ok(values.input.to_owned());
    };
    let Some(all) = values.input_members()? else {
        return Ok(values.input.to_owned());
    };
    let mut read: Vec<(&str, &str)> = all
        .iter()
        .filter(|(name, _)| *name != SIGNAL)
        .map(|(name, value)| (&**name, value.get()))
        .collect();
    read.push((SIGNAL, signal));
    Ok(object_of(read))
}

/// The input without what a route adds: it always adds both.
fn body(input: &str) -> Cow<'_, str> {
    let Some(all) = members(input) else {
        return Cow::Borrowed(input);
    };
    let is_added = |name: &str| {
        all.get(name)
            .is_some_and(|value: &&RawValue| value.get().starts_with('{'))
    };
    if !OF_ROUTE.iter().all(|name| is_added(name)) {
        return Cow::Borrowed(input);
    }
    let kept = all.iter().filter(|(name, _)| !OF_ROUTE.contains(&&***name));
    Cow::Owned(object_of(kept.map(|(name, value)| (&**name, value.get()))))
}

fn object(members: &BTreeMap<&str, Cow<'_, str>>) -> String {
    object_of(members.iter().map(|(name, value)| (*name, &**value)))
}

fn object_of<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, value)| format!("{}:{value}", quoted(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn run(
    text: &str,
    variables: &BTreeMap<&str, Cow<'_, str>>,
    left: &Budget,
) -> Result<String, CelError> {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, json)| Variable { name, json })
        .collect();
    cel::compile(text)?.evaluate(&variables, VALUE_MAX, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::at_once;

    const INPUT_JSON: &str = r#"{"id":12345678901234567890.10,"a":2,"b":1.5,"name":"x y","items":[{"price":1.10,"n":3},{"price":2,"n":1}],"deep":{"list":[[1.00]]},"key":"a","none":null}"#;

    fn everywhere() -> Scope<'static> {
        Scope {
            steps: Some(&|name| ["order", "skipped"].contains(&name)),
            has_error: true,
            has_columns: false,
        }
    }

    fn evaluate(text: &str, signal: Option<&str>) -> Result<String, CelError> {
        let template = Template::of_text(text, &everywhere())?;
        let stored = serde_json::to_string(&template).expect("it is stored");
        let template: Template = serde_json::from_str(&stored).expect("it is read");
        template.evaluate(&Values {
            input: INPUT_JSON,
            signal,
            steps: &|name| match name {
                "order" => Some(r#"{"id":7.00,"tags":["a","b"]}"#),
                "skipped" => Some("null"),
                _ => None,
            },
            error: Some(r#"{"message":"step \"x\" failed"}"#),
            read: Read::default(),
        })
    }

    #[test]
    fn texts_have_their_values() {
        for (text, expected) in [
            // Literals.
            ("plain", "\"plain\""),
            ("a.input", "\"a.input\""),
            ("", "\"\""),
            // What is copied keeps its digits.
            ("input.id", "12345678901234567890.10"),
            (" input.id ", "12345678901234567890.10"),
            ("input.items[0].price", "1.10"),
            ("input.deep.list[0][0]", "1.00"),
            ("input.deep", r#"{"list":[[1.00]]}"#),
            ("step.order.id", "7.00"),
            ("step.order['id']", "7.00"),
            ("error.message", r#""step \"x\" failed""#),
            ("input.none", "null"),
            // What is computed.
            ("input.a + 1", "3"),
            ("input.a * input.b", "3"),
            ("input.b * 3", "4.5"),
            ("input.a / 4", "0.5"),
            ("input.b > 1 ? 'big' : 'small' + input.name", "\"big\""),
            ("'Hello ' + input.name", "\"Hello x y\""),
            ("size(input.items)", "2"),
            ("input.name.matches('^[a-z ]+$')", "true"),
            ("matches(input.name, 'q')", "false"),
            ("input.name == 'a.matches(' ? 1 : 2", "2"),
            (
                "input.items.filter(i, i.n > 1).map(i, i.price * i.n)",
                "[3.3000000000000003]",
            ),
            ("input.items.map(i, i.n)", "[3,1]"),
            ("input.items.filter(i, i.n > 1)", r#"[{"n":3,"price":1.1}]"#),
            ("input.items.exists(i, i.price == 2)", "true"),
            ("has(input.missing) ? input.missing : 'no'", "\"no\""),
            ("{'id': input.a, 'b': [input.b]}", r#"{"b":[1.5],"id":2}"#),
            ("'a' in step.order.tags", "true"),
            ("input.name.startsWith('x')", "true"),
            ("input[input.key] + step.order.id", "9"),
            ("string(input.a) + error.message", r#""2step \"x\" failed""#),
            (
                "timestamp('2024-01-01T00:00:00Z') > timestamp('2023-01-01T00:00:00Z') && input.a == 2",
                "true",
            ),
            ("-input.a", "-2"),
            ("input.a - 2.0", "0"),
            ("'literal input.a'", "\"literal input.a\""),
        ] {
            assert_eq!(evaluate(text, None).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn numbers_of_json_are_divided_as_doubles_however_they_are_written() {
        for (text, by_whole, by_double) in [
            ("input.t * 15 / 100", "0.75", "0.75"),
            ("input.t / 2", "2.5", "2.5"),
            ("12 / input.t", "2.4", "2.4"),
            ("input.t / input.two", "2.5", "2.5"),
            ("input.t / 2 + input.two", "4.5", "4.5"),
            ("input.t / 2 + input.half", "3", "3"),
            ("[input.t / 2, input.two * 2]", "[2.5,4]", "[2.5,4]"),
            ("input.t / 2 > 2 ? 1 : 0", "1", "1"),
            ("[input.t].map(t, t / 2)", "[2.5]", "[2.5]"),
            // What the text says is whole stays so, also beside a double.
            ("input.t + 5 / 2", "7", "7"),
            ("int(input.t) / 2", "2", "2"),
            ("int(input.t) / 2 + input.half", "2.5", "2.5"),
            ("(int(input.t) + 1) / 4 * 1.5", "1.5", "1.5"),
            ("int(input.t * 2) / 4 + 0.5", "2.5", "2.5"),
            ("size([1, 2, input.t]) / 2", "1", "1"),
            ("int(input.t) / 2.0", "2.5", "2.5"),
            ("int(input.t) / input.two", "2.5", "2.5"),
            // A quotient without a fraction keeps its digits.
            ("input.id / 3", "3002399751580331", "3002399751580331"),
            ("input.list[input.t / 5]", "8", "8"),
        ] {
            for (total, expected) in [("5", by_whole), ("5.0", by_double)] {
                let input = format!(
                    r#"{{"t":{total},"two":2,"half":0.5,"id":9007199254740993,"list":[7,8]}}"#
                );
                let template = Template::of_text(text, &everywhere()).expect(text);
                let found = template.evaluate(&Values::of_input(&input));
                assert_eq!(found.as_deref(), Ok(expected), "{text} of {total}");
            }
        }
        for text in ["input.t / 0", "input.t / 0.0 > 1.0", "1 / input.zero > 1"] {
            let template = Template::of_text(text, &everywhere()).expect(text);
            let found = template.evaluate(&Values::of_input(r#"{"t":5,"zero":0.0}"#));
            assert!(
                matches!(found, Err(CelError::Failed(_))),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn parts_of_times_are_those_in_utc() {
        let at = r#"{"at":"2026-01-01T01:30:00+05:30"}"#;
        for (text, expected) in [
            ("timestamp(input.at).getHours()", "20"),
            ("timestamp(input.at).getFullYear()", "2025"),
            ("timestamp(input.at).getHours('+05:30')", "1"),
            ("timestamp(input.at)", "\"2025-12-31T20:00:00+00:00\""),
            ("(timestamp(input.at) + duration('2h')).getHours()", "22"),
        ] {
            let template = Template::of_text(text, &everywhere()).expect(text);
            let found = template.evaluate(&Values::of_input(at));
            assert_eq!(found.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn macros_go_through_a_map_in_the_order_of_its_names() {
        let names: Vec<_> = (10..60).map(|name| name.to_string()).collect();
        let members: Vec<_> = names
            .iter()
            .rev()
            .map(|name| format!("\"{name}\":1"))
            .collect();
        let input = format!(r#"{{"m":{{{}}}}}"#, members.join(","));
        let template = Template::of_text("input.m.map(k, int(k))", &everywhere()).expect("valid");
        let found = template.evaluate(&Values::of_input(&input));
        assert_eq!(found, Ok(format!("[{}]", names.join(","))));
    }

    #[test]
    fn the_signal_is_null_until_there_is_one() {
        for (text, signal, expected) in [
            ("input.signal", None, Ok("null")),
            ("input.signal", Some(r#"{"ok":1.0}"#), Ok(r#"{"ok":1.0}"#)),
            ("input.signal.ok", Some(r#"{"ok":1.0}"#), Ok("1.0")),
            ("input.signal == null", None, Ok("true")),
            ("input.signal.ok == 1", Some(r#"{"ok":1.0}"#), Ok("true")),
            (
                "input.signal.ok",
                None,
                Err(CelError::Missing("input.signal.ok".into())),
            ),
        ] {
            let found = evaluate(text, signal);
            assert_eq!(
                found.as_deref(),
                expected.as_ref().map(|text| &**text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_an_error() {
        for text in [
            "input.missing",
            "input.missing.deeper",
            "input.items[5]",
            "input.name.first",
            "step.skipped.id",
            "input.missing + 1",
            "input.name + 1",
            "input.a / 0",
            "1.0 / (input.a - 2)",
            "input.a.b.c",
            "type(input.a)",
        ] {
            assert!(evaluate(text, None).is_err(), "{text}");
        }
    }

    #[test]
    fn texts_are_refused_for_what_they_read() {
        let undeclared = |name: &str, known| Err(CelError::Undeclared(name.into(), known));
        let later = Scope {
            steps: Some(&|name| name == "order"),
            has_error: false,
            has_columns: false,
        };
        let own = |error: CelError| Err(error);
        for (text, expected) in [
            ("inputs.a + input.a", undeclared("inputs", "input, step")),
            ("reserved + input.a", undeclared("reserved", "input, step")),
            ("google.x + input.a", undeclared("google", "input, step")),
            ("step.later.id", own(CelError::NoStep("later".into()))),
            ("step[input.a].id", own(CelError::StepWithoutName)),
            ("error.message", own(CelError::NoErrorHere)),
            ("frob(input.a)", own(CelError::NoFunction("frob".into()))),
            (
                "input.name.frob()",
                own(CelError::NoFunction("frob".into())),
            ),
            ("now() > input.a", own(CelError::NoFunction("now".into()))),
        ] {
            assert_eq!(Template::of_text(text, &later), expected, "{text}");
        }
        for text in ["input.", "input.a +", "(input.a"] {
            let refused = Template::of_text(text, &later);
            assert!(
                matches!(refused, Err(CelError::Syntax(_))),
                "{text}: {refused:?}"
            );
        }
        let long = format!("input.a{}", " ".repeat(5_000));
        assert_eq!(
            Template::of_text(&long, &later),
            Err(CelError::TooLong(4_096))
        );
        for text in ["step.x", "error.y", "x > 1"] {
            assert!(check_condition(text).is_err(), "{text}");
        }
        assert_eq!(check_condition("input.score >= 50"), Ok(()));
    }

    #[test]
    fn columns_are_computed_where_their_row_is() {
        let scope = Scope {
            has_columns: true,
            ..everywhere()
        };
        let of = |text: &str| {
            let template = Template::of_text(text, &scope)?;
            template.evaluate(&Values::of_input(r#"{"q":2.50,"other":1}"#))
        };
        for (text, expected) in [
            (
                "reserved + input.q",
                r#"{"$column":"reserved","$op":"+","$value":2.50}"#,
            ),
            (
                "reserved - input.q * 2",
                r#"{"$column":"reserved","$op":"-","$value":5}"#,
            ),
            (
                "reserved * input.q",
                r#"{"$compute":"reserved * input.q","$values":{"input":{"q":2.50}}}"#,
            ),
            (
                "a + b + input.q",
                r#"{"$compute":"a + b + input.q","$values":{"input":{"q":2.50}}}"#,
            ),
            ("input.q + 1", "3.5"),
            ("reserved", "\"reserved\""),
        ] {
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(of("row.column + input.q").is_err());
        let row = r#"{"reserved":4,"a":1,"b":null}"#;
        let values = r#"{"input":{"q":2.50}}"#;
        for (text, expected) in [
            ("reserved * input.q", Ok("10")),
            ("b == null ? input.q : a", Ok("2.5")),
            ("gone + input.q", Err(CelError::NoColumn("gone".into()))),
        ] {
            let found = compute(text, values, row);
            assert_eq!(
                found.as_deref(),
                expected.as_ref().map(|text| &**text),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_read_is_known() {
        let template = Template::Object(vec![
            (
                "a".into(),
                Template::of_text("input.signal.x", &everywhere()).expect("valid"),
            ),
            (
                "b".into(),
                Template::of_text("step.order.id + 1", &everywhere()).expect("valid"),
            ),
            ("c".into(), Template::literal("step.none.id")),
        ]);
        let expected = Roots {
            signal: true,
            steps: BTreeSet::from(["order".into()]),
            ..Roots::default()
        };
        assert_eq!(template.roots(), expected);
        let Roots { input, signal, .. } = Template::Body.roots();
        assert_eq!((input, signal), (true, false));
    }

    #[test]
    fn the_body_is_the_input_without_what_a_route_adds() {
        for (input, expected) in [
            (
                r#"{"a":1.0,"params":{},"headers":{"x":"y"}}"#,
                r#"{"a":1.0}"#,
            ),
            (r#"{"a":1.0,"params":"p"}"#, r#"{"a":1.0,"params":"p"}"#),
            (r#"{"a":1.0}"#, r#"{"a":1.0}"#),
            ("[1.0]", "[1.0]"),
        ] {
            let found = Template::Body.evaluate(&Values::of_input(input));
            assert_eq!(found.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_condition_is_true_or_false() {
        for (text, expected) in [
            ("input.score >= 50", Ok(true)),
            ("input.score < 50.5 && input.name != ''", Ok(false)),
            ("true", Ok(true)),
            ("input.score", Err(CelError::NotTruth)),
            ("input.gone == 1", Err(CelError::Missing("gone".into()))),
        ] {
            assert_eq!(
                holds(text, r#"{"score":60,"name":"n"}"#),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn parts_without_a_value_can_be_null() {
        let of = |text: &str| Template::of_text(text, &everywhere()).expect("valid");
        let template = Template::Object(vec![
            ("a".into(), of("input.a")),
            (
                "list".into(),
                Template::Array(vec![of("input.gone"), of("x")]),
            ),
            ("b".into(), of("error.message")),
        ]);
        let (text, errors) = template.evaluate_or_null(&Values::of_input(r#"{"a":1.0}"#));
        assert_eq!(text, r#"{"a":1.0,"list":[null,"x"],"b":null}"#);
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn work_and_size_are_bounded() {
        let list = format!("[{}]", vec!["1"; 50_000].join(","));
        let text = "y".repeat(1 << 20);
        let zeros = format!("[{}]", vec!["0"; 300].join(","));
        let input = format!(r#"{{"list":{list},"text":"{text}","one":1}}"#);
        let of = |text: &str| {
            let template = Template::of_text(text, &everywhere()).expect(text);
            template.evaluate(&Values::of_input(&input))
        };
        assert_eq!(
            of("size(input.list.filter(x, x > 0))").as_deref(),
            Ok("50000")
        );
        for text in [
            "input.list.map(x, input.list)",
            "input.list.map(x, input.list.map(y, x + y))",
            "input.list.map(x, input.text + 'a')",
        ] {
            assert_eq!(of(text), Err(CelError::TooMuchWork), "{text}");
        }
        let sum = vec!["input.text"; 65].join(" + ");
        assert_eq!(of(&sum), Err(CelError::TooMuchWork));
        let doubled = |times: usize| format!("size(input.list{})", ".map(x, [x, x])".repeat(times));
        assert_eq!(of(&doubled(2)).as_deref(), Ok("50000"));
        assert_eq!(of(&doubled(12)), Err(CelError::TooMuchWork));
        let small = |text: &str| {
            let template = Template::of_text(text, &everywhere()).expect(text);
            template.evaluate(&Values::of_input(r#"{"l":["aaaaaaaa"]}"#))
        };
        for made in [
            "x + x",
            "[x, x]",
            "'a' + x + x",
            "[x].map(y, y + y)",
            "[0, 0, 0].map(y, x)",
            "[input.l, input.l].map(y, x)",
        ] {
            let text = format!("size(input.l{})", format!(".map(x, {made})").repeat(40));
            assert_eq!(small(&text), Err(CelError::TooMuchWork), "{text}");
        }
        for text in [
            // Rounds that are written in the text, and what they read.
            format!("{zeros}.all(x, {zeros}.all(y, !input.text.contains('zq')))"),
            format!("{zeros}.all(x, !input.text.contains('zq'))"),
            format!("{zeros}.all(x, [input.text].all(y, !y.contains('zq')))"),
            format!("[input.text].all(y, {zeros}.all(x, !y.contains('zq')))"),
            format!("{zeros}.all(x, input.text + 'a' != input.text)"),
            format!("{zeros}.map(x, {zeros}.map(y, {zeros} + [input.one]))"),
            format!(
                "size({zeros}.map(x, {zeros} + [input.one]){})",
                ".map(x, x + x)".repeat(12)
            ),
            // What is made is copied again by each sign.
            format!("size(input.list{})", " + input.list".repeat(60)),
            format!("[input.list].map(x, size(x{})) ", " + x".repeat(60)),
        ] {
            assert_eq!(of(&text).err(), Some(CelError::TooMuchWork), "{text}");
        }
        let literal = format!("size(input.list.map(x, '{}'))", "y".repeat(2_000));
        assert_eq!(of(&literal), Err(CelError::TooMuchWork));
        let pair = "input.text + input.text";
        assert_eq!(of(pair), Err(CelError::TooLarge(VALUE_MAX)));
    }

    #[test]
    fn what_is_evaluated_at_once_depends_on_what_it_costs() {
        let pairs = "input.n.all(x, input.n.all(y, x + y >= 0))";
        let written = format!("[{}]", vec!["0"; 300].join(","));
        let written = format!("input.n == [] || {written}.all(x, {written}.all(y, x == y))");
        let deep = format!("input.n[0]{} == 7", " + 1".repeat(20));
        let alike = "input.n[0] == 1";
        for (text, count, expected) in [
            (pairs, 10, Some("true")),
            (pairs, 100, None),
            (pairs, 250, None),
            // What the text itself goes through, and what needs a thread of its own.
            (&*written, 1, None),
            (&*deep, 1, None),
            (alike, 1, Some("true")),
            (alike, 100_000, None),
        ] {
            let template = Template::of_text(text, &everywhere()).expect(text);
            let input = format!(r#"{{"n":[{}]}}"#, vec!["1"; count].join(","));
            let evaluated = || template.evaluate(&Values::of_input(&input));
            let found = at_once(evaluated).map(|found| found.expect(text));
            assert_eq!(found.as_deref(), expected, "{text} of {count}");
            // Elsewhere it has its value.
            assert!(evaluated().is_ok(), "{text}");
        }
        let input = format!(r#"{{"n":[{}]}}"#, vec!["1"; 500].join(","));
        let template = Template::of_text(pairs, &everywhere()).expect(pairs);
        let found = template.evaluate(&Values::of_input(&input));
        assert_eq!(found, Err(CelError::TooMuchWork));
    }

    #[test]
    fn members_are_found_by_their_value() {
        for (text, expected) in [
            ("2 in [1, input.a]", "true"),
            ("2.0 in [1, input.a]", "true"),
            ("[input.a] in [[1], [2]]", "true"),
            ("[input.a] in [1, 2]", "false"),
            ("'2' in [input.a]", "false"),
            ("'b' in {'b': input.a}", "true"),
            ("input.a in {1: 1, 2u: 2}", "true"),
            ("2.0 in {input.a: 1}", "true"),
            ("2.5 in {input.a: 1}", "false"),
            ("!(input.name in ['x', 'z'])", "true"),
        ] {
            assert_eq!(evaluate(text, None).as_deref(), Ok(expected), "{text}");
        }
        for text in ["1 in input.name", "[1] in {input.name: 1}"] {
            let failed = evaluate(text, None);
            assert!(matches!(failed, Err(CelError::Failed(_))), "{failed:?}");
        }
    }

    #[test]
    fn macros_nest_twice_at_most() {
        let checked = |text: &str| Template::of_text(text, &everywhere()).map(|_| ());
        for text in [
            "input.a.map(x, x.map(y, y.map(z, z)))",
            "[1].existsOne(input, [1].exists_one(input, [1].existsOne(input, input.a)))",
        ] {
            assert_eq!(checked(text), Err(CelError::TooDeep), "{text}");
        }
        let chained = "input.a.map(x, x).filter(x, x > 1).all(x, input.b.exists(y, y == x))";
        assert_eq!(checked(chained), Ok(()));
    }

    #[test]
    fn the_largest_texts_that_are_taken_fit_the_stack() {
        let brackets = format!("{}input.a{}", "(".repeat(24), ")".repeat(24));
        let sum = format!("input.a{}", " + 1".repeat(190));
        let not = format!("{}(input.a == 2)", "!".repeat(190));
        let minus = format!("{}input.a", "- ".repeat(190));
        let choice = format!("{}2", "input.a == 1 ? 1 : ".repeat(60));
        let or = format!("input.a == 1{}", " || input.a == 1".repeat(60));
        let lists = format!("{}input.a{}", "[".repeat(24), "]".repeat(24));
        for text in [brackets, sum, not, minus, choice, or, lists] {
            let found = Template::of_text(&text, &everywhere());
            // The library may refuse it, too, but has to return.
            if let Ok(template) = found {
                let _ = template.evaluate(&Values::of_input(r#"{"a":2}"#));
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_answered(text in "[a-c.()\\[\\]{}?:'\" +*<=!&|0-9,\n-]{0,40}") {
            let text = format!("input.{text}");
            if let Ok(template) = Template::of_text(&text, &everywhere()) {
                let _ = template.evaluate(&Values::of_input(r#"{"a":1,"b":[1,{"c":2}],"c":"x"}"#));
            }
        }

        #[test]
        fn digits_that_are_copied_stay(whole in "-?(0|[1-9][0-9]{0,30})", fraction in "(\\.[0-9]{1,30})?") {
            let number = format!("{whole}{fraction}");
            let input = format!(r#"{{"a":{{"b":[{number}]}}}}"#);
            let template = Template::of_text("input.a.b[0]", &Scope::INPUT).expect("a path");
            let found = template.evaluate(&Values::of_input(&input));
            proptest::prop_assert_eq!(found.as_deref(), Ok(&*number));
        }
    }
}
