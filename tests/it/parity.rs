//! Every operation through every API: the table of operations against the APIs.

use interlock::{
    operation::{Answers, Family, ROUTES, Route},
    rest::{SPELLINGS, Spelling},
};
use serde_json::{Value, json};

use crate::support::{Connection, Rest, Server, create, locked_model, payload_of, request, token};

/// The id of nothing.
pub(crate) const NIL: &str = "00000000-0000-0000-0000-000000000000";

/// The smallest step workflow.
pub(crate) const DOCUMENT: &str = "kind: Workflow\nname: flow\nversion: 1\nstart:\n  run: '@actions/a'\n  transitions: {success: flo.Completed}\n";

/// A request of every type that the table has, made from a stage on which it succeeds or is
/// known to be answered in-band.
pub(crate) fn example(kind: &str, model: &Value, id: &str) -> Value {
    let nil = NIL;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let workflow = json!({"version": "1", "name": "w", "initialState": "CREATED", "states": {"CREATED": {"transitions": [{"name": "UPDATE", "next": "CREATED", "manual": true}]}}});
    match kind {
        "EntityModelImportRequest" => {
            json!({"model": {"name": "fresh", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1}})
        }
        "EntityModelExportRequest" => json!({"model": model, "converter": "SIMPLE_VIEW"}),
        "EntityModelTransitionRequest" => json!({"model": model, "transition": "LOCK"}),
        "EntityModelDeleteRequest"
        | "EntityWorkflowDiagramRequest"
        | "EntityWorkflowExportRequest"
        | "EntityGetAllRequest"
        | "EntityStatsGetRequest"
        | "EntityStatsByStateGetRequest" => json!({"model": model}),
        "EntityModelGetAllRequest"
        | "AccountGetRequest"
        | "ClientCreateRequest"
        | "ClientsGetRequest"
        | "ComputeMembersGetRequest"
        | "LogLevelGetRequest"
        | "NodesGetRequest"
        | "OidcProvidersGetRequest"
        | "OidcProvidersReloadRequest"
        | "TraceSamplerGetRequest"
        | "TrustedKeysGetRequest"
        | "RunDefinitionsGetRequest"
        | "BundlesGetRequest"
        | "MachinesGetRequest"
        | "ActionsGetRequest"
        | "TopicsGetRequest"
        | "FilesGetRequest"
        | "ManagersGetRequest"
        | "ManagerTickRequest"
        | "IncidentsGetRequest"
        | "RunsGetRequest"
        | "TasksGetRequest"
        | "WorkersGetRequest" => json!({}),
        "IncidentRetryRequest" | "IncidentCancelRequest" => json!({"incidentId": "run-1"}),
        "ClientDeleteRequest" | "ClientSecretResetRequest" => {
            json!({"clientId": "0123456789ABCDEF"})
        }
        "KeyPairDeleteRequest"
        | "KeyPairInvalidateRequest"
        | "TrustedKeyDeleteRequest"
        | "TrustedKeyInvalidateRequest" => json!({"keyId": "k"}),
        "TrustedKeyRegisterRequest" => {
            let key = interlock::auth::SigningKey::parse(token::KEY).expect("a key");
            let jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
            json!({"keyId": "k", "jwk": jwk, "audience": "human"})
        }
        "KeyPairGetRequest" => json!({"audience": "client"}),
        "KeyPairIssueRequest" => json!({"algorithm": "RS256", "audience": "client"}),
        "KeyPairReactivateRequest" | "TrustedKeyReactivateRequest" => {
            json!({"keyId": "k", "validTo": "9999-01-01T00:00:00Z"})
        }
        "OidcProviderRegisterRequest" => {
            json!({"wellKnownConfigUri": "https://id.example/.well-known/openid-configuration"})
        }
        "OidcProviderDeleteRequest"
        | "OidcProviderInvalidateRequest"
        | "OidcProviderReactivateRequest"
        | "OidcProviderUpdateRequest" => json!({"providerId": nil}),
        "LogLevelSetRequest" => json!({"level": "info"}),
        "TraceSamplerSetRequest" => json!({"sampler": "never"}),
        "EntityModelSetChangeLevelRequest" => json!({"model": model, "changeLevel": "TYPE"}),
        "EntityModelValidateRequest" => json!({"model": model, "payload": {"n": "x"}}),
        "EntityModelSetUniqueKeysRequest" => json!({"model": model, "uniqueKeys": []}),
        "EntityWorkflowImportRequest" => json!({"model": model, "workflows": [workflow]}),
        "EntityCreateRequest" => {
            json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"n": 2}}})
        }
        "EntityCreateCollectionRequest" => {
            json!({"dataFormat": "JSON", "payloads": [{"model": model, "data": {"n": 3}}]})
        }
        "EntityUpdateRequest" => {
            json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 4}}})
        }
        "EntityUpdateCollectionRequest" => {
            json!({"dataFormat": "JSON", "payloads": [{"entityId": id, "data": {"n": 5}}]})
        }
        "EntityPatchRequest" => {
            json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": id, "patch": {}, "ifMatch": "*"}})
        }
        "EntityTransitionRequest" => json!({"entityId": id, "transition": "UPDATE"}),
        "EntityDeleteRequest" => json!({"entityId": nil}),
        "EntityDeleteAllRequest" => json!({"model": {"name": "none", "version": 1}}),
        "EntityAuditFinishedGetRequest" => {
            json!({"entityId": id, "transactionId": nil})
        }
        "EntityGetRequest"
        | "EntityTransitionsGetRequest"
        | "EntityChangesMetadataGetRequest"
        | "EntityAuditGetRequest"
        | "WorkflowExplainRequest" => {
            json!({"entityId": id})
        }
        "EntityModelSetIndexesRequest" => json!({"model": model, "indexes": [{"path": "$.n"}]}),
        "EntitySearchRequest" | "EntitySearchExplainRequest" | "EntitySnapshotSearchRequest" => {
            json!({"model": model, "condition": everything})
        }
        "EntityChangesSubscribeRequest" => json!({"fromSequence": 0, "includeData": true}),
        "EntitySearchSubscribeRequest" => {
            let everything = json!({"type": "group", "operator": "AND", "conditions": []});
            json!({"model": model, "condition": everything, "fromSequence": 0})
        }
        "SnapshotGetStatusRequest" | "SnapshotGetRequest" | "SnapshotCancelRequest" => {
            json!({"snapshotId": nil})
        }
        "EntityStatsQueryRequest" => json!({"model": model, "groupBy": ["state"]}),
        "RunDefinitionCreateRequest" | "RunDefinitionValidateRequest" => {
            json!({"document": DOCUMENT})
        }
        "BundleApplyRequest" => {
            // It is refused, so that no bundle is there afterwards.
            json!({"bundle": "none", "files": [{"path": "a.hcl", "text": "thing {}"}]})
        }
        "BundleGetRequest" | "BundleDeleteRequest" => json!({"bundle": "none"}),
        "MachineTransitionRequest" => {
            json!({"machine": "none", "entity": "orders", "entityId": "1", "event": "pay"})
        }
        "TopicPublishRequest" => json!({"topic": "said", "events": [{"payload": 1, "id": "e"}]}),
        "TopicGetRequest" => json!({"topic": "none"}),
        "ManagerCreateRequest" => {
            json!({"document": {"configuration_code": "c", "user_code": "u", "workers": []}})
        }
        "ManagerGetRequest" => json!({"manager": "none.json"}),
        "ManagerControlRequest" => json!({"manager": "none.json", "do": "pause"}),
        "FilePutRequest" => json!({"path": "/said.json", "content": {"n": 1}}),
        "FileGetRequest" | "FileDeleteRequest" => json!({"path": "/none.json"}),
        "ActionRegisterRequest" => json!({"name": "act"}),
        "ActionGetRequest"
        | "ActionDeleteRequest"
        | "ActionInvokeRequest"
        | "RunDefinitionGetRequest"
        | "RunDefinitionDeleteRequest" => json!({"name": "none"}),
        "ActionSetEnabledRequest" | "RunDefinitionSetEnabledRequest" => {
            json!({"name": "none", "enabled": true})
        }
        "RunStartRequest" => json!({"definition": "none"}),
        "RunGetRequest" | "RunCancelRequest" | "RunHistoryGetRequest" => {
            json!({"runId": "none"})
        }
        "RunSignalRequest" => json!({"runId": "none", "type": "go"}),
        "RunHistorySubscribeRequest" => json!({"fromSequence": 0}),
        "PlanGetRequest" => json!({"definition": "none", "plan": "none"}),
        "WorkerRegisterRequest" => json!({"workerId": "worker", "actions": ["a"]}),
        "WorkerGetRequest"
        | "WorkerHeartbeatRequest"
        | "WorkerDrainRequest"
        | "WorkerDeregisterRequest" => json!({"workerId": "none"}),
        "TaskAwaitRequest" => json!({"workerId": "none", "actions": ["a"], "blockMs": 0}),
        "TaskCompleteRequest" | "TaskGetRequest" | "TaskTouchRequest" => json!({"taskId": "none"}),
        "TaskFailRequest" => json!({"taskId": "none", "error": {"message": "no"}}),
        "MessageCreateRequest" => json!({"header": {"subject": "s"}, "payload": {"n": 1}}),
        "MessageGetRequest" | "MessageDeleteRequest" => json!({"messageId": nil}),
        other => panic!("{other} has no example: every operation needs one"),
    }
}

async fn stage() -> (Server, Connection, Value, String) {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let definition = json!({"document": DOCUMENT});
    connection
        .ok("RunDefinitionCreateRequest", definition)
        .await;
    let run = json!({"definition": "flow", "runId": "none"});
    connection.ok("RunStartRequest", run).await;
    (server, connection, model, id)
}

#[tokio::test]
async fn every_operation_is_answered_by_its_type_through_every_grpc_door() {
    let (_server, connection, model, id) = stage().await;
    for route in ROUTES {
        let kind = route.request.as_str();
        let payload = example(kind, &model, &id);
        let event = request(kind, &connection.fresh_id(), payload.clone());
        let streamed = match route.answers {
            Answers::One | Answers::Many => connection.ask(event).await,
            Answers::Live => connection.taste(event).await,
        };
        assert_eq!(streamed[0].kind, route.response, "{kind} on the stream");
        let event = request(kind, "1", payload);
        let called = match (route.family, route.answers) {
            (Family::Model, _) => vec![
                connection
                    .unary("entityModelManage", event, &[])
                    .await
                    .expect(kind),
            ],
            (Family::Entity, _) => vec![
                connection
                    .unary("entityManage", event, &[])
                    .await
                    .expect(kind),
            ],
            (Family::Search, Answers::One) => vec![
                connection
                    .unary("entitySearch", event, &[])
                    .await
                    .expect(kind),
            ],
            (Family::Search, Answers::Many) => connection
                .streaming("entitySearchCollection", event, &[])
                .await
                .expect(kind),
            (Family::Search, Answers::Live) => {
                let mut answers = connection
                    .live("entitySearchCollection", event, &[])
                    .await
                    .expect(kind);
                let first = answers.message().await.expect(kind).expect("an answer");
                vec![first.event().expect("an event")]
            }
        };
        assert_eq!(called[0].kind, route.response, "{kind} by its method");
        assert_eq!(payload_of(&called[0])["id"], "1", "{kind}");
    }
}

#[tokio::test]
async fn every_operation_is_answered_through_cloud_events_over_http() {
    let (server, _connection, model, id) = stage().await;
    let rest = server
        .rest()
        .with("content-type", "application/cloudevents-batch+json");
    for route in ROUTES {
        let kind = route.request.as_str();
        let mut payload = example(kind, &model, &id);
        payload["id"] = json!("1");
        let event = json!([{"specversion": "1.0", "id": "1", "source": "/", "type": kind, "data": payload}]);
        let kind_answered = if route.answers == Answers::Live {
            let mut answers = rest.open("POST", "/api/events", &event.to_string()).await;
            // A comma follows an event when the next one comes.
            let first = answers.until("}").await.expect("an event");
            let kind = first.split(r#""type":""#).nth(1).expect("a type");
            kind.split('"').next().expect("a name").to_owned()
        } else {
            let answers = rest.post("/api/events", event.to_string()).await.ok();
            answers[0]["type"].as_str().expect("a type").to_owned()
        };
        assert_eq!(kind_answered, route.response.as_str(), "{kind}");
    }
}

#[test]
fn every_operation_is_on_the_command_line() {
    let output = crate::support::command(std::path::Path::new("."), &[])
        .args(["events", "--format", "json"])
        .output()
        .expect("runs");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let listed: Vec<_> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["request"].as_str().expect("a type").to_owned())
        .collect();
    assert_eq!(
        listed,
        ROUTES
            .iter()
            .map(|route| route.request.as_str().to_owned())
            .collect::<Vec<_>>()
    );
}

/// The path that a spelling is asked for at, and a body for it. What would take the stage away is
/// tried on something that is not there.
pub(crate) fn asked_of(spelling: &Spelling, model: &Value, id: &str) -> (String, String) {
    let kind = spelling.request.as_str();
    let (path, body) = spelled(spelling.path, kind, model, id);
    let name = model["name"].as_str().expect("a name");
    let path = match kind {
        "EntityDeleteRequest" => path.replace(id, NIL),
        "EntityDeleteAllRequest" => path.replace(&format!("/{name}/"), "/none/"),
        _ => path,
    };
    (path, body)
}

/// The path of a spelling with its parts filled in, and a body for it.
fn spelled(path: &str, kind: &str, model: &Value, id: &str) -> (String, String) {
    let name = model["name"].as_str().expect("a name");
    let is_entity = [
        "EntityUpdateRequest",
        "EntityPatchRequest",
        "EntityGetRequest",
        "EntityDeleteRequest",
    ]
    .contains(&kind);
    let (first, second, third) = match (path.matches('{').count(), is_entity) {
        (1, true) => (id, "", ""),
        (_, true) => ("JSON", id, "UPDATE"),
        (3, false) => ("JSON", name, "1"),
        (1, false) => ("JSON", "", ""),
        _ => (name, "1", ""),
    };
    let converter = if kind == "EntityModelImportRequest" {
        "SAMPLE_DATA"
    } else {
        "SIMPLE_VIEW"
    };
    let worker = if kind == "WorkerRegisterRequest" {
        "worker"
    } else {
        "none"
    };
    let mut filled = path.to_owned();
    for (part, value) in [
        ("{entityName}", name),
        ("{modelVersion}", "1"),
        ("{dataFormat}", "JSON"),
        ("{converter}", converter),
        ("{changeLevel}", "TYPE"),
        ("{clientId}", "0123456789ABCDEF"),
        ("{keyId}", "k"),
        ("{entityId}", id),
        ("{transition}", "UPDATE"),
        ("{transactionId}", NIL),
        ("{jobId}", NIL),
        ("{messageId}", NIL),
        ("{providerId}", NIL),
        ("{subject}", "s"),
        ("{bundle}", "none"),
        ("{definition}", "none"),
        ("{action}", "none"),
        ("{topic}", "none"),
        ("{workerId}", worker),
        ("{taskId}", "none"),
        ("{runId}", "none"),
        ("{plan}", "none"),
        ("{*path}", "none"),
        ("{manager}", "none"),
        ("{first}", first),
        ("{second}", second),
        ("{third}", third),
    ] {
        filled = filled.replace(part, value);
    }
    if kind == "TopicPublishRequest" {
        filled = filled.replace("/none", "/said");
    }
    if kind == "FilePutRequest" {
        filled = filled.replace("/none", "/said.json");
    }
    if kind == "ActionRegisterRequest" {
        filled = filled.replace("/none", "/act");
    }
    if kind == "KeyPairGetRequest" {
        filled = format!("{filled}?audience=client");
    }
    if path.starts_with("/platform-api") {
        filled = format!("{filled}?entityClass={name}.1&entityId={id}&transitionName=UPDATE");
    }
    let item = json!({"model": model, "payload": "{\"n\":1}", "id": id});
    let body = match kind {
        "EntityCreateCollectionRequest" | "EntityUpdateCollectionRequest" => {
            json!([item]).to_string()
        }
        "WorkflowExplainRequest" if path.starts_with("/model") => {
            json!({"data": {"n": 1}}).to_string()
        }
        "EntityWorkflowImportRequest" => {
            json!({"workflows": example(kind, model, id)["workflows"]}).to_string()
        }
        "EntityModelSetUniqueKeysRequest" => json!({"uniqueKeys": []}).to_string(),
        "EntityModelSetIndexesRequest" => json!({"indexes": []}).to_string(),
        "EntitySearchRequest"
        | "EntitySearchExplainRequest"
        | "EntitySearchSubscribeRequest"
        | "EntitySnapshotSearchRequest" => {
            json!({"type": "group", "operator": "AND", "conditions": []}).to_string()
        }
        "EntityDeleteAllRequest" => String::new(),
        "LogLevelSetRequest"
        | "TraceSamplerSetRequest"
        | "KeyPairIssueRequest"
        | "KeyPairReactivateRequest"
        | "OidcProviderRegisterRequest"
        | "TrustedKeyReactivateRequest"
        | "TrustedKeyRegisterRequest"
        | "TopicPublishRequest"
        | "ManagerTickRequest"
        | "ManagerCreateRequest"
        | "TaskAwaitRequest"
        | "TaskFailRequest"
        | "BundleApplyRequest"
        | "RunStartRequest" => example(kind, model, id).to_string(),
        "RunSignalRequest" => json!({"type": "go"}).to_string(),
        "RunDefinitionCreateRequest" | "RunDefinitionValidateRequest" => DOCUMENT.to_owned(),
        "WorkerRegisterRequest" => json!({"actions": ["a"]}).to_string(),
        "ManagerControlRequest" => "{}".to_owned(),

        "EntityStatsQueryRequest" => json!({"groupBy": ["state"]}).to_string(),
        "MessageCreateRequest" => json!({"payload": {"n": 1}}).to_string(),
        "MessageDeleteRequest" if !path.contains('{') => "[]".to_owned(),
        _ => "{\"n\":1}".to_owned(),
    };
    (filled, body)
}

#[tokio::test]
async fn every_spelling_is_served_and_says_what_its_event_says() {
    let (server, connection, model, id) = stage().await;
    let rest: Rest = server.rest();
    for spelling in SPELLINGS {
        let kind = spelling.request.as_str();
        if Route::of(spelling.request).expect(kind).answers == Answers::Live {
            let (path, body) = spelled(spelling.path, kind, &model, &id);
            let path = format!("/api{path}?fromSequence=0");
            let mut coming = rest.open(spelling.method.as_str(), &path, &body).await;
            assert_eq!(coming.headers["content-type"], "text/event-stream");
            assert!(coming.sent().await.expect("an event").id.is_some());
            continue;
        }
        let (path, body) = asked_of(spelling, &model, &id);
        let api = if spelling.method == "PATCH" {
            rest.with("content-type", "application/merge-patch+json")
                .with("if-match", "*")
        } else {
            rest.with("content-type", "application/json")
        };
        let said = api
            .send(spelling.method.as_str(), &format!("/api{path}"), body)
            .await;
        assert!(
            said.text != "404 page not found\n" && said.status.as_u16() != 405,
            "{} {path}: {said:?}",
            spelling.method
        );
        let mut payload = example(kind, &model, &id);
        if path.ends_with("/unlock") {
            payload["transition"] = json!("UNLOCK");
        }
        let answers = connection
            .ask(request(kind, &connection.fresh_id(), payload))
            .await;
        let answer = payload_of(&answers[0]);
        let refused = said.headers["content-type"] == "application/problem+json";
        if refused && answer["success"] == false {
            assert_eq!(said.problem(), crate::support::code(&answer), "{kind}");
        } else if refused {
            // The two differ in what they name only where the example had to.
            assert!(
                [
                    "MODEL_ALREADY_LOCKED",
                    "MODEL_NOT_FOUND",
                    "ENTITY_NOT_FOUND",
                    "WORKFLOW_NOT_FOUND",
                    "MODEL_HAS_ENTITIES",
                    // The paths of sagas know no other runs.
                    "RUN_NOT_FOUND"
                ]
                .contains(&said.problem().as_str()),
                "{kind}: {said:?}"
            );
        }
    }
}
