//! Reads JSON into types, and accepts only objects for structs.
//!
//! May use: nothing of this crate.
//! What serde derives for a struct also accepts a list, by the order of the members. A list by
//! mistake would then have a meaning: `["REPLACE"]` would remove all workflows of a model. So input
//! from outside is read with [`read`].

use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// Parses a text.
///
/// # Errors
/// Invalid JSON, or JSON of another form than the type's.
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(Objects(&mut reader))?;
    reader.end()?;
    Ok(read)
}

/// Parses a text, and returns the names of unknown members.
///
/// # Errors
/// Those of [`read`].
pub fn read_noting<'de, T: Deserialize<'de>>(
    text: &'de str,
) -> Result<(T, Vec<String>), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut unknown = Vec::new();
    // An optional member is a step `?` of its own.
    let note = |path: serde_ignored::Path<'_>| unknown.push(path.to_string().replace(".?", ""));
    let read = serde_ignored::deserialize(Objects(&mut reader), note)?;
    reader.end()?;
    Ok((read, unknown))
}

/// A serde deserializer that applies `Objects` to everything within.
struct Objects<T>(T);

/// The visitor of a struct, which accepts only an object.
struct ObjectVisitor<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for ObjectVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $of:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $of,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Objects(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(ObjectVisitor(visitor))
    }

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($of:ty);)*) => {$(
        fn $method<E: Error>(self, value: $of) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool(bool);
        visit_i64(i64);
        visit_i128(i128);
        visit_u64(u64);
        visit_u128(u128);
        visit_f64(f64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Objects(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Objects(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Objects<A> {
    type Error = A::Error;
    type Variant = Objects<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Objects(seed))?;
        Ok((value, Objects(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Objects(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Objects(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Objects(visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Order<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
        #[serde(default)]
        lines: Vec<Line>,
        first: Option<Line>,
        #[serde(default)]
        others: BTreeMap<String, Line>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        sku: String,
        #[serde(default)]
        count: i32,
    }

    #[test]
    fn objects_are_read_wherever_they_are_and_what_is_raw_stays_as_it_is() {
        let text = r#"{"data":[1.50, {"a": []}],"lines":[{"sku":"a"},{"sku":"b","count":-2}],"first":null,"others":{"x":{"sku":"c"}}}"#;
        let order: Order<'_> = read(text).expect("an order");
        assert_eq!(order.data.get(), r#"[1.50, {"a": []}]"#);
        assert_eq!(order.lines.len(), 2);
        assert_eq!(order.lines[1].count, -2);
        assert_eq!(order.first, None);
        assert_eq!(order.others["x"].sku, "c");
    }

    #[test]
    fn a_list_is_no_object_wherever_it_is() {
        for (text, place) in [
            (r"[]", "column 0"),
            (r#"[{"a":1},[],null,{}]"#, "column 0"),
            (r#"{"data":1,"lines":[["a",1]]}"#, "column 19"),
            (r#"{"data":1,"first":["a",1]}"#, "column 18"),
            (r#"{"data":1,"others":{"x":["a"]}}"#, "column 24"),
        ] {
            let failure = read::<Order<'_>>(text).expect_err(text).to_string();
            assert!(
                failure.starts_with("invalid type: sequence, expected an object"),
                "{failure}"
            );
            assert!(failure.ends_with(place), "{text}: {failure}");
        }
    }

    #[test]
    fn what_is_not_known_is_noted() {
        let text = r#"{"data":{"x":1},"lines":[{"sku":"a","colour":1}],"dta":2}"#;
        let (_, unknown): (Order<'_>, _) = read_noting(text).expect("an order");
        assert_eq!(unknown, ["lines.0.colour", "dta"]);
        assert!(read_noting::<Line>(r#"["a"]"#).is_err());
    }

    #[test]
    fn nothing_follows() {
        let failure = read::<Line>(r#"{"sku":"a"} 1"#).expect_err("more");
        assert!(failure.to_string().starts_with("trailing characters"));
    }
}
