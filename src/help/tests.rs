use super::*;

fn library() -> Library {
    Library::new(Facts {
        settings: Vec::new(),
        paths: Vec::new(),
        openapi: |_| json!({"tags": [{"name": "Edge things", "description": "d"}], "paths": {"/a": {"get": {"tags": ["Edge things"]}, "put": {"tags": ["Others"]}}}}),
        server: "/api".to_owned(),
    })
}

#[test]
fn every_topic_has_what_a_reader_needs_and_is_found_by_dots_and_slashes() {
    let library = library();
    for topic in library.topics() {
        let name = topic.name();
        assert!(!topic.title.is_empty(), "{name}");
        assert!(!topic.synopsis.is_empty(), "{name}");
        // Templates of mails have fields in the same braces.
        let body = topic.body.replace("{{.", "");
        assert!(!body.contains("{{"), "{name}: a table is missing");
        for path in [name.clone(), name.replace('.', "/")] {
            assert!(
                matches!(library.find(&path), Ok(Found::Topic(found)) if found.name() == name),
                "{path}"
            );
        }
        for other in topic.see_also {
            assert!(
                matches!(library.find(other), Ok(Found::Topic(_))),
                "{name}: see {other}"
            );
        }
        for action in topic.actions {
            assert!(
                matches!(
                    library.find(&format!("{name}/{action}")),
                    Ok(Found::Output(_))
                ),
                "{name} {action}"
            );
        }
    }
}

#[test]
fn only_the_roadmap_names_what_does_not_exist() {
    for topic in library().topics() {
        let name = topic.name();
        let is_roadmap = name == "design.roadmap";
        assert!(is_roadmap || !topic.body.contains("planned"), "{name}");
    }
}

#[test]
fn every_topic_is_led_to_by_another() {
    let library = library();
    for topic in library
        .topics()
        .iter()
        .filter(|topic| topic.path.len() == 1)
    {
        let name = topic.name();
        assert!(
            library
                .topics()
                .iter()
                .any(|other| other.see_also.contains(&name.as_str())),
            "nothing leads to {name}"
        );
    }
}

/// The blocks of that language in all written topics.
fn blocks(language: &str) -> Vec<(String, String)> {
    let library = library();
    let mut blocks = Vec::new();
    for topic in library.topics() {
        let begin = format!("```{language}\n");
        for block in topic.body.split(&begin).skip(1) {
            let (code, _) = block.split_once("\n```").expect("an end");
            blocks.push((topic.name(), code.to_owned()));
        }
    }
    blocks
}

#[test]
fn what_is_shown_as_json_is_json_and_what_is_shown_as_a_workflow_can_be_imported() {
    let (mut workflows, mut conditions) = (0, 0);
    for (topic, code) in blocks("json") {
        let value: Value =
            serde_json::from_str(&code).unwrap_or_else(|error| panic!("{topic}: {error}\n{code}"));
        if topic.starts_with("cloudevents.") {
            continue;
        }
        let listed = value["workflows"].as_array().cloned();
        for workflow in listed
            .into_iter()
            .flatten()
            .chain(value["states"].is_object().then(|| value.clone()))
        {
            let parsed = crate::workflow::Workflow::parse(&workflow.to_string())
                .unwrap_or_else(|error| panic!("{topic}: {error}"));
            assert_eq!(parsed.warnings, Vec::<String>::new(), "{topic}");
            workflows += 1;
        }
        let is_condition = ["simple", "lifecycle", "group", "array", "function"]
            .iter()
            .any(|kind| value["type"] == *kind);
        if is_condition {
            crate::condition::Condition::parse_criterion(&value.to_string())
                .unwrap_or_else(|error| panic!("{topic}: {error}"));
            conditions += 1;
        }
    }
    assert!(
        workflows >= 3 && conditions >= 5,
        "{workflows} {conditions}"
    );
}

#[test]
fn a_name_that_is_unknown_is_answered_with_the_nearest() {
    let library = library();
    let asked = |path: &str| match library.find(path) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{path} was found"),
    };
    assert_eq!(
        asked("workflow"),
        "there is no topic `workflow`; did you mean `workflows`?"
    );
    for (name, meant) in [
        ("settings", "reference.settings"),
        ("Metrics", "reference.metrics"),
        ("schema-version", "workflows.schema-version"),
        ("EntityGetRequest", "cloudevents.EntityGetRequest"),
        ("getting-start", "getting-started"),
        ("model", "models"),
    ] {
        let expected = format!("there is no topic `{name}`; did you mean `{meant}`?");
        assert_eq!(asked(name), expected);
    }
    for name in ["tls", "nope", "something-else"] {
        let expected = format!("there is no topic `{name}`; `interlock help` lists all topics");
        assert_eq!(asked(name), expected);
    }
    for invalid in ["a b", "a..b", "models.", "models//validation"] {
        assert!(asked(invalid).contains("letters"), "{invalid}");
    }
    assert!(matches!(library.find(""), Ok(Found::Everything)));
}

#[test]
fn the_document_is_given_by_tag() {
    let Ok(Found::Output(output)) = library().find("openapi/edge-things") else {
        panic!("no output");
    };
    let document: Value = serde_json::from_str(&output.text).expect("JSON");
    assert_eq!(
        document["paths"],
        json!({"/a": {"get": {"tags": ["Edge things"]}}})
    );
}

#[test]
fn markdown_is_set_for_a_terminal() {
    let text =
        plain("# A\n\nSee `b`.\n\n| x | `yy` |\n|---|---|\n| 1 | a\\|b |\n\n```sh\n# c\n```\n");
    assert_eq!(text, "A\n=\n\nSee b.\n\n  x  yy\n  1  a|b\n\n    # c\n");
    let text = plain("### `a` of b\n\nGet [`jq`](https://jqlang.org), [a](b) or [c](http://d).\n");
    assert_eq!(
        text,
        "a of b\n\nGet jq (https://jqlang.org), [a](b) or c (http://d).\n"
    );
}

const EVERY_FIELD: &str = include_str!("../../tests/it/fixtures/flo/every-field.yaml");

#[test]
fn what_is_shown_as_a_step_workflow_is_valid() {
    let shown = blocks("yaml");
    assert!(!shown.is_empty());
    for (topic, code) in shown {
        let (document, findings) = crate::dialect::flo::Document::read_in(None, code.as_bytes());
        assert!(document.is_some(), "{topic}: {findings}");
        assert_eq!(findings.listed(), [], "{topic}");
    }
}

/// The keys of a tree that the contract names, not the author.
fn keys(tree: &crate::dialect::Tree, author: bool, keys: &mut Vec<String>) {
    use crate::dialect::Tree;
    match tree {
        Tree::Map(members) => {
            for (key, value) in members {
                if !author {
                    keys.push(key.to_string());
                }
                let below =
                    !author && ["steps", "terminals", "plans", "transitions"].contains(&&**key);
                let free = !author && ["input", "output", "value", "transitions"].contains(&&**key);
                if !free {
                    self::keys(value, below, keys);
                }
            }
        }
        Tree::List(items) => items.iter().for_each(|item| self::keys(item, false, keys)),
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
    }
}

#[test]
fn the_topic_of_documents_names_every_field_and_every_code() {
    let library = library();
    let Ok(Found::Topic(topic)) = library.find("flo-documents") else {
        panic!("no topic");
    };
    let tree = crate::dialect::Tree::read(EVERY_FIELD).expect("YAML");
    let mut named = Vec::new();
    keys(&tree, false, &mut named);
    assert!(named.len() > 60, "{named:?}");
    for key in named {
        assert!(topic.body.contains(&format!("`{key}`")), "{key}");
    }
    for rule in crate::dialect::flo::RULES {
        for (severity, text) in [("error", rule.error), ("warning", rule.warning)] {
            let row = format!("| `{}` | {severity} | {text} |\n", rule.code);
            assert_eq!(topic.body.contains(&row), !text.is_empty(), "{row}");
        }
    }
}
