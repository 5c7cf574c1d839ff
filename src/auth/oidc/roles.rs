//! The roles in a provider's token (`config-and-cli.md` §9).

use serde_json::{Map, Value};

use crate::auth::Roles;

/// The roles of a claim: a list, the members of an object, or words. A name with a comma is
/// ignored, because lists of roles are separated by commas.
pub(super) fn roles(claims: &Map<String, Value>, claim: &str) -> Roles {
    let named = |names: &mut dyn Iterator<Item = &str>| {
        Roles::of(names.map(str::trim).filter(|name| !name.contains(',')))
    };
    match claims.get(claim) {
        Some(Value::Array(list)) => named(&mut list.iter().filter_map(Value::as_str)),
        Some(Value::Object(members)) => named(&mut members.keys().map(String::as_str)),
        Some(Value::String(words)) => named(&mut words.split_whitespace()),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Roles::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_are_said_in_three_ways() {
        for (claim, expected) in [
            (json!(["ROLE_A", "ROLE_B"]), &["ROLE_A", "ROLE_B"][..]),
            (
                json!({"ROLE_A": {"org": "x"}, "ROLE_B": 1}),
                &["ROLE_A", "ROLE_B"],
            ),
            (json!("ROLE_B  ROLE_A"), &["ROLE_A", "ROLE_B"]),
            (json!(["ROLE_A", "ROLE_A"]), &["ROLE_A"]),
            // Neither of these two, nor both.
            (json!(["ROLE_ADMIN,ROLE_M2M", "ROLE_A"]), &["ROLE_A"]),
            (json!("ROLE_ADMIN,ROLE_M2M ROLE_A"), &["ROLE_A"]),
            (json!({"ROLE_ADMIN,": 1}), &[]),
            (
                json!(["", " ", 7, null, ["ROLE_ADMIN"], {"ROLE_ADMIN": 1}]),
                &[],
            ),
            (json!(""), &[]),
            (json!(7), &[]),
            (json!(true), &[]),
            (json!(null), &[]),
        ] {
            let claims = Map::from_iter([
                ("here".to_owned(), claim.clone()),
                ("roles".to_owned(), json!(["ROLE_OTHER"])),
            ]);
            let found = roles(&claims, "here");
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{claim}");
        }
    }

    #[test]
    fn the_claim_is_a_member_of_the_token_itself() {
        let claims = json!({"realm_access": {"roles": ["ROLE_ADMIN"]}, "a.b": ["ROLE_A"]});
        let claims = claims.as_object().expect("an object");
        for (claim, expected) in [
            ("realm_access.roles", &[][..]),
            ("realm_access", &["roles"]),
            ("a.b", &["ROLE_A"]),
            ("roles", &[]),
        ] {
            let found = roles(claims, claim);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{claim}");
        }
    }
}
