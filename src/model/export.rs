//! The exported forms of a schema (`models-and-entities.md` §5).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    schema::{Node, Schema},
    types::{DataType, Types},
};

/// The `SIMPLE_VIEW` form: one bucket per object, one entry per field.
pub fn simple_view(schema: &Schema) -> Value {
    let mut buckets = Map::new();
    if schema.root.members.is_some() {
        fill(&mut buckets, "$", &schema.root);
    }
    Value::Object(buckets)
}

fn fill(buckets: &mut Map<String, Value>, path: &str, node: &Node) {
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
                fill(buckets, &format!("{path}.{name}"), node);
            }
            Node {
                element: Some(element),
                ..
            } if element.members.is_some() => {
                bucket.insert(format!("#.{name}"), "OBJECT".to_owned());
                fill(buckets, &format!("{path}.{name}[*]"), element);
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
    buckets.insert(path.to_owned(), json!(bucket));
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
            simple_view(&schema(SAMPLE)),
            json!({
                "$": {"#.dims": "OBJECT", "#.lines": "OBJECT", ".qty": "INTEGER", ".sku": "STRING", ".tags[*]": "STRING"},
                "$.dims": {".w": "DOUBLE"},
                "$.lines[*]": {"#": "ARRAY_ELEMENT", ".n": "INTEGER", ".opts[*]": "STRING"}
            })
        );
        assert_eq!(simple_view(&schema("[1]")), json!({}));
        assert_eq!(
            simple_view(&schema(r#"{"a":[],"b":[[1]],"c":null}"#)),
            json!({"$": {".a[*]": "NULL", ".b[*]": "NULL", ".c": "NULL"}})
        );
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
