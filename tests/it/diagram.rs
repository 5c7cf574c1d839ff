//! Pictures of workflows, through the APIs and from files.

use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Server, code, command, governed_model, locked_model};

fn order() -> Value {
    json!({"version": "1", "name": "order", "initialState": "NEW", "states": {
        "NEW": {"transitions": [
            {"name": "hold", "next": "REVIEW", "manual": false,
             "criterion": {"type": "simple", "jsonPath": "$.total", "operatorType": "GREATER_THAN", "value": 100}},
            {"name": "accept", "next": "DONE", "manual": false}]},
        "REVIEW": {"transitions": [{"name": "approve", "next": "DONE", "manual": true}]},
        "DONE": {}}})
}

const IN_MERMAID: &str = r#"stateDiagram-v2
    state "order" as w1 {
        [*] --> NEW
        NEW --> REVIEW : hold (automated 1)<br/>if $.total > 100
        NEW --> DONE : accept (automated 2)
        REVIEW --> DONE : approve (manual)
        DONE --> [*]
    }
"#;

#[tokio::test]
async fn a_model_answers_with_a_picture_of_its_workflows() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = governed_model(&connection, "order", json!({"total": 1}), order()).await;
    let drawn = async |format: Value| {
        let payload = json!({"model": model, "format": format});
        connection.ok("EntityWorkflowDiagramRequest", payload).await
    };
    let answer = drawn(json!("mermaid")).await;
    assert_eq!(
        (&answer["model"], &answer["format"], &answer["text"]),
        (&model, &json!("mermaid"), &json!(IN_MERMAID))
    );
    let answer = drawn(json!("dot")).await;
    assert_eq!(answer["format"], "dot");
    let text = answer["text"].as_str().expect("a text");
    assert!(text.starts_with("digraph workflows {\n"), "{text}");
    // Without a format it is Mermaid.
    let answer = connection
        .ok("EntityWorkflowDiagramRequest", json!({"model": model}))
        .await;
    assert_eq!(answer["text"], IN_MERMAID);

    let bare = locked_model(&connection, "bare", json!({"n": 1})).await;
    for (payload, reported) in [
        (json!({"model": bare}), "WORKFLOW_NOT_FOUND"),
        (
            json!({"model": {"name": "none", "version": 1}}),
            "MODEL_NOT_FOUND",
        ),
        (json!({"model": model, "format": "png"}), "BAD_REQUEST"),
    ] {
        let answer = connection
            .call("EntityWorkflowDiagramRequest", payload.clone())
            .await;
        assert_eq!(code(&answer), reported, "{payload}");
    }
}

#[tokio::test]
async fn rest_answers_the_picture_as_text() {
    let server = Server::start();
    let connection = server.connect().await;
    governed_model(&connection, "order", json!({"total": 1}), order()).await;
    let rest = server.rest();
    for query in ["", "?format=mermaid"] {
        let said = rest
            .get(&format!("/api/model/order/1/workflow/diagram{query}"))
            .await;
        assert_eq!(
            (said.status.as_u16(), said.text.as_str()),
            (200, IN_MERMAID)
        );
        assert_eq!(said.headers["content-type"], "text/plain; charset=utf-8");
    }
    let said = rest
        .get("/api/model/order/1/workflow/diagram?format=dot")
        .await;
    assert!(said.text.starts_with("digraph"), "{said:?}");
    let said = rest
        .get("/api/model/order/1/workflow/diagram?format=png")
        .await;
    assert_eq!(said.problem(), "BAD_REQUEST");
    assert!(said.text.contains("use mermaid or dot"), "{said:?}");
    let said = rest.get("/api/model/none/1/workflow/diagram").await;
    assert_eq!(said.problem(), "MODEL_NOT_FOUND");
}

fn draw(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("order.json"), order().to_string()).expect("writable");
    let mut child = command(folder.path(), &[])
        .args([&["workflow", "draw"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    // It may end before it has read anything.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_command_line_draws_what_is_in_a_file() {
    assert_eq!(
        draw(&["order.json"], "").1,
        IN_MERMAID,
        "a workflow in a file"
    );
    for input in [
        order(),
        json!([order()]),
        json!({"importMode": "MERGE", "workflows": [order()]}),
        json!({"entityName": "order", "modelVersion": 1, "workflows": [order()]}),
    ] {
        let (code, drawn, _) = draw(&["-"], &input.to_string());
        assert_eq!((code, drawn.as_str()), (Some(0), IN_MERMAID), "{input}");
    }
    let (_, drawn, _) = draw(&["order.json", "--format", "dot"], "");
    assert!(drawn.starts_with("digraph"), "{drawn}");
    let (_, drawn, _) = draw(&["-"], &json!([order(), order()]).to_string());
    assert_eq!(drawn.matches("state \"order\" as w").count(), 2, "{drawn}");

    let mut odd = order();
    odd["states"]["LOST"] = json!({});
    let (code, drawn, warned) = draw(&["-"], &odd.to_string());
    assert!(code == Some(0) && drawn.contains("LOST --> [*]"), "{drawn}");
    assert!(
        warned.starts_with("warning: workflow \"order\", state \"LOST\": no transition"),
        "{warned}"
    );
    let mut broken = order();
    broken["initialState"] = json!("OLD");
    for (arguments, input, exit, reported) in [
        (
            &["nowhere.json"][..],
            String::new(),
            1,
            "cannot read nowhere.json",
        ),
        (
            &["-"],
            "{".to_owned(),
            1,
            "standard input is not valid JSON",
        ),
        (
            &["-"],
            "[]".to_owned(),
            1,
            "standard input contains no workflow",
        ),
        (&["-"], broken.to_string(), 1, "`initialState` is `OLD`"),
        (&["--model", "order"], String::new(), 2, "NAME/VERSION"),
        (&[], String::new(), 2, "FILE"),
    ] {
        let (code, _, error) = draw(arguments, &input);
        assert!(
            code == Some(exit) && error.contains(reported),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn the_tutorial_shows_the_workflow_of_the_readme() {
    let between = |page: &'static str, begin: &str, end: &str| {
        let (_, rest) = page.split_once(begin).expect(begin);
        rest.split_once(end).expect(end).0
    };
    let readme = include_str!("../../README.md");
    let workflow = between(readme, "/workflow/import -d '", "'\n");
    let tutorial = include_str!("../../src/help/topics/tutorial.md");
    let shown = between(tutorial, "```mermaid\nstateDiagram-v2\n", "```");
    assert_eq!(
        draw(&["-"], workflow).1,
        format!("stateDiagram-v2\n{shown}")
    );
}

#[tokio::test]
async fn the_command_line_draws_what_a_service_has() {
    let server = Server::start();
    let connection = server.connect().await;
    governed_model(&connection, "order", json!({"total": 1}), order()).await;
    let address = format!("127.0.0.1:{}", server.grpc.port());
    let ask = |model: &str| draw(&["--model", model, "--address", &address], "");
    let (code, drawn, _) = ask("order/1");
    assert_eq!((code, drawn.as_str()), (Some(0), IN_MERMAID));
    let (code, _, error) = ask("none/1");
    assert!(
        code == Some(1) && error.contains("MODEL_NOT_FOUND"),
        "{error}"
    );
}
