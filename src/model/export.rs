//! The exported forms of a schema (`models-and-entities.md` §5).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    schema::{Node, Schema},
    types::DataType,
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
        // A field has an entry for everything that it accepts.
        for (name, node) in node.members.iter().flatten() {
            if node.members.is_some() {
                bucket.insert(format!("#.{name}"), "OBJECT".to_owned());
                self.fill(format!("{path}.{name}"), node)?;
            }
            if let Some(element) = &node.element {
                if element.members.is_some() {
                    bucket.insert(format!("#.{name}"), "OBJECT".to_owned());
                    self.fill(format!("{path}.{name}[*]"), element)?;
                }
                if element.members.is_none() || !element.types.is_empty() {
                    bucket.insert(format!(".{name}[*]"), element.types.to_string());
                }
            }
            if !node.is_structure() || !node.types.is_empty() {
                bucket.insert(format!(".{name}"), node.types.to_string());
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
    let mut schemas: Vec<_> = node.types.iter().map(type_schema).collect();
    if let Some(members) = &node.members {
        let properties: Map<_, _> = members
            .iter()
            .map(|(name, node)| (name.as_ref().to_owned(), node_schema(node)))
            .collect();
        schemas.push(json!({"type": "object", "properties": properties}));
    }
    if let Some(element) = &node.element {
        schemas.push(json!({"type": "array", "items": node_schema(element)}));
    }
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

    #[test]
    fn everything_that_a_field_accepts_is_exported() {
        let mixed = schema(r#"{"a":[1,{"b":2}],"p":5,"n":null,"t":{"x":1}}"#)
            .merge(schema(r#"{"p":{"x":1},"n":[1],"t":[{"y":1}]}"#));
        let view = json!({
            "$": {"#.a": "OBJECT", ".a[*]": "INTEGER", "#.p": "OBJECT", ".p": "INTEGER",
                ".n": "NULL", ".n[*]": "INTEGER", "#.t": "OBJECT"},
            "$.a[*]": {"#": "ARRAY_ELEMENT", ".b": "INTEGER"},
            "$.p": {".x": "INTEGER"},
            "$.t": {".x": "INTEGER"},
            "$.t[*]": {"#": "ARRAY_ELEMENT", ".y": "INTEGER"}
        });
        assert_eq!(simple_view(&mixed), Ok(view.clone()));
        let view = serde_json::from_value(view).expect("a view");
        assert_eq!(Schema::from_simple_view(&view), Ok(mixed.clone()));
        let integer = json!({"type": "integer"});
        let object =
            |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}});
        assert_eq!(
            json_schema(&mixed)["properties"],
            json!({
                "a": {"type": "array", "items": {"oneOf": [integer, object("b")]}},
                "p": {"oneOf": [integer, object("x")]},
                "n": {"oneOf": [{"type": "null"}, {"type": "array", "items": integer}]},
                "t": {"oneOf": [object("x"), {"type": "array", "items": object("y")}]}
            })
        );
    }
}
