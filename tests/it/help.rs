//! Help, over HTTP and on the command line (`rest.md` §8, `config-and-cli.md` §4).

use serde_json::{Value, json};

use crate::support::{Server, command};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(std::path::Path::new("."), &[])
        .arg("help")
        .args(arguments)
        .output()
        .expect("runs");
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("text"),
        String::from_utf8(output.stderr).expect("text"),
    )
}

/// The names of all topics, those below others too.
fn names(topics: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for topic in topics.as_array().into_iter().flatten() {
        found.push(topic["topic"].as_str().expect("a name").to_owned());
        found.extend(names(&topic["children"]));
    }
    found
}

#[tokio::test]
async fn every_topic_is_shown_over_http_and_on_the_command_line_alike() {
    let server = Server::start();
    let rest = server.rest();
    let help = rest.get("/api/help").await.ok();
    assert_eq!(
        (&help["schema"], &help["version"]),
        (&json!(1), &json!(env!("CARGO_PKG_VERSION")))
    );
    let names = names(&help["topics"]);
    assert!(names.len() > 60, "{names:?}");
    for name in &names {
        let reported = rest.get(&format!("/api/help/{name}")).await.ok();
        assert_eq!(reported["topic"], json!(name));
        let slashed = name.replace('.', "/");
        for path in [format!("{slashed}.json"), slashed] {
            assert_eq!(rest.get(&format!("/api/help/{path}")).await.ok(), reported);
        }
        let text = rest.get(&format!("/api/help/{name}.md")).await;
        assert_eq!(text.headers["content-type"], "text/markdown; charset=utf-8");
        assert_eq!(json!(text.text), reported["body"]);
        for action in reported["actions"].as_array().expect("a list") {
            let action = action.as_str().expect("a name");
            let said = rest.get(&format!("/api/help/{name}/{action}")).await;
            assert_eq!(said.status, 200, "{name} {action}");
        }
    }
    for topic in help["topics"].as_array().expect("a list") {
        let name = topic["topic"].as_str().expect("a name");
        let (code, printed, _) = run(&[name, "--format", "json"]);
        assert_eq!(code, Some(0));
        assert_eq!(
            &serde_json::from_str::<Value>(&printed).expect("JSON"),
            topic
        );
    }
}

#[tokio::test]
async fn what_is_no_topic_is_refused() {
    let server = Server::start();
    let rest = server.rest();
    let problem = rest.get("/api/help/workflow").await;
    let problem = problem.refused(404, "HELP_TOPIC_NOT_FOUND");
    assert_eq!(problem["instance"], "/api/help/workflow");
    assert!(
        problem["detail"]
            .as_str()
            .expect("a text")
            .ends_with("did you mean `workflows`?")
    );
    rest.get("/api/help/a%20b")
        .await
        .refused(400, "BAD_REQUEST");
    rest.get("/api/help/%FF").await.refused(400, "BAD_REQUEST");
    rest.get("/api/help/a..b").await.refused(400, "BAD_REQUEST");
    for path in ["/api/help", "/api/help/models"] {
        let said = rest.post(path, "").await;
        assert_eq!(said.headers["allow"], "GET, HEAD");
        said.refused(405, "BAD_REQUEST");
    }
    let (code, _, error) = run(&["workflow-s"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("did you mean `workflows`?"), "{error}");
    assert_eq!(run(&["models", "--format", "odd"]).0, Some(2));
}

#[tokio::test]
async fn actions_give_what_programs_need() {
    let server = Server::start();
    let rest = server.rest();
    let events = rest.get("/api/help/cloudevents/json").await.ok();
    let create = events["operations"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|row| row["request"] == "EntityCreateRequest")
        .expect("a row");
    assert_eq!(create["method"], "entityManage");
    assert_eq!(
        create["paths"],
        json!(["POST /entity/{format}/{entityName}/{modelVersion}"])
    );
    assert_eq!(
        create["payload"]["required"],
        json!(["id", "dataFormat", "payload"])
    );
    let settings = rest.get("/api/help/config/all").await.ok();
    assert_eq!(settings["vars"][1]["name"], "CYODA_HTTP_PORT");
    assert_eq!(settings["vars"][1]["default"], "8080");
    let yaml = rest.get("/api/help/openapi/yaml").await;
    assert_eq!(yaml.headers["content-type"], "application/yaml");
    assert!(
        yaml.text.contains("\nopenapi: 3.1.0\n") || yaml.text.contains("\nopenapi: \"3.1.0\"\n")
    );
    let (_, proto, _) = run(&["grpc", "proto"]);
    assert!(proto.contains("rpc startStreaming"));
    let (_, text, _) = run(&["errors", "MODEL_NOT_FOUND", "--format", "text"]);
    assert!(
        text.starts_with("MODEL_NOT_FOUND\n===============\n"),
        "{text}"
    );
}

#[test]
fn every_command_is_listed_and_leads_to_topics() {
    let help = |arguments: &[&str]| {
        let output = command(std::path::Path::new("."), &[])
            .args(arguments)
            .arg("--help")
            .output()
            .expect("runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let whole = help(&[]);
    let (_, cli, _) = run(&["cli"]);
    let (_, listed, _) = run(&[]);
    let (_, topics) = whole.split_once("Topics: ").expect("a list");
    let (topics, _) = topics.split_once('.').expect("its end");
    let topics: Vec<_> = topics.split(',').map(str::trim).collect();
    for name in listed.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (name, _) = name.split_once('`').expect("an end");
        assert!(topics.contains(&name), "--help lacks the topic {name}");
    }
    let (_, commands) = whole.split_once("Commands:\n").expect("a list");
    let (commands, _) = commands.split_once("\n\n").expect("its end");
    for command in commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
    {
        let name = command.split_whitespace().next().expect("a name");
        assert!(
            cli.contains(&format!("interlock {name}")),
            "help cli: {name}"
        );
        let reported = match name {
            "workflow" => help(&["workflow", "draw"]),
            name => help(&[name]),
        };
        let leads = reported.contains("interlock help ");
        assert!(leads || name == "version", "{name} leads to no topic");
    }
    // A command that is not a topic is listed, too.
    assert!(run(&["call"]).1.contains("Send an event"));
}

#[tokio::test]
async fn the_documentation_page_is_whole_and_asks_nobody_else() {
    let server = Server::start();
    let rest = server.rest();
    // A browser that is sent to the service finds it.
    let first = rest.with("accept", "text/html,*/*").get("/").await;
    assert_eq!(first.status, 307);
    assert_eq!(first.headers["location"], "console");
    assert_eq!(rest.get("/").await.status, 404);
    let page = rest.get("/docs").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .expect("text")
            .starts_with("default-src 'self'")
    );
    assert!(!page.text.contains("http"), "{}", page.text);
    let assets: Vec<&str> = page
        .text
        .split(['"'])
        .filter(|part| part.starts_with("docs/") || *part == "openapi.json")
        .collect();
    assert_eq!(assets.len(), 4);
    for asset in assets {
        let said = rest.send("HEAD", &format!("/{asset}"), "").await;
        assert_eq!(said.status, 200, "{asset}");
    }
}

/// The pages that a reader of the repository looks things up in, and what the code says they are.
fn reference() -> Vec<(std::path::PathBuf, String)> {
    let library = interlock::app::help("/api");
    let pages = library.topics().iter();
    pages
        .filter(|topic| topic.path[0] == "reference")
        .map(|topic| {
            let name = topic.path.get(1).map_or("README", String::as_str);
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            let path = root.join(format!("src/help/reference/{name}.md"));
            (path, topic.body.clone())
        })
        .collect()
}

#[test]
fn the_reference_pages_of_the_repository_are_those_of_the_code() {
    for (path, body) in reference() {
        if std::env::var_os("UPDATE_REFERENCE").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes it");
            std::fs::write(&path, &body).expect("writes");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        let path = path.display();
        assert!(
            stored == body,
            "{path} differs from the code; write it again: UPDATE_REFERENCE=1 cargo test --test it reference"
        );
    }
}

#[test]
fn every_page_is_linked_from_a_readme_of_at_most_two_hundred_lines() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("readable");
    assert!(readme.lines().count() <= 200, "{}", readme.lines().count());
    let links = readme.split("](").skip(1);
    let links: Vec<_> = links.filter_map(|rest| rest.split(')').next()).collect();
    for link in links.iter().filter(|link| !link.starts_with("http")) {
        assert!(root.join(link).exists(), "README.md links to {link}");
    }
    for folder in ["src/help/topics", "src/help/reference", "src/help/design"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("readable") {
            let name = entry.expect("readable").file_name();
            let page = format!("{folder}/{}", name.to_string_lossy());
            // The list of the reference, and a page that belongs to `workflows`.
            if !page.ends_with("README.md") && !page.ends_with("schema-version.md") {
                assert!(links.contains(&page.as_str()), "nothing links to {page}");
            }
        }
    }
}
