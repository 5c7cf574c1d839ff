//! Finds the types that the schemas need.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    names::pascal,
    schema::{
        Definitions, Protocol, alternatives, description, is_required, kinds, properties, texts,
    },
};

/// The type of a value.
#[derive(Clone, PartialEq)]
pub(crate) enum Type {
    /// Any JSON.
    Json,
    Text,
    Bool,
    Integer(&'static str),
    Time,
    List(Box<Self>),
    Map(Box<Self>),
    Named(String),
}

pub(crate) struct Field {
    /// As on the wire.
    pub(crate) name: String,
    pub(crate) docs: String,
    pub(crate) kind: Type,
    pub(crate) is_required: bool,
}

pub(crate) enum Shape {
    Struct(Vec<Field>),
    /// The values and what they mean.
    Texts(Vec<(String, String)>),
    /// Alternatives that a member distinguishes: its name, its values and their types.
    Union(String, Vec<(String, String)>),
    Alias(Type),
}

pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) docs: String,
    pub(crate) shape: Shape,
}

/// All types, in the order in which they are written.
pub(crate) struct Types {
    pub(crate) all: Vec<Definition>,
    /// Those that are part of what clients send.
    pub(crate) sent: BTreeSet<String>,
    /// The types that contain themselves, with those of them that a type contains directly.
    contained: BTreeMap<String, BTreeSet<String>>,
}

impl Types {
    pub(crate) fn find(protocol: &Protocol) -> Result<Self, String> {
        let definitions = protocol.definitions();
        let mut finder = Finder {
            found: Vec::new(),
            known: BTreeSet::new(),
            names: &BTreeMap::new(),
            definitions: &definitions,
        };
        let mut done = BTreeSet::new();
        for (title, file) in &protocol.files {
            finder.names = &definitions.names[title];
            let mut left_out = Vec::new();
            if protocol.is_sent_by_clients(title) {
                left_out.push("id"); // the client chooses it
            }
            if protocol.is_answer(title) {
                left_out.extend(["success", "error"]); // they become an error
            }
            let at = |failure| format!("{title}: {failure}");
            finder.declare(title, file, &left_out).map_err(at)?;
            for chosen in finder.names.values() {
                if done.insert(chosen.clone()) {
                    let schema = &definitions.schemas[chosen];
                    finder.declare(chosen, schema, &[]).map_err(at)?;
                }
            }
        }
        let all = finder.found;
        let sent = protocol
            .files
            .keys()
            .filter(|title| protocol.is_sent_by_clients(title));
        let sent = reached(&references(&all, true), sent.cloned());
        let contained = references(&all, false);
        Ok(Self {
            all,
            sent,
            contained,
        })
    }

    /// Whether a member of one type has to be boxed because the other contains it.
    pub(crate) fn is_recursive(&self, owner: &str, member: &str) -> bool {
        reached(&self.contained, [member.to_owned()].into_iter()).contains(owner)
    }
}

/// Which types each type names; those in lists and maps only if asked for.
fn references(all: &[Definition], in_lists: bool) -> BTreeMap<String, BTreeSet<String>> {
    fn add(kind: &Type, in_lists: bool, to: &mut BTreeSet<String>) {
        match kind {
            Type::Named(name) => {
                to.insert(name.clone());
            }
            Type::List(item) | Type::Map(item) if in_lists => add(item, in_lists, to),
            _ => {}
        }
    }
    all.iter()
        .map(|one| {
            let mut named = BTreeSet::new();
            match &one.shape {
                Shape::Struct(fields) => {
                    for field in fields {
                        add(&field.kind, in_lists, &mut named);
                    }
                }
                Shape::Union(_, variants) => {
                    named.extend(variants.iter().map(|(_, kind)| kind.clone()));
                }
                Shape::Alias(kind) => add(kind, in_lists, &mut named),
                Shape::Texts(_) => {}
            }
            (one.name.clone(), named)
        })
        .collect()
}

fn reached(
    edges: &BTreeMap<String, BTreeSet<String>>,
    from: impl Iterator<Item = String>,
) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<_> = from.collect();
    while let Some(one) = waiting.pop() {
        if seen.insert(one.clone()) {
            waiting.extend(edges.get(&one).into_iter().flatten().cloned());
        }
    }
    seen
}

struct Finder<'a> {
    found: Vec<Definition>,
    known: BTreeSet<String>,
    /// The names of the definitions of the file at hand.
    names: &'a BTreeMap<String, String>,
    definitions: &'a Definitions,
}

impl Finder<'_> {
    fn declare(&mut self, name: &str, schema: &Value, left_out: &[&str]) -> Result<(), String> {
        if !self.known.insert(name.to_owned()) {
            return Err(format!("the name {name} is taken"));
        }
        let place = self.found.len();
        let shape = if let Some(values) = texts(schema) {
            texts_with_meanings(schema, values)
        } else if let Some((tag, variants)) = self.tagged(schema) {
            self.union(name, &tag, variants)?
        } else if let Some(merged) = self.merged(schema) {
            self.members(name, &merged, left_out)?
        } else if properties(schema).is_some() || kinds(schema) == ["object"] {
            self.members(name, schema, left_out)?
        } else {
            Shape::Alias(self.kind_of(name, schema)?)
        };
        let mut docs = description(schema).to_owned();
        if docs.is_empty() && schema["title"] == name {
            docs = format!("The data of an event of the type `{name}`.");
        }
        let made = Definition {
            name: name.to_owned(),
            docs,
            shape,
        };
        self.found.insert(place, made);
        Ok(())
    }

    fn union(
        &mut self,
        name: &str,
        tag: &str,
        variants: Vec<(String, Value)>,
    ) -> Result<Shape, String> {
        let mut named = Vec::new();
        for (value, schema) in variants {
            let kind = format!("{}{name}", pascal(&value));
            self.declare(&kind, &schema, &[tag])?;
            named.push((value, kind));
        }
        Ok(Shape::Union(tag.to_owned(), named))
    }

    fn members(&mut self, name: &str, schema: &Value, left_out: &[&str]) -> Result<Shape, String> {
        let mut fields = Vec::new();
        for (member, property) in properties(schema).into_iter().flatten() {
            if left_out.contains(&member.as_str()) {
                continue;
            }
            let own = format!("{name}{}", pascal(member));
            let kind = self
                .kind_of(&own, property)
                .map_err(|failure| format!("{member}: {failure}"))?;
            if let Some(inner) = self.inline(property) {
                let inner = inner.clone();
                self.declare(&own, &inner, &[])?;
            }
            fields.push(Field {
                name: member.clone(),
                docs: description(property).to_owned(),
                kind,
                is_required: is_required(schema, member),
            });
        }
        Ok(Shape::Struct(fields))
    }

    /// The schema of a type of its own that a member needs.
    fn inline<'a>(&self, schema: &'a Value) -> Option<&'a Value> {
        if !schema.is_object() || schema["$ref"].is_string() {
            return None;
        }
        let is_own = texts(schema).is_some_and(|texts| texts.len() > 1)
            || properties(schema).is_some()
            || self.tagged(schema).is_some()
            || self.merged(schema).is_some();
        match kinds(schema).as_slice() {
            _ if is_own => Some(schema),
            ["array"] => self.inline(&schema["items"]),
            ["object"] => self.inline(&schema["additionalProperties"]),
            _ => None,
        }
    }

    /// The type of a value; the name is that of its own type, if it needs one.
    fn kind_of(&self, name: &str, schema: &Value) -> Result<Type, String> {
        if !schema.is_object() {
            return Ok(Type::Json);
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return self.reference(reference);
        }
        if self.inline(schema) == Some(schema) {
            return Ok(Type::Named(name.to_owned()));
        }
        if let [one] = alternatives(schema).as_slice()
            && let Some(reference) = one["$ref"].as_str()
        {
            return self.reference(reference);
        }
        Ok(match kinds(schema).as_slice() {
            ["string"] if schema["format"] == "date-time" => Type::Time,
            ["string"] => Type::Text,
            ["boolean"] => Type::Bool,
            ["integer"] => Type::Integer(match schema["format"].as_str() {
                Some("int32") => "i32",
                Some("uint32") => "u32",
                Some("uint64" | "uint") => "u64",
                _ => "i64",
            }),
            ["array"] => Type::List(Box::new(self.kind_of(name, &schema["items"])?)),
            ["object"] if schema["additionalProperties"].is_object() => {
                let value = self.kind_of(name, &schema["additionalProperties"])?;
                Type::Map(Box::new(value))
            }
            _ => Type::Json, // numbers, too: they keep their digits
        })
    }

    fn reference(&self, reference: &str) -> Result<Type, String> {
        let name = self.names.get(last(reference));
        name.map(|name| Type::Named(name.clone()))
            .ok_or_else(|| format!("{reference} is not defined"))
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        schema["$ref"]
            .as_str()
            .and_then(|reference| self.names.get(last(reference)))
            .map_or(schema, |name| &self.definitions.schemas[name])
    }

    /// The alternatives by the value of the member that distinguishes them, if one does.
    fn tagged(&self, schema: &Value) -> Option<(String, Vec<(String, Value)>)> {
        let found = alternatives(schema);
        if found.len() < 2 {
            return None;
        }
        let first = properties(self.resolved(found[0]))?;
        let (tag, _) = first.iter().find(|(_, one)| one["const"].is_string())?;
        let variants = found.iter().map(|one| {
            let one = self.resolved(one);
            let value = properties(one)?.get(tag)?["const"].as_str()?;
            Some((value.to_owned(), one.clone()))
        });
        Some((tag.clone(), variants.collect::<Option<_>>()?))
    }

    /// An object with the members of all alternatives, if each is an object. What is not the
    /// same in all of them is optional.
    fn merged(&self, schema: &Value) -> Option<Value> {
        let found = alternatives(schema);
        if found.len() < 2 || self.tagged(schema).is_some() {
            return None;
        }
        let mut members = Map::new();
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &found {
            let one = self.resolved(one);
            for (member, property) in properties(one)? {
                let combined = combined(members.get(member), property);
                members.insert(member.clone(), combined);
                if is_required(one, member) {
                    *counted.entry(member).or_default() += 1;
                }
            }
        }
        let required: Vec<_> = counted
            .iter()
            .filter(|(_, count)| **count == found.len())
            .map(|(member, _)| *member)
            .collect();
        Some(json!({
            "title": schema["title"], "description": schema["description"],
            "type": "object", "properties": members, "required": required,
        }))
    }
}

/// The schema of a member that two alternatives have.
fn combined(known: Option<&Value>, another: &Value) -> Value {
    let Some(known) = known.filter(|known| *known != another) else {
        return another.clone();
    };
    if let (Some(mut one), Some(other)) = (texts(known), texts(another)) {
        one.extend(other);
        return json!({"description": description(known), "type": "string", "enum": one});
    }
    let plain = |schema: &Value| {
        let mut copied = schema.clone();
        if let Some(members) = copied.as_object_mut() {
            members.remove("description");
        }
        copied
    };
    if plain(known) == plain(another) {
        return plain(known);
    }
    Value::Bool(true)
}

fn texts_with_meanings(schema: &Value, values: Vec<String>) -> Shape {
    let meaning = |value: &str| {
        alternatives(schema)
            .into_iter()
            .find(|one| one["const"] == value)
            .map_or_else(String::new, |one| description(one).to_owned())
    };
    Shape::Texts(
        values
            .into_iter()
            .map(|value| (value.clone(), meaning(&value)))
            .collect(),
    )
}

fn last(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}
