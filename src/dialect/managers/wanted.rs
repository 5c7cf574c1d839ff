//! Which managers a tick is about (`orchestration.md` 3.2, step 4).

use super::{
    manager_at,
    text::{Object, list},
};

/// Why a payload does not say which managers it is about: the member, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongPayload(pub &'static str, pub String);

/// The managers of a tick, by the names of their files; none for all that are in progress.
///
/// # Errors
/// The path is not that of a manager's file.
pub fn wanted(
    managers: Option<Vec<String>>,
    state_path: Option<&str>,
) -> Result<Option<Vec<String>>, WrongPayload> {
    let mut named = managers;
    if let Some(path) = state_path {
        let name = manager_at(path).ok_or_else(|| {
            let message = format!("`{path}` is not the path of a manager's file");
            WrongPayload("state_path", message)
        })?;
        named.get_or_insert_default().push(name.to_owned());
    }
    Ok(named)
}

/// Which managers a payload as JSON names; a run is started with such a payload.
///
/// # Errors
/// It is not an object, or a member of it is not what it should be.
pub fn wanted_in(payload: &str) -> Result<Option<Vec<String>>, WrongPayload> {
    if payload.trim() == "null" {
        return Ok(None);
    }
    let object = Object::of_text(payload).map_err(|error| {
        let message = format!("the payload of a tick is not an object: {error}");
        WrongPayload("input", message)
    })?;
    let wrong = |member: &'static str, what: &str| {
        WrongPayload(member, format!("`{member}` of a tick is not {what}"))
    };
    let not_a_list = || wrong("managers", "a list of the names of managers' files");
    let managers = match object.member("managers") {
        Some(span) if payload.get(span.clone()) != Some("null") => {
            let names = list(payload, &span).ok_or_else(not_a_list)?.into_iter();
            let name = |span| serde_json::from_str(payload.get(span).unwrap_or_default());
            let names: Result<Vec<String>, _> = names.map(name).collect();
            Some(names.map_err(|_| not_a_list())?)
        }
        Some(_) | None => None,
    };
    let state_path = object.text(payload, "state_path");
    let state_path = state_path.map_err(|()| wrong("state_path", "a text"))?;
    wanted(managers, state_path.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_names_managers_or_none() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        for (payload, expected) in [
            ("null", None),
            ("{}", None),
            (r#"{"managers": null, "more": 1}"#, None),
            (r#"{"managers": []}"#, names(&[])),
            (
                r#"{"managers": ["a.json", "b.json"]}"#,
                names(&["a.json", "b.json"]),
            ),
            (
                r#"{"managers": ["a.json"], "state_path": "/states/managers/b.json"}"#,
                names(&["a.json", "b.json"]),
            ),
        ] {
            assert_eq!(wanted_in(payload), Ok(expected), "{payload}");
        }
        for (payload, member) in [
            ("[]", "input"),
            ("1", "input"),
            (r#"{"managers": "a.json"}"#, "managers"),
            (r#"{"managers": [1]}"#, "managers"),
            (r#"{"state_path": 1}"#, "state_path"),
            (r#"{"state_path": "/a.json"}"#, "state_path"),
        ] {
            let WrongPayload(wrong, _) = wanted_in(payload).expect_err(payload);
            assert_eq!(wrong, member, "{payload}");
        }
    }
}
