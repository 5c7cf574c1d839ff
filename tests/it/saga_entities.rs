//! Sagas on entities: the connector `entity` works on the entity that a step names, and on no other
//! one (`runs.md` §7).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Connection, Rest, Server, create, get, governed_model, state};

/// The method of a route, and what its saga does with the entity that the path names.
const OPERATIONS: [(&str, &str); 4] = [
    ("GET", "GET"),
    ("PUT", "UPDATE"),
    ("POST", "TRANSITION ship"),
    ("DELETE", "DELETE"),
];

/// A saga for each operation on a model. The query says what else the entity has to be.
fn sagas(model: &str) -> String {
    let mut text = String::new();
    for (method, operation) in OPERATIONS {
        let (given, set) = match method {
            "GET" => ("params", ""),
            "PUT" => ("where", "set = { owner = \"bob\" }\n"),
            _ => ("where", ""),
        };
        let _ = write!(
            text,
            "saga \"{method} {model}\" {{\n\
             from {{\n connector = \"api\"\n operation = \"{method} /{model}/:id\"\n}}\n\
             step \"a\" {{\n action {{\n connector = \"records\"\n operation = \"{operation}\"\n\
             target = \"{model}/1\"\n{set}\
             {given} = {{ id = \"input.id\", owner = \"input.owner\", n = \"input.n\" }}\n\
             }}\n }}\n}}\n"
        );
    }
    text
}

async fn apply(connection: &Connection, sagas: &str) -> Value {
    let connectors =
        "connector \"api\" { type = \"rest\" }\nconnector \"records\" { type = \"entity\" }\n";
    let files = json!([{"path": "a.hcl", "text": format!("{connectors}{sagas}")}]);
    let payload = json!({"bundle": "shop", "files": files});
    connection.ok("BundleApplyRequest", payload).await
}

/// Makes the model of purchases, which can be shipped.
async fn purchases(connection: &Connection) -> Value {
    let ship = json!({"name": "ship", "next": "SHIPPED", "manual": true});
    let workflow = json!({"version": "1", "name": "purchase", "initialState": "NEW",
        "states": {"NEW": {"transitions": [ship]}, "SHIPPED": {"transitions": []}}});
    let sample = json!({"owner": "ann", "n": 1.5});
    governed_model(connection, "purchase", sample, workflow).await
}

/// Sends a request to the route of a saga; how the saga ended, and why it failed.
async fn ask(rest: &Rest, method: &str, path: &str) -> (bool, String) {
    let said = rest.send(method, path, "").await.ok();
    let error = said["error"].as_str().unwrap_or_default();
    (said["status"] == "completed", error.to_owned())
}

#[tokio::test]
async fn an_entity_of_another_model_or_with_other_values_stays_as_it_is() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = purchases(&connection).await;
    let id = create(&connection, &model, json!({"owner": "ann", "n": 1.5})).await;
    apply(&connection, &(sagas("purchase") + &sagas("cart"))).await;
    let before = get(&connection, &id).await;
    for (method, _) in OPERATIONS {
        for (path, reason) in [
            (
                format!("/cart/{id}?owner=ann&n=1.5"),
                "there is no entity {id} of the model cart/1",
            ),
            (
                format!("/purchase/{id}?owner=mallory&n=1.5"),
                "has another `owner`",
            ),
            (format!("/purchase/{id}?owner=ann&n=2"), "has another `n`"),
        ] {
            let (is_done, error) = ask(&rest, method, &path).await;
            assert!(!is_done, "{method} {path}");
            let reason = reason.replace("{id}", &id);
            assert!(
                error.contains("ENTITY_NOT_FOUND") && error.contains(&reason),
                "{method} {path}: {error}"
            );
        }
    }
    assert_eq!(get(&connection, &id).await, before);
    // What fits is done.
    for (method, owner) in [("GET", "ann"), ("PUT", "ann"), ("POST", "bob")] {
        let path = format!("/purchase/{id}?owner={owner}&n=1.50");
        assert_eq!(ask(&rest, method, &path).await, (true, String::new()));
    }
    let after = get(&connection, &id).await;
    assert_eq!(
        (state(&after), &after["data"]["owner"]),
        ("SHIPPED", &json!("bob"))
    );
    let path = format!("/purchase/{id}?owner=bob&n=1.5");
    assert_eq!(ask(&rest, "DELETE", &path).await, (true, String::new()));
    let gone = connection.call("EntityGetRequest", json!({"entityId": id}));
    assert_eq!(crate::support::code(&gone.await), "ENTITY_NOT_FOUND");
}

#[tokio::test]
async fn models_and_transitions_that_are_not_there_are_warned_of() {
    let server = Server::start();
    let connection = server.connect().await;
    purchases(&connection).await;
    let step = |name: &str, operation: &str, target: &str| {
        format!(
            "step \"{name}\" {{\n action {{\n connector = \"records\"\n\
             operation = \"{operation}\"\n target = \"{target}\"\n\
             where = {{ id = \"input.id\" }}\n }}\n}}\n"
        )
    };
    let steps = step("a", "TRANSITION ship", "purchase/1")
        + &step("b", "TRANSITION shp", "purchase/1")
        + &step("c", "DELETE", "purchse/1");
    let route = "from {\n connector = \"api\"\n operation = \"POST /x\"\n}\n";
    let applied = apply(&connection, &format!("saga \"s\" {{\n{route}{steps}}}\n")).await;
    let findings = applied["findings"].as_array().expect("a list");
    let found: Vec<_> = findings
        .iter()
        .map(|one| {
            let message = one["message"].as_str().expect("a text");
            (one["code"].as_str(), one["location"].as_str(), message)
        })
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let expected = [
        ("a.hcl:17", "has the transition \"shp\""),
        ("a.hcl:25", "there is no model purchse/1 yet"),
    ];
    for ((code, location, message), (place, part)) in found.into_iter().zip(expected) {
        assert_eq!((code, location), (Some("S304"), Some(place)));
        assert!(message.contains(part), "{message}");
    }
}
