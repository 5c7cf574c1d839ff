//! The exported forms of a schema (`models-and-entities.md` §5).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    schema::{Node, Schema},
    types::{DataType, Types},
};

/// How large the paths of a simple view may be together, in MiB: every bucket repeats the names of
/// all objects around it.
const PATHS_MIB_MAX: usize = 16;

/// Why a schema has no simple view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the paths of the simple view would be larger than {PATHS_MIB_MAX} MiB together; export it as \
     JSON_SCHEMA"
)]
pub struct ViewTooLarge;

/// The `SIMPLE_VIEW` form: one bucket per object, one entry per field.
pub fn simple_view(schema: &Schema) -> Result<Value, ViewTooLarge> {
    let mut view = View {
        buckets: Map::new(),
        path_bytes: 0,
    };
    if schema.root.members.is_some() {
        view.fill("$".to_owned(), &schema.root)?;
    }
    Ok(Value::Object(view.buckets))
}

struct View {
    buckets: Map<String, Value>,
    /// The size of the paths of all buckets so far.
    path_bytes: usize,
}

impl View {
    fn fill(&mut self, path: String, node: &Node) -> Result<(), ViewTooLarge> {
        self.path_bytes += path.len();
        if self.path_bytes > PATHS_MIB_MAX << 20 {
            return Err(ViewTooLarge);
        }
        let mut bucket = BTreeMap::new();
        if path.ends_with("[*]") {
            bucket.insert("#".to_owned(), "ARRAY_ELEMENT".to_owned());
        }
        for (name, node) in node.members.iter().flatten() {
            match node {
                Node {
                    members: Some(_), ..
                } => {
                    bucket.insert(format!("#.{name}"), "OBJECT".to_owned());
                    self.fill(format!("{path}.{name}"), node)?;
                }
                Node {
                    element: Some(element),
                    ..
                } if element.members.is_some() => {
                    bucket.insert(format!("#.{name}"), "OBJECT".to_owned());
                    self.fill(format!("{path}.{name}[*]"), element)?;
                }
                Node {
                    element: Some(element),
                    ..
                } => {
                    bucket.insert(format!(".{name}[*]"), element.types.to_string());
                }
                Node { types, .. } => {
                    bucket.insert(format!(".{name}"), types.to_string());
                }
            }
        }
        self.buckets.insert(path, json!(bucket));
        Ok(())
    }
}

/// The `JSON_SCHEMA` form.
pub fn json_schema(schema: &Schema) -> Value {
    node_schema(&schema.root)
}

fn node_schema(node: &Node) -> Value {
    match node {
        Node {
            members: Some(members),
            ..
        } => {
            let properties: Map<_, _> = members
                .iter()
                .map(|(name, node)| (name.as_ref().to_owned(), node_schema(node)))
                .collect();
            json!({"type": "object", "properties": properties})
        }
        Node {
            element: Some(element),
            ..
        } => json!({"type": "array", "items": node_schema(element)}),
        Node { types, .. } => types_schema(*types),
    }
}

fn types_schema(types: Types) -> Value {
    let mut schemas: Vec<_> = types.iter().map(type_schema).collect();
    match schemas.len() {
        0 => json!({}),
        1 => schemas.remove(0),
        _ => json!({"oneOf": schemas}),
    }
}

fn type_schema(data_type: DataType) -> Value {
    use DataType as T;
    let text = |format: &str| json!({"type": "string", "format": format});
    match data_type {
        T::Integer | T::Long | T::BigInteger | T::UnboundInteger => json!({"type": "integer"}),
        T::Double | T::BigDecimal | T::UnboundDecimal => json!({"type": "number"}),
        T::String | T::Character => json!({"type": "string"}),
        T::Boolean => json!({"type": "boolean"}),
        T::Null => json!({"type": "null"}),
        T::LocalDate => text("date"),
        T::LocalDateTime | T::ZonedDateTime => text("date-time"),
        T::LocalTime => text("time"),
        T::Year => text("year"),
        T::YearMonth => text("year-month"),
        T::Uuid | T::TimeUuid => text("uuid"),
        T::ByteArray => text("byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Document;

    fn schema(sample: &str) -> Schema {
        Schema::infer(&Document::parse(sample).expect(sample))
    }

    const SAMPLE: &str =
        r#"{"sku":"A-1","qty":3,"tags":["x"],"dims":{"w":1.5},"lines":[{"n":1,"opts":["a"]}]}"#;

    #[test]
    fn the_documented_sample_has_the_documented_simple_view() {
        assert_eq!(
            simple_view(&schema(SAMPLE)).expect("small"),
            json!({
                "$": {"#.dims": "OBJECT", "#.lines": "OBJECT", ".qty": "INTEGER", ".sku": "STRING", ".tags[*]": "STRING"},
                "$.dims": {".w": "DOUBLE"},
                "$.lines[*]": {"#": "ARRAY_ELEMENT", ".n": "INTEGER", ".opts[*]": "STRING"}
            })
        );
        assert_eq!(simple_view(&schema("[1]")), Ok(json!({})));
        assert_eq!(
            simple_view(&schema(r#"{"a":[],"b":[[1]],"c":null}"#)),
            Ok(json!({"$": {".a[*]": "NULL", ".b[*]": "NULL", ".c": "NULL"}}))
        );
    }

    #[test]
    fn a_long_name_is_not_repeated_without_a_limit() {
        let sample = |objects: usize| {
            let objects: Vec<_> = (0..objects).map(|n| format!("\"x{n}\":{{}}")).collect();
            let name = "k".repeat(1 << 20);
            schema(&format!("{{\"{name}\":{{{}}}}}", objects.join(",")))
        };
        assert!(simple_view(&sample(PATHS_MIB_MAX - 2)).is_ok());
        assert_eq!(simple_view(&sample(PATHS_MIB_MAX)), Err(ViewTooLarge));
    }

    #[test]
    fn the_documented_sample_has_the_documented_json_schema() {
        assert_eq!(
            json_schema(&schema(SAMPLE)),
            json!({"type":"object","properties":{
                "dims":{"type":"object","properties":{"w":{"type":"number"}}},
                "lines":{"type":"array","items":{"type":"object","properties":{
                    "n":{"type":"integer"},"opts":{"type":"array","items":{"type":"string"}}}}},
                "qty":{"type":"integer"},"sku":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}}})
        );
        assert_eq!(
            json_schema(&schema(r#"{"a":[1,"x",{"b":1}],"c":[1,"2024"]}"#))
                .pointer("/properties/c/items"),
            Some(&json!({"oneOf": [{"type": "integer"}, {"type": "string", "format": "year"}]}))
        );
    }
}
