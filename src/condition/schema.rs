//! Validates a condition against the schema of a model (`search.md` §4).

use std::collections::HashSet;

use super::{Condition, Error, Leaf, Matcher, Operand, Subject};
use crate::entity::Path;
use crate::model::{DataType, Node, Schema, Types};

/// What a condition may use that the model does not declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undeclared {
    Refused,
    /// Operands that are not of the declared types, where the field may hold other values: any text
    /// is accepted for a field declared as a time (`models-and-entities.md` §3.4), and a field of
    /// which only null was seen has no type yet.
    Values,
    /// These, and fields: they count as missing, because the model may still grow them.
    Fields,
}

impl Condition {
    /// Rejects paths that the model does not know, and operands of comparisons and ranges that are
    /// not valid values of their field.
    pub fn check_against(&self, schema: &Schema, undeclared: Undeclared) -> Result<(), Error> {
        let mut missing = Vec::new();
        self.try_leaves(&mut |leaf| leaf.check_path(schema, &mut missing))?;
        if undeclared != Undeclared::Fields && !missing.is_empty() {
            return Err(Error::UnknownPaths(missing));
        }
        self.check_patterns()?;
        self.try_leaves(&mut |leaf| leaf.check_operands(schema, undeclared))
    }
}

impl Condition {
    /// The paths that the model does not know, each once.
    pub fn unknown_paths(&self, schema: &Schema) -> Vec<Path> {
        let mut unknown = Vec::new();
        let mut seen = HashSet::new();
        let _ = self.try_leaves::<()>(&mut |leaf| {
            if let Subject::Field(path) = &leaf.subject
                && schema.root.at(path).is_none()
                && seen.insert(path.clone())
            {
                unknown.push(path.clone());
            }
            Ok(())
        });
        unknown
    }

    /// Rejects operands that are not times where a time of the metadata is compared.
    pub fn check_times(&self) -> Result<(), Error> {
        self.try_leaves(&mut |leaf| match leaf.subject {
            Subject::Lifecycle(_) => leaf.check_operands(&Schema::default(), Undeclared::Refused),
            Subject::Field(_) | Subject::Either(..) => Ok(()),
        })
    }
}

impl Leaf {
    fn check_path(&self, schema: &Schema, missing: &mut Vec<String>) -> Result<(), Error> {
        let Subject::Field(path) = &self.subject else {
            return Ok(());
        };
        match schema.root.at(path) {
            None => missing.push(path.to_string()),
            Some(node) if is_object(node) && !self.is_about_presence() => {
                return Err(Error::Path(format!(
                    "{path} is an object; only IS_NULL and NOT_NULL apply to it"
                )));
            }
            Some(_) => {}
        }
        Ok(())
    }

    pub(super) const fn is_about_presence(&self) -> bool {
        matches!(
            self.matcher,
            Matcher::IsNull | Matcher::NotNull | Matcher::Changed { .. }
        )
    }

    /// Rejects operands of another type in comparisons and ranges (`search.md` §4). In a list of
    /// operands such an operand matches nothing, and the others may match.
    fn check_operands(&self, schema: &Schema, undeclared: Undeclared) -> Result<(), Error> {
        if self.is_of_array {
            return Ok(());
        }
        let operands: Vec<&Operand> = match &self.matcher {
            Matcher::Compare(_, operand) => vec![operand],
            Matcher::Between { low, high, .. } => vec![low, high],
            Matcher::In { .. }
            | Matcher::IsNull
            | Matcher::NotNull
            | Matcher::Changed { .. }
            | Matcher::Text { .. }
            | Matcher::Pattern(_)
            | Matcher::BadPattern(_) => return Ok(()),
        };
        let declared = match &self.subject {
            Subject::Field(path) | Subject::Either(path, _) => {
                schema.root.at(path).map(scalar_types)
            }
            Subject::Lifecycle(_) => None,
        };
        let is_time = match &self.subject {
            Subject::Lifecycle(field) => field.is_time(),
            Subject::Either(_, field) => declared.is_none() && field.is_time(),
            Subject::Field(_) => false,
        };
        for operand in operands {
            let fits = match declared {
                Some(types) => may_hold_others(types, undeclared) || operand.fits(types),
                None => !is_time || operand.text().is_none() || operand.is_time(),
            };
            if !fits {
                return Err(Error::TypeMismatch {
                    subject: self.subject.to_string(),
                    operand: operand.text().unwrap_or_default().to_owned(),
                    declared: declared
                        .map_or_else(|| "a date-time".to_owned(), |types| types.to_string()),
                });
            }
        }
        Ok(())
    }
}

/// Whether a field of these types may hold values of other types, or get to.
fn may_hold_others(types: Types, undeclared: Undeclared) -> bool {
    let is_open = types.any(DataType::is_temporal) || types.iter().all(|one| one == DataType::Null);
    types.is_empty() || undeclared != Undeclared::Refused && is_open
}

/// Whether there is never a value to compare: an object, or a list of objects without `[*]`.
pub(super) fn is_object(node: &Node) -> bool {
    let node = node.element.as_deref().unwrap_or(node);
    node.members.is_some() && node.types.is_empty()
}

/// The types of the values that a leaf compares: for a list without `[*]`, those of the elements.
pub(super) fn scalar_types(node: &Node) -> Types {
    match &node.element {
        Some(element) => node.types.merge(element.types),
        None => node.types,
    }
}
