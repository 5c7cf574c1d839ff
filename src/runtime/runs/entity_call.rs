//! Requests to the connector `entity`: steps on entities, and what their entities have to be
//! (`runs.md` §7).

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::entity::{Document, Image, Number, Shape, Value};
use crate::error::{Code, Failure};
use crate::expr::{members, quoted, string};
use crate::id::ModelKey;
use crate::program::EntityStep;
use crate::runtime::anchor::parsed;

/// A request to the connector `entity`.
#[derive(Deserialize)]
struct Request<'a> {
    operation: String,
    target: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    set: Option<&'a RawValue>,
    #[serde(borrow)]
    r#where: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// A step on an entity, and its input.
#[derive(Debug)]
pub(in crate::runtime) struct EntityCall {
    pub(super) step: EntityStep,
    pub(super) input: Arc<str>,
    /// What the entity has to be; none: any, or one that the step creates.
    pub(super) only: Option<Only>,
}

/// What an entity has to be, so that a step does not read or change another one.
#[derive(Debug)]
pub(super) struct Only {
    model: ModelKey,
    /// Members of its document, and their values.
    members: Vec<(String, Document)>,
}

impl EntityCall {
    /// What a step of a document asks for.
    pub(super) const fn of_step(step: EntityStep, input: Arc<str>) -> Self {
        Self {
            step,
            input,
            only: None,
        }
    }

    /// Reads a request to the connector.
    pub(in crate::runtime) fn parse(request: &str) -> Result<Self, String> {
        let request: Request<'_> =
            serde_json::from_str(request).map_err(|error| error.to_string())?;
        let operation = request.operation.trim();
        if let Some((word, transition)) = operation.split_once(' ')
            && word.eq_ignore_ascii_case("TRANSITION")
        {
            let transition = quoted(transition.trim());
            let more = format!(",\"transition\":{transition}");
            return request.on_one(EntityStep::Transition, &more);
        }
        match &*operation.to_ascii_uppercase() {
            "INSERT" | "INSERT_ONE" => {
                let model = request.model()?;
                let data = request.payload.map_or("{}", RawValue::get);
                let (name, version) = (quoted(&model.name), model.version);
                let input = format!(
                    "{{\"model\":{{\"name\":{name},\"version\":{version}}},\"data\":{data}}}"
                );
                Ok(Self::of_step(EntityStep::Create, input.into()))
            }
            "UPDATE" | "UPDATE_ONE" => {
                let patch = request.set.or(request.payload);
                let patch = patch.map_or("{}", RawValue::get);
                request.on_one(EntityStep::Update, &format!(",\"patch\":{patch}"))
            }
            "DELETE" | "DELETE_ONE" => request.on_one(EntityStep::Delete, ""),
            "SELECT" | "GET" | "READ" => request.on_one(EntityStep::Get, ""),
            other => Err(format!(
                "the connector \"entity\" does not know the operation {other}; it has INSERT, \
                 UPDATE, DELETE, SELECT and TRANSITION <name>"
            )),
        }
    }
}

impl Request<'_> {
    /// `orders/1`, or `orders`, which is its version 1.
    fn model(&self) -> Result<ModelKey, String> {
        let target = self.target.as_deref();
        let target = target.ok_or("`target` has to be a model, such as orders/1")?;
        match target.rsplit_once('/') {
            None => Ok(ModelKey::new(target, 1)),
            Some((name, version)) => version
                .parse()
                .map(|version| ModelKey::new(name, version))
                .map_err(|_| format!("`{target}` is not a model; write name/version")),
        }
    }

    /// A step on the entity that `where` names, or `params` if it is read.
    fn on_one(&self, step: EntityStep, more: &str) -> Result<EntityCall, String> {
        let (what, given) = if step == EntityStep::Get {
            ("params", self.params)
        } else {
            ("where", self.r#where)
        };
        let mut given: IndexMap<_, _> = given
            .and_then(|given| members(given.get()))
            .unwrap_or_default();
        let id = given.shift_remove("id").and_then(|id| string(id.get()));
        let id = id.ok_or_else(|| format!("`{what}.id` has to be the id of an entity"))?;
        let members = given.into_iter().map(|(name, value)| {
            let value = Document::from_raw(value).map_err(|error| format!("`{what}`: {error}"))?;
            Ok((name, value))
        });
        let only = Only {
            model: self.model()?,
            members: members.collect::<Result<_, String>>()?,
        };
        Ok(EntityCall {
            step,
            input: format!("{{\"entityId\":{}{more}}}", quoted(&id)).into(),
            only: Some(only),
        })
    }
}

impl Only {
    /// Fails if an entity is another one.
    pub(super) fn check(&self, image: &Image) -> Result<(), Failure> {
        let ModelKey { name, version } = &self.model;
        let other = |why: String| {
            Failure::new(Code::EntityNotFound, why).with("entityId", image.id.to_string())
        };
        if image.model != self.model {
            let id = image.id;
            return Err(other(format!(
                "there is no entity {id} of the model {name}/{version}"
            )));
        }
        let document = parsed(&image.document)?;
        let mut members = self.members.iter();
        let misfit = members.find(|(member, value)| {
            let stored = document.root().member(member);
            !is_equal(stored, value.root())
        });
        match misfit {
            None => Ok(()),
            Some((member, _)) => Err(other(format!(
                "the entity {} of the model {name}/{version} has another `{member}` than the step \
                 asks for",
                image.id
            ))),
        }
    }
}

/// Whether a member has a value, as a database compares them: what is absent is null, and a text,
/// such as a member of a path, is read as the type of what is stored.
fn is_equal(stored: Option<Value<'_>>, given: Value<'_>) -> bool {
    let Some(stored) = stored else {
        return given.is_null();
    };
    if let Shape::String(given) = given.shape() {
        match stored.shape() {
            Shape::Number(stored) => {
                return Number::parse(stored)
                    .is_some_and(|stored| Number::parse(&given) == Some(stored));
            }
            Shape::Bool(stored) => return *given == stored.to_string(),
            Shape::Null | Shape::String(_) | Shape::Array(_) | Shape::Object(_) => {}
        }
    }
    stored.same_as(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_entities_are_steps_on_them() {
        for (request, expected) in [
            (
                r#"{"operation":"INSERT","target":"orders/2","payload":{"a":1.50}}"#,
                Ok((
                    EntityStep::Create,
                    r#"{"model":{"name":"orders","version":2},"data":{"a":1.50}}"#,
                )),
            ),
            (
                r#"{"operation":"insert","target":"orders"}"#,
                Ok((
                    EntityStep::Create,
                    r#"{"model":{"name":"orders","version":1},"data":{}}"#,
                )),
            ),
            (
                r#"{"operation":"UPDATE","target":"orders/1","where":{"id":"x"},"set":{"a":2}}"#,
                Ok((EntityStep::Update, r#"{"entityId":"x","patch":{"a":2}}"#)),
            ),
            (
                r#"{"operation":"DELETE","target":"orders/1","where":{"id":"x","a":1}}"#,
                Ok((EntityStep::Delete, r#"{"entityId":"x"}"#)),
            ),
            (
                r#"{"operation":"TRANSITION approve","target":"orders","where":{"id":"x"}}"#,
                Ok((
                    EntityStep::Transition,
                    r#"{"entityId":"x","transition":"approve"}"#,
                )),
            ),
            (
                r#"{"operation":"GET","target":"orders/1","params":{"id":"x"}}"#,
                Ok((EntityStep::Get, r#"{"entityId":"x"}"#)),
            ),
            (
                r#"{"operation":"DELETE","target":"orders/1","where":{"a":1}}"#,
                Err("`where.id` has to be the id of an entity"),
            ),
            (
                r#"{"operation":"GET","target":"orders/1","where":{"id":"x"}}"#,
                Err("`params.id` has to be the id of an entity"),
            ),
            (
                r#"{"operation":"DELETE","target":"orders/1","where":{"id":7}}"#,
                Err("`where.id` has to be the id of an entity"),
            ),
            (
                r#"{"operation":"DELETE","where":{"id":"x"}}"#,
                Err("`target` has to be a model, such as orders/1"),
            ),
            (
                r#"{"operation":"INSERT"}"#,
                Err("`target` has to be a model, such as orders/1"),
            ),
        ] {
            let found = EntityCall::parse(request);
            let found = found.as_ref().map(|call| (call.step, &*call.input));
            assert_eq!(found.map_err(|error| &**error), expected, "{request}");
        }
    }

    #[test]
    fn members_are_compared_as_a_database_compares_them() {
        let stored = r#"{"n":5.0,"text":"5","truth":true,"null":null,"list":[1,{"a":2}]}"#;
        let stored = Document::parse(stored).expect("JSON");
        for (member, given, expected) in [
            ("n", "5", true),
            ("n", r#""5""#, true),
            ("n", r#""five""#, false),
            ("n", "6", false),
            ("text", r#""5""#, true),
            ("text", "5", false),
            ("truth", "true", true),
            ("truth", r#""true""#, true),
            ("truth", "false", false),
            ("null", "null", true),
            ("none", "null", true),
            ("none", "1", false),
            ("n", "null", false),
            ("list", r#"[1.0,{"a":2}]"#, true),
            ("list", "[1]", false),
        ] {
            let value = Document::parse(given).expect("JSON");
            let found = is_equal(stored.root().member(member), value.root());
            assert_eq!(found, expected, "{member} = {given}");
        }
    }
}
