//! Says where in a definition a value is that could not be read.

use serde_json::{Value, error::Category};

use super::{Error, Location};
use crate::entity::{Step, dotted, steps_to};

/// Why a definition could not be read, with the place of the value. The line is left out: it counts
/// from the beginning of the definition, which mostly is a part of another text.
pub(super) fn unreadable(text: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    if error.classify() != Category::Data {
        return Error::Json(message);
    }
    let what = message.split(" at line ").next().unwrap_or(&message);
    // All numbers of a definition are durations.
    let what = match what.strip_suffix("expected i64") {
        Some(given) => format!("{given}expected a whole number of milliseconds"),
        None => what.to_owned(),
    };
    let definition: Value = serde_json::from_str(text).unwrap_or_default();
    let steps = steps_to(text, error);
    let (location, rest) = locate(&definition, &steps);
    let location = location.map(|location| location.to_string());
    let path = (!rest.is_empty()).then(|| format!("`{}`", dotted(rest)));
    let parts = [location, path, Some(what)];
    Error::Json(parts.into_iter().flatten().collect::<Vec<_>>().join(": "))
}

/// The innermost part that has a name, and the steps from there to the value.
fn locate<'a>(definition: &Value, steps: &'a [Step]) -> (Option<Location>, &'a [Step]) {
    let name = |part: &Value| part["name"].as_str().map(ToOwned::to_owned);
    let Some(workflow) = name(definition) else {
        return (None, steps);
    };
    let mut location = Location::workflow(&workflow);
    let Some((state, steps)) = member_of("states", steps) else {
        return (Some(location), steps);
    };
    location = location.state(state);
    let part = &definition["states"][state];
    let Some((at, inner)) = element_of("transitions", steps) else {
        return (Some(location), steps);
    };
    let part = &part["transitions"][at];
    let Some(transition) = name(part) else {
        return (Some(location), steps);
    };
    location = location.transition(&transition);
    let named = element_of("processors", inner)
        .and_then(|(at, rest)| Some((name(&part["processors"][at])?, rest)));
    match named {
        Some((processor, rest)) => (Some(location.processor(&processor)), rest),
        None => (Some(location), inner),
    }
}

/// The name of a member of that object, and the steps within it.
fn member_of<'a>(object: &str, steps: &'a [Step]) -> Option<(&'a str, &'a [Step])> {
    match steps {
        [Step::Member(of), Step::Member(name), rest @ ..] if **of == *object => Some((name, rest)),
        _ => None,
    }
}

/// The index of an element of that list, and the steps within it.
fn element_of<'a>(list: &str, steps: &'a [Step]) -> Option<(usize, &'a [Step])> {
    match steps {
        [Step::Member(of), Step::Element(at), rest @ ..] if **of == *list => Some((*at, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::workflow::Workflow;

    #[test]
    fn an_unreadable_value_has_a_place() {
        for (states, expected) in [
            (
                r#"{"A":{"transitions":[{"name":"t","next":"A","manual":true},
                    {"name":"late","next":"A","manual":false,"schedule":{"delayMs":"5s"}}]}}"#,
                r#"workflow "w", state "A", transition "late": `schedule.delayMs`: invalid type: string "5s", expected a whole number of milliseconds"#,
            ),
            (
                r#"{"A":{"transitions":[{"name":"t","next":"A","manual":true,
                    "processors":[{"name":"p","config":{"responseTimeoutMs":1.5}}]}]}}"#,
                r#"workflow "w", state "A", transition "t", processor "p": `config.responseTimeoutMs`: invalid type: floating point `1.5`, expected a whole number of milliseconds"#,
            ),
            (
                r#"{"A":{"transitions":[{"next":"A","manual":"yes"}]}}"#,
                r#"workflow "w", state "A": `transitions[0].manual`: invalid type: string "yes", expected a boolean"#,
            ),
            (
                "[]",
                r#"workflow "w": `states`: invalid type: sequence, expected an object of states"#,
            ),
        ] {
            let text = format!("{{\"name\":\"w\",\n\"initialState\":\"A\",\n\"states\":{states}}}");
            let error = Workflow::parse(&text).expect_err(&text).to_string();
            assert_eq!(error, format!("invalid workflow definition: {expected}"));
        }
        let error = Workflow::parse("7").expect_err("a number").to_string();
        assert_eq!(
            error,
            "invalid workflow definition: invalid type: integer `7`, expected an object"
        );
    }
}
