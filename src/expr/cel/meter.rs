//! What an expression costs: the values that it reads, and that its macros read once per element.
//!
//! The library has no limit of its own. In its tree, each macro is a comprehension over a list. The
//! list becomes the argument of a function of ours, which spends what all rounds are going to read
//! before the first one begins. What a round makes is no larger than what it reads, so nothing
//! grows without being paid for.

use ::cel::{
    IdedExpr, Value,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue,
        operators,
    },
    objects::Key,
};

use super::{Variable, functions, numbers::is_whole_arithmetic};
use crate::expr::{
    Budget, CelError,
    budget::TooMuchWork,
    path::{Segment, walk},
};

/// The operators and functions that are replaced.
const REPLACED: [(&str, &str); 3] = [
    (operators::IN, functions::MEMBER),
    (operators::DIVIDE, functions::DIVIDE),
    ("matches", functions::MATCHES),
];

/// What a value takes beside its text.
const VALUE: usize = 16;

/// What a node of the tree costs each time that it is evaluated, however little it reads.
const NODE: usize = 32;

/// What a map and each of its members take more.
const MAP: usize = 64;
const MEMBER: usize = 32;

/// How deep macros over lists may nest.
const LOOPS_MAX: usize = 2;

/// The functions and operators whose result is small, whatever they read.
const SMALL: [&str; 30] = [
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::NOT_STRICTLY_FALSE,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::IN,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::NEGATE,
    "bool",
    "contains",
    "double",
    "endsWith",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getFullYear",
    "getMonth",
    "int",
    "matches",
    "size",
    "startsWith",
    "uint",
];

/// What a part of the tree reads each time that it is evaluated. The rounds of macros in it are
/// parts of their own.
#[derive(Debug, Default)]
struct Part {
    /// What does not depend on values.
    fixed: usize,
    /// The variables that it reads, with their members, and how often each is copied at most.
    read: Vec<(Box<str>, Vec<Segment>, usize)>,
    /// Of a round: how often its own element is copied at most.
    own: usize,
    /// Of a round: the elements of the macros around it that it reads.
    outer: Vec<(Box<str>, usize)>,
}

/// A tree that spends what its macros cost.
#[derive(Debug)]
pub(super) struct Metered {
    pub(super) tree: IdedExpr,
    whole: Part,
    rounds: Vec<Part>,
    nodes: usize,
}

/// What the rounds of each macro cost with the values of one evaluation.
#[derive(Debug)]
pub(super) struct Costs(Vec<RoundCost>);

#[derive(Debug)]
struct RoundCost {
    each: usize,
    own: usize,
    outer: Vec<usize>,
}

impl Metered {
    pub(super) fn new(mut tree: IdedExpr) -> Result<Self, CelError> {
        let mut walker = Walker::default();
        walker.visit(&mut tree, 1)?;
        Ok(Self {
            tree,
            whole: walker.whole,
            rounds: walker.rounds,
            nodes: walker.nodes,
        })
    }

    /// What it takes in memory, in bytes, about: each node has names and lists of its own.
    pub(super) const fn bytes(&self) -> usize {
        self.nodes * 2 * size_of::<IdedExpr>()
    }

    /// Takes what evaluating it costs without its macros, and returns what those cost.
    pub(super) fn spend(
        &self,
        variables: &[Variable<'_>],
        left: &Budget,
    ) -> Result<Costs, TooMuchWork> {
        let whole = variables.iter().map(|variable| weight(variable.json)).sum();
        left.take(whole)?;
        left.take(self.whole.each(variables, left)?)?;
        let rounds = self.rounds.iter().map(|part| {
            Ok(RoundCost {
                each: part.each(variables, left)?,
                own: part.own + 1,
                outer: part.outer.iter().map(|(_, copies)| *copies).collect(),
            })
        });
        Ok(Costs(rounds.collect::<Result<_, _>>()?))
    }
}

impl Part {
    /// What it costs without the elements that it reads.
    fn each(&self, variables: &[Variable<'_>], left: &Budget) -> Result<usize, TooMuchWork> {
        let mut cost = self.fixed;
        for (root, members, copies) in &self.read {
            let root = variables.iter().find(|variable| *variable.name == **root);
            let value = match root {
                Some(root) => walk(members, root.json, left)?,
                None => None,
            };
            cost = cost.saturating_add(value.map_or(0, weight).saturating_mul(*copies));
        }
        Ok(cost)
    }

    fn reads_outer(&mut self, name: &str, copies: usize) {
        match self.outer.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known += copies,
            None => self.outer.push((name.into(), copies)),
        }
    }
}

impl Costs {
    /// Spends what all rounds of a macro cost, over these elements of the macros around it.
    pub(super) fn spend(&self, at: i64, outer: &[Value], list: &Value, budget: &Budget) {
        let cost = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        let Some(cost) = cost else {
            return;
        };
        let rounds = if let Value::List(items) = list {
            items.len()
        } else if let Value::Map(map) = list {
            map.map.len()
        } else {
            0
        };
        let outer = outer.iter().zip(&cost.outer);
        let each = outer.fold(cost.each, |sum, (element, copies)| {
            sum.saturating_add(size(element).saturating_mul(*copies))
        });
        let own = size(list).saturating_mul(cost.own);
        budget.spend(rounds.saturating_mul(each).saturating_add(own));
    }
}

/// What a JSON text takes as a value, about.
fn weight(json: &str) -> usize {
    let values = memchr::memchr2_iter(b',', b'[', json.as_bytes()).count() + 1;
    let maps = memchr::memchr_iter(b'{', json.as_bytes()).count();
    json.len() + values * VALUE + maps * (VALUE + MAP)
}

/// What a value takes, about.
fn size(value: &Value) -> usize {
    let content = match value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(map) => {
            let members = map.map.iter().map(|(name, member)| {
                let name = match name {
                    Key::String(name) => name.len(),
                    Key::Int(_) | Key::Uint(_) | Key::Bool(_) => 0,
                };
                MEMBER + name + size(member)
            });
            MAP + members.sum::<usize>()
        }
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Function(..)
        | Value::Opaque(_)
        | Value::Struct(_) => 0,
    };
    VALUE + content
}

/// What has been seen of a tree.
#[derive(Debug, Default)]
struct Walker {
    whole: Part,
    rounds: Vec<Part>,
    /// The macros around what is being visited.
    open: Vec<Loop>,
    nodes: usize,
}

/// A macro whose rounds are being visited.
#[derive(Debug)]
struct Loop {
    at: usize,
    binds: [Option<Box<str>>; 2],
    /// What the rounds collect.
    collects: Box<str>,
}

impl Walker {
    /// The part that is being visited.
    fn part(&mut self) -> &mut Part {
        match self.open.last() {
            Some(inner) => &mut self.rounds[inner.at],
            None => &mut self.whole,
        }
    }

    /// Visits a node whose value is copied so many times at most.
    fn visit(&mut self, node: &mut IdedExpr, copies: usize) -> Result<(), CelError> {
        self.nodes += 1;
        self.part().fixed += NODE;
        if let Some((root, members)) = chain(node) {
            self.reads(&root, members, copies);
            return Ok(());
        }
        match &mut node.expr {
            Expr::Literal(literal) => {
                let bytes = match literal {
                    LiteralValue::String(text) => text.inner().len(),
                    LiteralValue::Bytes(bytes) => bytes.inner().len(),
                    LiteralValue::Boolean(_)
                    | LiteralValue::Double(_)
                    | LiteralValue::Int(_)
                    | LiteralValue::Null
                    | LiteralValue::UInt(_) => 0,
                };
                self.part().fixed += (VALUE + bytes) * copies;
            }
            Expr::Call(made) => {
                let is_whole = is_whole_arithmetic(made);
                let is_time = made.func_name == "timestamp";
                let is_small = SMALL.contains(&&*made.func_name);
                let copies = if is_small { 1 } else { copies + 1 };
                for (name, own) in REPLACED {
                    if made.func_name == name && !is_whole {
                        own.clone_into(&mut made.func_name);
                    }
                }
                for part in made.target.as_deref_mut().into_iter().chain(&mut made.args) {
                    self.visit(part, copies)?;
                }
                if is_time {
                    let time = std::mem::take(node);
                    *node = call(functions::UTC, vec![time]);
                }
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, copies)?,
            Expr::List(list) => {
                for element in &mut list.elements {
                    self.visit(element, copies + 1)?;
                }
            }
            Expr::Map(map) => self.entries(&mut map.entries, copies + 1)?,
            Expr::Struct(made) => self.entries(&mut made.entries, copies + 1)?,
            Expr::Select(select) => self.visit(&mut select.operand, copies + 1)?,
            Expr::Ident(_) | Expr::Unspecified => {}
        }
        Ok(())
    }

    fn entries(&mut self, entries: &mut [IdedEntryExpr], copies: usize) -> Result<(), CelError> {
        for entry in entries {
            match &mut entry.expr {
                EntryExpr::StructField(field) => self.visit(&mut field.value, copies)?,
                EntryExpr::MapEntry(entry) => {
                    self.visit(&mut entry.key, copies)?;
                    self.visit(&mut entry.value, copies)?;
                }
            }
        }
        Ok(())
    }

    fn comprehension(
        &mut self,
        comprehension: &mut ComprehensionExpr,
        copies: usize,
    ) -> Result<(), CelError> {
        if self.open.len() >= LOOPS_MAX {
            return Err(CelError::TooDeep);
        }
        self.visit(&mut comprehension.iter_range, copies + 1)?;
        self.visit(&mut comprehension.accu_init, copies)?;
        let at = self.rounds.len();
        self.rounds.push(Part::default());
        self.open.push(Loop {
            at,
            binds: [
                Some(comprehension.iter_var.as_str().into()),
                comprehension.iter_var2.as_deref().map(Into::into),
            ],
            collects: comprehension.accu_var.as_str().into(),
        });
        for part in [
            &mut comprehension.loop_cond,
            &mut comprehension.loop_step,
            &mut comprehension.result,
        ] {
            self.visit(part, copies)?;
        }
        self.open.pop();
        let outer = self.rounds[at].outer.iter().map(|(name, _)| name.clone());
        let outer: Vec<_> = outer.collect();
        for name in &outer {
            self.reads(name, Vec::new(), 1);
        }
        let list = std::mem::take(&mut comprehension.iter_range);
        comprehension.iter_range = call(functions::ROUNDS, vec![number(at)?, names(&outer), list]);
        Ok(())
    }

    /// Notes that a name is read, which belongs to the innermost macro that binds it.
    fn reads(&mut self, name: &str, members: Vec<Segment>, copies: usize) {
        let of = self.open.iter().rposition(|open| {
            let binds = open.binds.iter().flatten();
            binds.into_iter().any(|bound| **bound == *name) || *open.collects == *name
        });
        let Some(of) = of else {
            self.part().read.push((name.into(), members, copies));
            return;
        };
        // What the rounds have collected is moved, and was paid for when it was made.
        if *self.open[of].collects == *name {
            return;
        }
        if of + 1 == self.open.len() {
            self.part().own += copies;
        } else {
            self.part().reads_outer(name, copies);
        }
    }
}

/// The name that a node reads, with the members that follow it.
fn chain(node: &IdedExpr) -> Option<(Box<str>, Vec<Segment>)> {
    match &node.expr {
        Expr::Ident(name) => Some((name.as_str().into(), Vec::new())),
        Expr::Select(select) => {
            let (root, mut members) = chain(&select.operand)?;
            members.push(Segment::Field(select.field.as_str().into()));
            Some((root, members))
        }
        Expr::Call(call) if call.func_name == operators::INDEX => {
            let [of, index] = &*call.args else {
                return None;
            };
            let Expr::Literal(literal) = &index.expr else {
                return None;
            };
            let segment = match literal {
                LiteralValue::Int(at) => Segment::Element(usize::try_from(*at.inner()).ok()?),
                LiteralValue::String(name) => Segment::Field(name.inner().into()),
                LiteralValue::Boolean(_)
                | LiteralValue::Bytes(_)
                | LiteralValue::Double(_)
                | LiteralValue::Null
                | LiteralValue::UInt(_) => return None,
            };
            let (root, mut members) = chain(of)?;
            members.push(segment);
            Some((root, members))
        }
        Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => None,
    }
}

fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

pub(super) fn call(function: &str, args: Vec<IdedExpr>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    }))
}

fn number(at: usize) -> Result<IdedExpr, CelError> {
    let at = i64::try_from(at).map_err(|_| CelError::TooDeep)?;
    Ok(node(Expr::Literal(LiteralValue::Int(at.into()))))
}

fn names(names: &[Box<str>]) -> IdedExpr {
    let names = names.iter().map(|name| node(Expr::Ident(name.to_string())));
    node(Expr::List(ListExpr::new(names.collect())))
}
