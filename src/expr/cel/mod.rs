//! The library that evaluates CEL. Nothing else knows it, because its interface moves from release to
//! release.

mod functions;
mod meter;
mod numbers;
mod pattern;

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
    thread,
};

use ::cel::{Context, Env, ExecutionError, Value, objects::Key};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use quick_cache::Weighter;

use self::meter::Metered;
use super::{Budget, CelError, budget::take_at_once, quoted, scan};
use crate::text;

/// How many compiled texts are kept, about, and how many bytes of them.
const KEPT: usize = 4_096;
const KEPT_BYTES: u64 = 64 << 20;

/// The stack for parsing, in bytes: untouched pages take no memory.
const STACK: usize = 16 << 20;

/// What parsing a byte of a text costs, in bytes that are read.
const PARSING: usize = 64;

/// How many levels are evaluated on the stack of the caller.
const SHALLOW: usize = 12;

/// How many bytes of a message of the library are kept: it may quote values.
const MESSAGE_MAX: usize = 300;

/// How deep a value may nest.
const DEPTH_MAX: usize = 128;

/// The functions and methods that there are. What begins with another sign is an operator.
const FUNCTIONS: [&str; 24] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "int",
    "matches",
    "size",
    "startsWith",
    "string",
    "timestamp",
    "uint",
];

static ENV: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::stdlib().with_optional_support(false)));

type Cache = quick_cache::sync::Cache<Box<str>, Arc<Expression>, Bytes>;

/// What was compiled: a text is compiled for the same values a thousand times.
static COMPILED: LazyLock<Cache> = LazyLock::new(|| Cache::with_weighter(KEPT, KEPT_BYTES, Bytes));

/// A compiled text.
#[derive(Debug)]
pub(super) struct Expression {
    tree: Metered,
    /// The same with all numbers as doubles, if there is a difference.
    in_doubles: Option<Metered>,
    is_deep: bool,
}

/// How many bytes a compiled text takes.
#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<Box<str>, Arc<Expression>> for Bytes {
    fn weight(&self, text: &Box<str>, expression: &Arc<Expression>) -> u64 {
        let trees = [Some(&expression.tree), expression.in_doubles.as_ref()];
        let trees: usize = trees.into_iter().flatten().map(Metered::bytes).sum();
        (text.len() + trees) as u64
    }
}

/// A name and its value, as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    pub(super) json: &'a str,
}

/// Compiles a text, or returns it as it was compiled before.
pub(super) fn compile(text: &str) -> Result<Arc<Expression>, CelError> {
    if let Some(known) = COMPILED.get(text) {
        return Ok(known);
    }
    let found = scan::scan(text)?;
    take_at_once(text.len() * PARSING);
    let (tree, in_doubles) = parsed(text)?;
    let expression = Arc::new(Expression {
        tree,
        in_doubles,
        is_deep: found.depth > SHALLOW,
    });
    COMPILED.insert(text.into(), Arc::clone(&expression));
    Ok(expression)
}

/// Parses a text, for which the library needs up to 100 KB of stack for each bracket. The second
/// tree has doubles in place of whole numbers, if there are any.
fn parsed(text: &str) -> Result<(Metered, Option<Metered>), CelError> {
    on_large_stack(|| {
        let program = ENV.compile(text).map_err(|errors| {
            let first = errors.errors.first();
            let message = first.map_or("it cannot be parsed", |first| &first.msg);
            CelError::Syntax(text::start(message, MESSAGE_MAX).to_owned())
        })?;
        for function in program.references().functions() {
            let is_operator = !function.starts_with(|first: char| first.is_ascii_alphabetic());
            if !is_operator && !FUNCTIONS.contains(&function) {
                return Err(CelError::NoFunction(function.to_owned()));
            }
        }
        let tree = program.expression();
        let doubles = numbers::in_doubles(tree).map(Metered::new).transpose()?;
        Ok((Metered::new(tree.clone())?, doubles))
    })
}

/// Does something on a thread of its own, which ends with the call.
fn on_large_stack<T: Send>(
    work: impl FnOnce() -> Result<T, CelError> + Send,
) -> Result<T, CelError> {
    let done = thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    });
    done.unwrap_or_else(|| Err(CelError::Failed("no thread could evaluate it".to_owned())))
}

impl Expression {
    /// The value, as JSON of so many bytes at most. What evaluating it costs is taken from the
    /// budget.
    pub(super) fn evaluate(
        &self,
        variables: &[Variable<'_>],
        max: usize,
        left: &Budget,
    ) -> Result<String, CelError> {
        if self.is_deep {
            // A thread that serves requests does not wait for another one.
            take_at_once(usize::MAX);
            on_large_stack(|| self.evaluate_here(variables, max, left))
        } else {
            self.evaluate_here(variables, max, left)
        }
    }

    fn evaluate_here(
        &self,
        variables: &[Variable<'_>],
        max: usize,
        left: &Budget,
    ) -> Result<String, CelError> {
        let value = match execute(&self.tree, variables, false, left)? {
            Ok(value) => value,
            // JSON has one kind of number, CEL three that do not mix: 99.5 times 2 is computed
            // with doubles.
            Err(error) if is_about_kinds(&error) => {
                let tree = self.in_doubles.as_ref().unwrap_or(&self.tree);
                let again = execute(tree, variables, true, left)?;
                again.map_err(|_| failed(&error))?
            }
            Err(error) => return Err(failed(&error)),
        };
        let mut writing = Writing {
            text: String::new(),
            max,
        };
        writing.value(&value, 0)?;
        Ok(writing.text)
    }
}

fn execute(
    tree: &Metered,
    variables: &[Variable<'_>],
    in_doubles: bool,
    left: &Budget,
) -> Result<Result<Value, ExecutionError>, CelError> {
    let costs = tree.spend(variables, left)?;
    let mut context = Context::with_env(Arc::clone(&ENV));
    for variable in variables {
        let json: serde_json::Value = serde_json::from_str(variable.json)
            .map_err(|error| CelError::Failed(format!("{}: {error}", variable.name)))?;
        context.add_variable_from_value(variable.name, value(json, in_doubles));
    }
    Ok(left.while_left(|budget| {
        functions::add(&mut context, costs, budget)?;
        Value::resolve(&tree.tree, &context)
    })?)
}

const fn is_about_kinds(error: &ExecutionError) -> bool {
    matches!(
        error,
        ExecutionError::NoSuchOverload(_)
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::ValuesNotComparable(..)
    )
}

fn failed(error: &ExecutionError) -> CelError {
    if let ExecutionError::NoSuchKey(key) = error {
        return CelError::Missing(text::start(key, MESSAGE_MAX).to_owned());
    }
    CelError::Failed(text::start(&error.to_string(), MESSAGE_MAX).to_owned())
}

fn value(json: serde_json::Value, in_doubles: bool) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Bool(truth),
        serde_json::Value::String(text) => Value::String(Arc::new(text)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) if !in_doubles => Value::Int(number),
            (None, Some(number)) if !in_doubles => Value::UInt(number),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::Array(items) => {
            let items = items.into_iter().map(|item| value(item, in_doubles));
            Value::List(Arc::new(items.collect()))
        }
        serde_json::Value::Object(members) => {
            let members = members.into_iter();
            let members: HashMap<Key, Value> = members
                .map(|(name, member)| (Key::from(name), value(member, in_doubles)))
                .collect();
            Value::Map(members.into())
        }
    }
}

/// A value that is being written.
struct Writing {
    text: String,
    max: usize,
}

impl Writing {
    fn push(&mut self, text: &str) -> Result<(), CelError> {
        if self.text.len() + text.len() > self.max {
            return Err(CelError::TooLarge(self.max));
        }
        self.text.push_str(text);
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), CelError> {
        if depth > DEPTH_MAX {
            return Err(CelError::NotJson("it nests too deep"));
        }
        match value {
            Value::Null => self.push("null"),
            Value::Bool(truth) => self.push(if *truth { "true" } else { "false" }),
            Value::Int(number) => self.push(&number.to_string()),
            Value::UInt(number) => self.push(&number.to_string()),
            Value::Float(number) => self.push(&double(*number)?),
            Value::String(text) => self.push(&quoted(text)),
            Value::Bytes(bytes) => self.push(&quoted(&BASE64_STANDARD.encode(bytes.as_slice()))),
            Value::Timestamp(at) => self.push(&quoted(&at.to_rfc3339())),
            Value::Duration(time) => {
                let seconds = time.as_seconds_f64();
                self.push(&quoted(&format!("{seconds}s")))
            }
            Value::List(items) => {
                self.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    self.push(if at > 0 { "," } else { "" })?;
                    self.value(item, depth + 1)?;
                }
                self.push("]")
            }
            Value::Map(map) => {
                let mut members: Vec<_> = map.map.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                self.push("{")?;
                for (at, (name, member)) in members.into_iter().enumerate() {
                    self.push(if at > 0 { "," } else { "" })?;
                    self.push(&quoted(&name.to_string()))?;
                    self.push(":")?;
                    self.value(member, depth + 1)?;
                }
                self.push("}")
            }
            Value::Function(..) | Value::Opaque(_) | Value::Struct(_) => {
                Err(CelError::NotJson("it is a function or a type"))
            }
        }
    }
}

/// A whole number has no fraction: JSON does not know which kind it was computed with.
fn double(number: f64) -> Result<String, CelError> {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if !number.is_finite() {
        return Err(CelError::NotJson("it is not a finite number"));
    }
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        // Adding 0 makes 0 of -0.
        return Ok(format!("{:.0}", number + 0.0));
    }
    Ok(serde_json::Value::from(number).to_string())
}
