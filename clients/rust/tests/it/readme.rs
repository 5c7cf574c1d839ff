use std::{fs, path::Path, process::Stdio};

use interlock_client::{Json, Model};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{examples::program, support::Server};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_programs_of_the_readme_are_the_examples() {
    let readme = read("README.md");
    for name in ["add_tax", "parcels"] {
        let example = read(&format!("examples/{name}.rs"));
        let begin = example.find("use ").expect("a program");
        let end = example
            .find("\n/// The server that")
            .expect("its last function");
        let program = example[begin..end].replace("target()", "\"localhost:9090\"");
        assert!(
            readme.contains(&program),
            "the README does not have\n{program}"
        );
    }
}

#[tokio::test]
async fn the_member_of_the_readme_serves_the_orders() {
    let server = Server::start_with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "10s")]).await;
    let client = interlock_client::Client::connect(&server.target)
        .await
        .expect("it connects");
    let order = Model::new("order", 1);
    let sample = json!({"total": 12.5, "tax": 2.5});
    client
        .models()
        .import(&order, &sample)
        .await
        .expect("a model");
    client.models().lock(&order).await.expect("a lock");
    let readme = read("../../README.md");
    let (_, rest) = readme
        .split_once(r#""workflows": ["#)
        .expect("the workflow of orders");
    let (workflow, _) = rest.split_once("]}'").expect("the end of the workflow");
    let workflow = Json::parse(workflow).expect("JSON");
    client
        .models()
        .import_workflows(&order, [workflow])
        .await
        .expect("a workflow");
    let created = client
        .entities()
        .create(&order, &json!({"total": 19.9}))
        .await;
    let id = created.expect("an order").entity_id;

    let mut member = Command::new(program("add-tax"))
        .arg(&server.target)
        .kill_on_drop(true)
        .spawn()
        .expect("the member");
    client
        .entities()
        .transition(&id, "invoice")
        .await
        .expect("it is invoiced");
    let entity = client.entities().get(&id).await.expect("the order");
    assert_eq!(entity.state, "INVOICED");
    assert_eq!(entity.document::<Value>().expect("a document")["tax"], 50);
    let number = member.id().expect("its process").to_string();
    let stopped = Command::new("kill").args(["-TERM", &number]).status().await;
    assert!(stopped.expect("kill").success());
    assert!(member.wait().await.expect("it ends").success());
}

#[tokio::test]
async fn the_client_of_the_readme_works_as_often_as_it_is_started() {
    let server = Server::start().await;
    for _ in 0..2 {
        let mut started = Command::new(program("parcels"));
        let output = started
            .arg(&server.target)
            .stderr(Stdio::inherit())
            .output()
            .await;
        let output = output.expect("the client");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains(" 0.25\n"),
            "{text}"
        );
    }
}

#[test]
fn the_version_is_in_step_with_the_server() {
    let version = format!("\nversion = \"{}\"\n", interlock_client::VERSION);
    assert!(read("../../Cargo.toml").contains(&version));
    assert!(read("Cargo.toml").contains(&version));
}
