//! Executes commands.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use interlock_client::{
    Answer, Client, ClientCredentials, ConnectOptions, Json, Member, Request,
    api::{
        EntityCreateRequest, EntityDeleteRequest, EntityGetRequest, EntityTransitionRequest,
        EntityUpdateRequest,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    Failed, Program, feeds,
    handlers::{self, Scripted},
    output::failure,
};

/// A line of the runner.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Command {
    pub(crate) id: i64,
    pub(crate) r#do: String,
    pub(crate) r#as: String,
    pub(crate) on: String,
    pub(crate) target: String,
    access: Access,
    pub(crate) tags: Vec<String>,
    concurrency: Option<usize>,
    pub(crate) quiet: bool,
    pub(crate) handlers: Vec<Scripted>,
    pub(crate) r#type: String,
    pub(crate) payload: Json,
    key: Option<String>,
    timeout_ms: Option<u64>,
    count: usize,
    pub(crate) feed: String,
    gate: String,
    member: String,
    client: String,
}

impl Default for Command {
    fn default() -> Self {
        Self {
            id: 0,
            r#do: String::new(),
            r#as: String::new(),
            on: String::new(),
            target: String::new(),
            access: Access::default(),
            tags: Vec::new(),
            concurrency: None,
            quiet: false,
            handlers: Vec::new(),
            r#type: String::new(),
            payload: json!({}).into(),
            key: None,
            timeout_ms: None,
            count: 0,
            feed: String::new(),
            gate: String::new(),
            member: String::new(),
            client: String::new(),
        }
    }
}

#[derive(Default, Deserialize)]
struct Access {
    #[serde(default)]
    metadata: HashMap<String, String>,
    oauth: Option<OAuth>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OAuth {
    url: String,
    client_id: String,
    client_secret: String,
}

impl Command {
    fn options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::new(self.target.as_str());
        for (key, value) in &self.access.metadata {
            options = options.metadata(key, value);
        }
        if let Some(OAuth {
            url,
            client_id,
            client_secret,
        }) = &self.access.oauth
        {
            options = options.token_source(ClientCredentials::new(url, client_id, client_secret));
        }
        options
    }
}

pub(crate) async fn execute(program: Arc<Program>, command: Command) {
    #[derive(Serialize)]
    struct Line {
        id: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        ok: Option<Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    }
    let id = command.id;
    let line = match perform(&program, command).await {
        Ok(ok) => Line {
            id,
            ok: Some(ok),
            error: None,
        },
        Err(failed) => Line {
            id,
            ok: None,
            error: Some(failure(&failed)),
        },
    };
    program.output.say(&line);
}

async fn perform(program: &Arc<Program>, command: Command) -> Result<Json, Failed> {
    let nothing = || Ok(json!({}).into());
    match command.r#do.as_str() {
        "hello" => Ok(json!({"language": "rust", "protocol": 1}).into()),
        "connect" => {
            let client = Client::new(command.options())?;
            program.scene().clients.insert(command.r#as, client.clone());
            client.reach().await?;
            nothing()
        }
        "join" => {
            let name = command.r#as.clone();
            let membership = Arc::new(member(program, command)?.join().await?);
            program.scene().members.insert(name, membership);
            nothing()
        }
        "serve" => {
            let member = member(program, command)?;
            tokio::spawn(async move {
                if let Err(error) = member.run().await {
                    tracing::error!(%error, "a member does not serve");
                }
            });
            nothing()
        }
        "call" => call(program, &command).await,
        "calls" => calls(program, &command).await,
        "collect" => {
            let (client, _) = program.client(&command.on)?;
            let items: Vec<Json> = client
                .stream(&command.r#type, &command.payload)
                .all()
                .await?;
            Ok(Json::encode(&BTreeMap::from([("items", items)]))?)
        }
        "read-each" => read_each(program, &command).await,
        "follow" => {
            feeds::follow(program, &command)?;
            nothing()
        }
        "unfollow" => {
            let feed = program.scene().feeds.remove(&command.feed);
            feed.ok_or("there is no such feed")?.cancel();
            nothing()
        }
        "open" => {
            program.gate(&command.gate).close();
            nothing()
        }
        "leave" => {
            let member = program.scene().members.remove(&command.member);
            member.ok_or("there is no such member")?.leave().await;
            nothing()
        }
        "close" => {
            let client = program.scene().clients.remove(&command.client);
            client.ok_or("there is no such client")?.close().await;
            nothing()
        }
        "reset" => {
            reset(program).await;
            nothing()
        }
        unknown => Err(format!("unknown command {unknown}").into()),
    }
}

/// Reads each entity of a search, in the loop over it.
async fn read_each(program: &Arc<Program>, command: &Command) -> Result<Json, Failed> {
    let (client, _) = program.client(&command.on)?;
    let mut found = client.entities().search(command.payload.decode()?);
    let mut read = 0;
    while let Some(entity) = found.next().await {
        client.entities().get(&entity?.id).await?;
        read += 1;
    }
    Ok(json!({"read": read}).into())
}

fn member(program: &Arc<Program>, command: Command) -> Result<Member, Failed> {
    let mut member = Member::new(command.options()).tags(&command.tags);
    if let Some(concurrency) = command.concurrency {
        member = member.concurrency(concurrency);
    }
    for scripted in command.handlers {
        let on = handlers::On {
            program: Arc::clone(program),
            member: command.r#as.clone(),
            quiet: command.quiet,
        };
        member = handlers::register(member, on, scripted)?;
    }
    Ok(member)
}

async fn call(program: &Program, command: &Command) -> Result<Json, Failed> {
    let (client, _) = program.client(&command.on)?;
    let asking = ask(
        &client,
        &command.r#type,
        &command.payload,
        command.key.as_deref(),
    );
    match command.timeout_ms {
        Some(patience) => timeout(Duration::from_millis(patience), asking).await?,
        None => asking.await,
    }
}

async fn calls(program: &Program, command: &Command) -> Result<Json, Failed> {
    let (client, _) = program.client(&command.on)?;
    let one = || ask(&client, &command.r#type, &command.payload, None);
    let mut asking: FuturesUnordered<_> = (0..command.count).map(|_| one()).collect();
    let mut answered = 0;
    let mut failed: HashMap<String, usize> = HashMap::new();
    while let Some(answer) = asking.next().await {
        match answer {
            Ok(_) => answered += 1,
            Err(error) => {
                let code = failure(&error)["code"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                *failed.entry(code).or_default() += 1;
            }
        }
    }
    Ok(json!({"answered": answered, "failed": failed}).into())
}

async fn reset(program: &Program) {
    let scene = std::mem::take(&mut *program.scene());
    scene.ended.cancel();
    for feed in scene.feeds.values() {
        feed.cancel();
    }
    let leaving = scene
        .members
        .values()
        .map(|member| member.leave_within(Duration::ZERO));
    join_all(leaving).await;
    join_all(scene.clients.values().map(Client::close)).await;
}

/// Sends a request with one answer, by the typed operation where there is one to use.
pub(crate) async fn ask(
    client: &Client,
    event_type: &str,
    payload: &Json,
    key: Option<&str>,
) -> Result<Json, Failed> {
    match event_type {
        "EntityCreateRequest" => {
            typed(payload, key, |request: &EntityCreateRequest| {
                client.entity_create(request)
            })
            .await
        }
        "EntityGetRequest" => {
            typed(payload, key, |request: &EntityGetRequest| {
                client.entity_get(request)
            })
            .await
        }
        "EntityUpdateRequest" => {
            typed(payload, key, |request: &EntityUpdateRequest| {
                client.entity_update(request)
            })
            .await
        }
        "EntityTransitionRequest" => {
            let send = |request: &EntityTransitionRequest| client.entity_transition(request);
            typed(payload, key, send).await
        }
        "EntityDeleteRequest" => {
            typed(payload, key, |request: &EntityDeleteRequest| {
                client.entity_delete(request)
            })
            .await
        }
        _ => Ok(keyed(client.call(event_type, payload), key).await?),
    }
}

fn keyed<A: Answer>(request: Request<A>, key: Option<&str>) -> Request<A> {
    match key {
        Some(key) => request.idempotency_key(key),
        None => request,
    }
}

/// Sends a request with the typed operation. A typed answer is a successful one, so it has no
/// `success`, which the runner looks for.
async fn typed<Q: DeserializeOwned, A: Answer + Serialize>(
    payload: &Json,
    key: Option<&str>,
    operation: impl Fn(&Q) -> Request<A>,
) -> Result<Json, Failed> {
    let request: Q = payload.decode()?;
    let answer = keyed(operation(&request), key).await?;
    let mut members: BTreeMap<String, Json> = Json::encode(&answer)?.decode()?;
    members.insert("success".to_owned(), json!(true).into());
    Ok(Json::encode(&members)?)
}
