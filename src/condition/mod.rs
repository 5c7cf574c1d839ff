//! Conditions on an entity: parsed once, at import or at the edge, into a compiled form.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`],
//! [`crate::dispatch`], [`crate::model`].
//! They have one meaning in workflow criteria, searches and conditional deletions
//! (`architecture.md` §6): [`Condition::holds`] is the reference that every other way of answering
//! must agree with.

mod compare;
mod evaluate;
mod fold;
mod form;
mod impossible;
mod list;
mod meter;
mod narrow;
mod operator;
mod parse;
mod pattern;
mod re2;
mod scan;
mod schema;
mod words;

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use list::List;
use pattern::Pattern;

use crate::dispatch::CallSettings;
use crate::entity::Path;
use crate::error::{Code, Coded};
use crate::id::FunctionName;

pub use compare::Operand;
pub use evaluate::{Facts, FunctionResults, LeafOutcome, Lifecycle, Trace};
pub use form::{Form, FunctionForm};
pub use impossible::Finding;
pub use meter::{Halt, Meter, WORK_MAX};
pub use narrow::{Narrowing, indexed_path};
pub use operator::{Operator, TextTest};
pub use schema::Undeclared;

/// How deep groups may nest (`workflow-engine.md` §2.1).
pub const GROUP_DEPTH_MAX: usize = 50;

/// A condition on an entity.
#[derive(Debug, Clone)]
pub enum Condition {
    Leaf(Leaf),
    /// In workflow criteria only.
    Function(Box<Function>),
    Group {
        connective: Connective,
        children: Vec<Self>,
    },
}

/// How a group combines its children (`workflow-engine.md` §2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connective {
    /// All; of none, true.
    And,
    /// Any; of none, false.
    Or,
    /// None of them; of none, true.
    Not,
}

/// A function of a compute member (`workflow-engine.md` §2.9).
#[derive(Debug, Clone)]
pub struct Function {
    /// Its number among the leaves of its condition.
    pub index: u32,
    pub name: FunctionName,
    pub call: CallSettings,
    /// If this does not hold, neither does the function, and no member is called.
    pub quick_exit: Option<Condition>,
    /// Why no member can be called: it stands for a condition of an unknown type or with an unknown
    /// operator, which some profiles import (`workflow-engine.md` §4.5). A run that reaches it
    /// fails.
    pub unknown: Option<Box<str>>,
}

/// The result of a condition, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub enum Verdict<'a> {
    Holds,
    Fails,
    /// It depends on a member's function.
    Asks(&'a Function),
}

/// One test of one value.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The number of the leaf in its condition, from 0 in reading order.
    pub index: u32,
    pub subject: Subject,
    pub operator: Operator,
    /// The operand as it was given, as JSON.
    pub operand: Option<Box<str>>,
    /// Whether the operand is an element of an `array` condition.
    is_of_array: bool,
    matcher: Matcher,
}

/// What a leaf reads.
#[derive(Debug, Clone)]
pub enum Subject {
    Field(Path),
    Lifecycle(LifecycleField),
    /// A field, or metadata of that name if the model declares no such field (`search.md` §3).
    Either(Path, LifecycleField),
}

/// A field of the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifecycleField {
    State,
    CreationDate,
    LastUpdateTime,
    /// The transition of the latest committed write.
    PreviousTransition,
    TransactionId,
    Id,
}

impl LifecycleField {
    pub const ALL: &[Self] = &[
        Self::State,
        Self::CreationDate,
        Self::LastUpdateTime,
        Self::PreviousTransition,
        Self::TransactionId,
        Self::Id,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::CreationDate => "creationDate",
            Self::LastUpdateTime => "lastUpdateTime",
            Self::PreviousTransition => "previousTransition",
            Self::TransactionId => "transactionId",
            Self::Id => "id",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "transitionForLatestSave" => Some(Self::PreviousTransition),
            "current_state" => Some(Self::State),
            _ => Self::ALL
                .iter()
                .copied()
                .find(|field| field.as_str() == name),
        }
    }

    const fn is_time(self) -> bool {
        matches!(self, Self::CreationDate | Self::LastUpdateTime)
    }
}

/// The compiled operand.
#[derive(Debug, Clone)]
enum Matcher {
    /// Compares with the latest committed version.
    Changed {
        negated: bool,
    },
    IsNull,
    NotNull,
    Compare(Comparison, Operand),
    Between {
        low: Operand,
        high: Operand,
        inclusive: bool,
    },
    In {
        any: List,
        negated: bool,
    },
    Text {
        test: TextTest,
        fold: bool,
        negated: bool,
        operand: Option<Box<str>>,
    },
    Pattern(Arc<Pattern>),
    /// An invalid or too large pattern; it never matches, and is rejected where possible.
    BadPattern(Box<str>),
}

/// An ordered or equality comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What a condition reads of an entity.
#[derive(Debug, Default)]
pub struct Looks<'a> {
    pub paths: Vec<&'a Path>,
    /// Whether it reads metadata.
    pub lifecycle: bool,
}

/// Why a condition is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("invalid condition: {0}")]
    Syntax(String),
    #[error("invalid condition: unknown {what} `{given}`; known are {known}")]
    Unknown {
        what: &'static str,
        given: String,
        known: &'static str,
    },
    #[error("invalid condition: unknown operator `{given}`; known are {known}")]
    Operator { given: String, known: String },
    #[error("a condition of type `function` is allowed in workflow criteria only")]
    Function,
    #[error("{operator} is allowed for fields in workflow criteria only")]
    Changed { operator: &'static str },
    #[error("{0}")]
    Operand(String),
    #[error("the pattern of {subject} does not compile: {reason}")]
    Pattern { subject: String, reason: String },
    #[error("condition references unknown field path(s): {}", .0.join(", "))]
    UnknownPaths(Vec<String>),
    #[error("{0}")]
    Path(String),
    #[error("{subject}: `{operand}` is not a value of {declared}")]
    TypeMismatch {
        subject: String,
        operand: String,
        declared: String,
    },
}

impl Error {
    /// Whether it is the form of the condition that is wrong, not one of its tests.
    pub const fn is_of_form(&self) -> bool {
        matches!(self, Self::Syntax(_) | Self::Unknown { .. })
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            // In a search it counts as an unknown operator (`search.md` §2).
            Self::Syntax(_)
            | Self::Unknown { .. }
            | Self::Operator { .. }
            | Self::Changed { .. } => Code::BadRequest,
            Self::Operand(_) | Self::Pattern { .. } | Self::Function => Code::InvalidCondition,
            Self::UnknownPaths(_) | Self::Path(_) => Code::InvalidFieldPath,
            Self::TypeMismatch { .. } => Code::ConditionTypeMismatch,
        }
    }
}

impl Condition {
    /// A condition that holds for every entity.
    pub const fn everything() -> Self {
        Self::Group {
            connective: Connective::And,
            children: Vec::new(),
        }
    }

    /// Whether it is that condition; others may hold for every entity, too.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::Group { connective: Connective::And, children } if children.is_empty())
    }

    /// Calls `visit` for every leaf, in reading order, until it fails.
    pub fn try_leaves<E>(&self, visit: &mut dyn FnMut(&Leaf) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Leaf(leaf) => visit(leaf),
            Self::Function(function) => function
                .quick_exit
                .as_ref()
                .map_or(Ok(()), |condition| condition.try_leaves(visit)),
            Self::Group { children, .. } => children
                .iter()
                .try_for_each(|child| child.try_leaves(visit)),
        }
    }

    /// What it reads; functions read everything and are not considered here.
    pub fn looks(&self) -> Looks<'_> {
        let mut looks = Looks::default();
        self.look(&mut looks);
        looks
    }

    fn look<'a>(&'a self, looks: &mut Looks<'a>) {
        match self {
            Self::Leaf(leaf) => {
                if let Subject::Field(path) | Subject::Either(path, _) = &leaf.subject {
                    looks.paths.push(path);
                }
                looks.lifecycle |= !matches!(leaf.subject, Subject::Field(_));
            }
            Self::Function(function) => {
                if let Some(condition) = &function.quick_exit {
                    condition.look(looks);
                }
            }
            Self::Group { children, .. } => {
                for child in children {
                    child.look(looks);
                }
            }
        }
    }

    /// The value of `type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Leaf(leaf) => match leaf.subject {
                Subject::Lifecycle(_) => "lifecycle",
                Subject::Field(_) | Subject::Either(..) => "simple",
            },
            Self::Group { .. } => "group",
            Self::Function(_) => "function",
        }
    }

    /// The functions in it, in reading order.
    pub fn functions(&self) -> Vec<&Function> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Function(function) => {
                let within = function.quick_exit.iter().flat_map(Self::functions);
                iter::once(&**function).chain(within).collect()
            }
            Self::Group { children, .. } => children.iter().flat_map(Self::functions).collect(),
        }
    }

    /// The unknown parts.
    pub fn unknowns(&self) -> impl Iterator<Item = &str> {
        let functions = self.functions().into_iter();
        functions.filter_map(|function| function.unknown.as_deref())
    }

    /// The function of that number.
    pub fn function(&self, index: u32) -> Option<&Function> {
        match self {
            Self::Leaf(_) => None,
            Self::Group { children, .. } => children.iter().find_map(|child| child.function(index)),
            Self::Function(function) if function.index == index => Some(function),
            Self::Function(function) => function.quick_exit.as_ref()?.function(index),
        }
    }

    /// Whether it reads the previous version.
    pub fn compares(&self) -> bool {
        self.try_leaves(&mut |leaf| {
            if matches!(leaf.matcher, Matcher::Changed { .. }) {
                Err(())
            } else {
                Ok(())
            }
        })
        .is_err()
    }

    /// Rejects patterns that do not compile; compiles those that are not compiled yet.
    pub fn check_patterns(&self) -> Result<(), Error> {
        self.try_leaves(&mut |leaf| {
            let reason = match (&leaf.matcher, leaf.pattern().map(Pattern::check)) {
                (Matcher::BadPattern(reason), _) => &**reason,
                (_, Some(Err(reason))) => reason,
                (_, Some(Ok(())) | None) => return Ok(()),
            };
            Err(Error::Pattern {
                subject: leaf.subject.to_string(),
                reason: reason.to_owned(),
            })
        })
    }

    /// Whether compiling its patterns would delay other requests.
    pub fn is_to_be_compiled(&self) -> bool {
        let mut size = 0;
        let visit = &mut |leaf: &Leaf| {
            size += leaf.pattern().map_or(0, Pattern::uncompiled);
            if size > COMPILED_AT_ONCE {
                Err(())
            } else {
                Ok(())
            }
        };
        self.try_leaves(visit).is_err()
    }

    /// Compiles its patterns, until one does not compile or `stop` is set.
    pub fn compile(&self, stop: &AtomicBool) {
        let _ = self.try_leaves(&mut |leaf| match leaf.pattern() {
            Some(_) if stop.load(Ordering::Relaxed) => Err(()),
            Some(pattern) => pattern.check().map_err(drop),
            None => Ok(()),
        });
    }

    /// How many times, at most, the bytes of a document are read to evaluate it.
    pub fn weight(&self) -> u64 {
        let mut weight = 0_u64;
        let visit = &mut |leaf: &Leaf| -> Result<(), ()> {
            let leaf = match leaf.pattern() {
                Some(pattern) => pattern.states() as u64,
                None if matches!(leaf.matcher, Matcher::Changed { .. }) => CHANGED_WEIGHT,
                None => 1,
            };
            weight = weight.saturating_add(leaf);
            Ok(())
        };
        let _ = self.try_leaves(visit);
        weight
    }
}

/// How many bytes of patterns are compiled on the calling thread, which takes less than a
/// millisecond.
const COMPILED_AT_ONCE: usize = 32 << 10;

/// Comparing two values deeply takes longer than reading one.
const CHANGED_WEIGHT: u64 = 8;

impl Leaf {
    fn pattern(&self) -> Option<&Pattern> {
        if let Matcher::Pattern(pattern) = &self.matcher {
            Some(pattern)
        } else {
            None
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(path) => path.fmt(f),
            Self::Lifecycle(field) | Self::Either(_, field) => f.write_str(field.as_str()),
        }
    }
}
