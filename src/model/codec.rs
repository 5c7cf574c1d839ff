//! The stored form of a schema: its nodes in depth-first order, one row each.
//!
//! A row is `[depth, name, "o" if an object, [types]]`; the name of a list's element is null. Rows
//! are flat, because a tree of 256 levels would be JSON of twice as many.

use std::sync::Arc;

use super::{
    schema::{Node, Schema, SchemaMembers},
    types::{DataType, Types},
};

/// A stored schema that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("the stored schema is not readable")]
    Json(#[from] serde_json::Error),
    #[error("the stored schema names an unknown type `{0}`")]
    Type(Arc<str>),
    #[error("the rows of the stored schema do not make a tree")]
    Shape,
}

type Row = (usize, Option<Arc<str>>, bool, Vec<Arc<str>>);

impl Schema {
    pub fn encode(&self) -> Result<String, CodecError> {
        let mut rows = Vec::new();
        descend(&self.root, 0, None, &mut rows);
        Ok(serde_json::to_string(&rows)?)
    }

    pub fn decode(text: &str) -> Result<Self, CodecError> {
        let rows: Vec<Row> = serde_json::from_str(text)?;
        let mut open: Vec<(Option<Arc<str>>, Node)> = Vec::new();
        for (depth, name, is_object, types) in rows {
            while open.len() > depth {
                close(&mut open)?;
            }
            if open.len() != depth {
                return Err(CodecError::Shape);
            }
            let types = types.into_iter().try_fold(Types::EMPTY, |types, name| {
                let data_type = DataType::from_name(&name).ok_or(CodecError::Type(name))?;
                Ok::<_, CodecError>(types.merge(Types::of(data_type)))
            })?;
            let node = Node {
                types,
                members: is_object.then(SchemaMembers::default),
                element: None,
            };
            open.push((name, node));
        }
        while open.len() > 1 {
            close(&mut open)?;
        }
        let (_, root) = open.pop().ok_or(CodecError::Shape)?;
        Ok(Self { root })
    }
}

fn descend(node: &Node, depth: usize, name: Option<Arc<str>>, rows: &mut Vec<Row>) {
    let types = node
        .types
        .iter()
        .map(|data_type| data_type.as_str().into())
        .collect();
    rows.push((depth, name, node.members.is_some(), types));
    for (name, member) in node.members.iter().flatten() {
        descend(member, depth + 1, Some(Arc::clone(name)), rows);
    }
    if let Some(element) = &node.element {
        descend(element, depth + 1, None, rows);
    }
}

/// Puts the innermost open node into its parent.
fn close(open: &mut Vec<(Option<Arc<str>>, Node)>) -> Result<(), CodecError> {
    let (name, node) = open.pop().ok_or(CodecError::Shape)?;
    let (_, parent) = open.last_mut().ok_or(CodecError::Shape)?;
    match name {
        Some(name) => {
            parent
                .members
                .as_mut()
                .ok_or(CodecError::Shape)?
                .insert(name, node);
        }
        None => parent.element = Some(Box::new(node)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{DEPTH_MAX, Document};

    #[test]
    fn a_schema_survives_being_stored() {
        let deep = format!("{}1{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
        for sample in [r#"{"a":[1,{"b":null}],"c":"2024","":{}}"#, "[]", "1", &deep] {
            let schema = Schema::infer(&Document::parse(sample).expect(sample));
            let text = schema.encode().expect("encodable");
            assert_eq!(Schema::decode(&text).expect("decodable"), schema);
        }
    }

    #[test]
    fn rows_that_make_no_tree_are_refused() {
        for text in [
            "[]",
            "{}",
            r"[[1,null,true,[]]]",
            r#"[[0,null,false,[]],[1,"a",false,[]]]"#,
            r#"[[0,null,false,["INT"]]]"#,
        ] {
            assert!(Schema::decode(text).is_err(), "{text}");
        }
    }
}
