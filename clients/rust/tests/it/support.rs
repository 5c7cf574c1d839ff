//! Real servers for tests.

use std::{collections::BTreeMap, env, path::PathBuf, process::Stdio, time::Duration};

use interlock_client::{Client, ConnectOptions, Json, Model};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server process on free ports; it is killed when this is dropped.
pub(crate) struct Server {
    /// Where its gRPC port is; it stays the same over restarts.
    pub(crate) target: String,
    /// The beginning of the URLs of its HTTP port.
    pub(crate) http: String,
    settings: BTreeMap<String, String>,
    process: Child,
    folder: TempDir,
}

/// The server: what `INTERLOCK_BIN` names, else the debug build of the repository.
pub(crate) fn binary() -> PathBuf {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/interlock");
    env::var_os("INTERLOCK_BIN").map_or_else(|| built.into(), PathBuf::from)
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(more: &[(&str, &str)]) -> Self {
        let mut settings = BTreeMap::from([
            ("CYODA_STORAGE_BACKEND", "memory"),
            ("INTERLOCK_IAM_MOCK_CALLER", "true"),
            ("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"), // a test that needs a member has it ready
            ("CYODA_HTTP_PORT", "0"),
            ("CYODA_ADMIN_PORT", "0"),
            ("CYODA_GRPC_PORT", "0"),
        ]);
        settings.extend(more.iter().copied());
        let settings = settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        let (process, http, grpc) = spawn(&settings, &folder).await;
        let mut made = Self {
            target: format!("127.0.0.1:{grpc}"),
            http: format!("http://127.0.0.1:{http}"),
            settings,
            process,
            folder,
        };
        made.settings.insert("CYODA_GRPC_PORT".to_owned(), grpc);
        made.settings.insert("CYODA_HTTP_PORT".to_owned(), http);
        made
    }

    /// Ends the process without letting it finish anything.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.expect("the server is killed");
    }

    /// Starts it where it was before.
    pub(crate) async fn restart(&mut self) {
        (self.process, _, _) = spawn(&self.settings, &self.folder).await;
    }

    /// How a tenant that no other test uses connects.
    pub(crate) fn tenant(&self, name: &str) -> ConnectOptions {
        ConnectOptions::new(&self.target).metadata("x-mock-tenant", name)
    }

    pub(crate) async fn client(&self, tenant: &str) -> Client {
        Client::connect(self.tenant(tenant))
            .await
            .expect("it connects")
    }
}

async fn spawn(settings: &BTreeMap<String, String>, folder: &TempDir) -> (Child, String, String) {
    let mut process = Command::new(binary())
        .env_clear()
        .envs(settings)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .expect("a server; build one with `cargo build`, or name one in INTERLOCK_BIN");
    let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
    let waiting = async {
        loop {
            let line = lines
                .next_line()
                .await
                .expect("UTF-8")
                .expect("the server starts");
            if line.contains("interlock is ready") {
                return (port(&line, "http="), port(&line, "grpc="));
            }
        }
    };
    let (http, grpc) = timeout(PATIENCE, waiting)
        .await
        .expect("the server is ready in time");
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (process, http, grpc)
}

fn port(line: &str, name: &str) -> String {
    let mut words = line.split_whitespace();
    let address = words.find_map(|word| word.strip_prefix(name));
    let port = address.and_then(|address| address.rsplit(':').next());
    port.expect("the line names the ports").to_owned()
}

pub(crate) fn parcel() -> Model {
    Model::new("parcel", 1)
}

/// Imports the model of parcels, and its workflow if there is one.
pub(crate) async fn make_parcels(client: &Client, workflow: Option<&str>) {
    let sample = json!({"sku": "A-1", "weight": 1.5, "price": 1.5, "note": "none"});
    client
        .models()
        .import(parcel(), &sample)
        .await
        .expect("a model");
    client
        .models()
        .lock(parcel())
        .await
        .expect("a locked model");
    if let Some(workflow) = workflow {
        let workflow = Json::parse(workflow).expect("JSON");
        let imported = client.models().import_workflows(parcel(), [workflow]).await;
        imported.expect("a workflow");
    }
}

/// A workflow whose first transition, NEW to DONE, is as given.
pub(crate) fn flow(transition: &str) -> String {
    format!(
        r#"{{"version":"1","name":"parcels","initialState":"NEW","states":{{
            "NEW":{{"transitions":[{{"name":"process","next":"DONE",{transition}}}]}},"DONE":{{}}}}}}"#
    )
}

pub(crate) fn processor(name: &str, more: &str) -> String {
    flow(&format!(
        r#""manual":false,"processors":[{{"name":"{name}","type":"externalized","executionMode":"SYNC",
            "config":{{"calculationNodesTags":"rust"{more}}}}}]"#
    ))
}

/// Repeats something until it says that it is done.
pub(crate) async fn until<F: Future<Output = bool>>(mut is_done: impl FnMut() -> F) {
    let waiting = async { while !is_done().await {} };
    timeout(PATIENCE, waiting)
        .await
        .expect("it happens in time");
}
