//! A criterion as a tree with the result of each part.

use crate::condition::{Condition, Connective};

/// A part of a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Leaf {
        /// The field or metadata that it reads.
        subject: String,
        operator: &'static str,
        /// As JSON.
        operand: Option<String>,
        /// None if it was not evaluated.
        held: Option<bool>,
        /// The value, as JSON; cut if it is long.
        seen: Option<String>,
    },
    Function {
        name: String,
        held: Option<bool>,
        /// The member's reason.
        reason: Option<String>,
        quick_exit: Option<Box<Self>>,
    },
    Group {
        connective: &'static str,
        held: Option<bool>,
        children: Vec<Self>,
    },
}

/// The outcome of a leaf: its number, whether it held, what it saw.
pub(super) type LeafResult = (u32, bool, Option<String>);

impl Node {
    pub(super) fn new(condition: &Condition, outcomes: &[LeafResult]) -> Self {
        let of = |index: u32| outcomes.iter().find(|(leaf, ..)| *leaf == index);
        match condition {
            Condition::Leaf(leaf) => {
                let outcome = of(leaf.index);
                Self::Leaf {
                    subject: leaf.subject.to_string(),
                    operator: leaf.operator.as_str(),
                    operand: leaf.operand.as_deref().map(ToOwned::to_owned),
                    held: outcome.map(|(_, held, _)| *held),
                    seen: outcome.and_then(|(.., seen)| seen.clone()),
                }
            }
            Condition::Function(function) => {
                let outcome = of(function.index);
                let quick_exit = function
                    .quick_exit
                    .as_ref()
                    .map(|condition| Box::new(Self::new(condition, outcomes)));
                let refused = quick_exit
                    .as_ref()
                    .is_some_and(|node| node.held() == Some(false));
                Self::Function {
                    name: function.name.to_string(),
                    held: if refused {
                        Some(false)
                    } else {
                        outcome.map(|(_, held, _)| *held)
                    },
                    reason: outcome.and_then(|(.., reason)| reason.clone()),
                    quick_exit,
                }
            }
            Condition::Group {
                connective,
                children,
            } => {
                let children: Vec<_> = children
                    .iter()
                    .map(|child| Self::new(child, outcomes))
                    .collect();
                let (name, decisive, outcome) = match connective {
                    Connective::And => ("AND", false, false),
                    Connective::Or => ("OR", true, true),
                    Connective::Not => ("NOT", true, false),
                };
                let decided = children.iter().any(|child| child.held() == Some(decisive));
                let known = children.iter().all(|child| child.held().is_some());
                Self::Group {
                    connective: name,
                    held: if decided {
                        Some(outcome)
                    } else {
                        known.then_some(!outcome)
                    },
                    children,
                }
            }
        }
    }

    pub const fn held(&self) -> Option<bool> {
        match self {
            Self::Leaf { held, .. } | Self::Function { held, .. } | Self::Group { held, .. } => {
                *held
            }
        }
    }

    /// The first part that decided the result, in words.
    pub(super) fn decisive(&self, came_out: bool) -> Option<String> {
        if self.held() != Some(came_out) {
            return None;
        }
        match self {
            Self::Leaf {
                subject,
                operator,
                operand,
                seen,
                ..
            } => {
                let operand = operand.as_deref().unwrap_or_default();
                let seen = seen.as_deref().map_or_else(
                    || "there is no value".to_owned(),
                    |seen| format!("the value is {seen}"),
                );
                Some(format!("{subject} {operator} {operand}: {seen}"))
            }
            Self::Function {
                name,
                reason,
                quick_exit,
                ..
            } => quick_exit
                .as_ref()
                .filter(|_| !came_out)
                .and_then(|node| node.decisive(false))
                .or_else(|| {
                    let reason = reason
                        .as_deref()
                        .map_or_else(String::new, |text| format!(": {text}"));
                    let says = if came_out { "yes" } else { "no" };
                    Some(format!("function {name} returns {says}{reason}"))
                }),
            Self::Group {
                connective,
                children,
                ..
            } => {
                let wanted = if *connective == "NOT" {
                    !came_out
                } else {
                    came_out
                };
                children.iter().find_map(|child| child.decisive(wanted))
            }
        }
    }
}
