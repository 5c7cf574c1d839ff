use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use interlock_client::{
    Call, Client, Code, ErrorKind, HandlerResult, Json, Member, Membership, Model, Schedule, Task,
    Verdict, Written,
    api::{ActionInvokeRequest, ActionRegisterRequest, ComputeMembersGetRequest},
    reject, retry,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

use crate::support::{Server, flow, make_parcels, parcel, processor, until};

fn member(server: &Server, tenant: &str) -> Member {
    Member::new(server.tenant(tenant)).tag("rust")
}

/// Joins, and makes the parcels with a workflow.
async fn joined(member: Member, workflow: &str) -> Membership {
    let membership = member.join().await.expect("it joins");
    make_parcels(membership.client(), Some(workflow)).await;
    membership
}

async fn create(client: &Client) -> interlock_client::Result<Written> {
    let document = Json::parse(r#"{"sku":"A-1","weight":1.50}"#)?;
    client.entities().create(parcel(), &document).await
}

#[tokio::test]
async fn a_call_is_given_up_with_the_server_and_its_place_given_to_another() {
    let server = Server::start().await;
    let (sender, mut begun) = mpsc::unbounded_channel();
    let limited = member(&server, "limited").concurrency(1);
    let limited = limited.processor("price", move |call: Call| {
        let sender = sender.clone();
        async move {
            let name = call.transition.clone().unwrap_or_default().name;
            assert!(call.deadline.is_some());
            let hangs = name == "hangs";
            let _ = sender.send(name);
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(None::<Value>)
        }
    });
    let limits = [("hangs", 3_000), ("waits", 100), ("goes", 30_000)];
    let transitions: Vec<_> = limits
        .iter()
        .map(|(name, limit)| {
            let config = json!({"calculationNodesTags": "rust", "responseTimeoutMs": limit});
            let price = json!({"name": "price", "type": "externalized", "executionMode": "SYNC", "config": config});
            json!({"name": name, "next": "DONE", "manual": true, "processors": [price]})
        })
        .collect();
    let workflow = json!({"version": "1", "name": "parcels", "initialState": "NEW", "states": {
        "NEW": {"transitions": transitions}, "DONE": {}}});
    let member = joined(limited, &workflow.to_string()).await;
    let client = member.client();
    let moved = async |name: &'static str| {
        let id = create(client).await.expect("a parcel").entity_id;
        client.entities().transition(&id, name).await
    };
    let timed_out = |moved: interlock_client::Result<_>| {
        let failure = moved.map(drop).expect_err("its time was up");
        assert!(
            failure.to_string().contains("DISPATCH_TIMEOUT"),
            "{failure}"
        );
    };
    let others = async {
        assert_eq!(begun.recv().await.as_deref(), Some("hangs"));
        timed_out(moved("waits").await);
        moved("goes").await.expect("it has the place");
        assert_eq!(begun.recv().await.as_deref(), Some("goes"));
    };
    let (hung, ()) = tokio::join!(moved("hangs"), others);
    timed_out(hung);
}

#[tokio::test]
async fn a_processor_changes_the_document_and_warns() {
    let server = Server::start().await;
    let pricing = member(&server, "price").processor("price", async |call: Call| {
        let mut document: Value = call.document()?;
        document["price"] = serde_json::from_str("4.50")?;
        let transition = call.transition.clone().unwrap_or_default().name;
        let state = call.attached()?.state.clone();
        let parameters = call.parameters.clone().unwrap_or_default();
        document["note"] = json!([call.workflow.clone(), transition, state, parameters].join(" "));
        call.warn(format!("priced {}", call.entity_id));
        Ok(document)
    });
    let member = joined(pricing, &processor("price", r#","context":"eu""#)).await;
    let written = create(member.client()).await.expect("a parcel");
    let entity = member
        .client()
        .entities()
        .get(&written.entity_id)
        .await
        .expect("the parcel");
    let document: Value = entity.document().expect("a document");
    assert_eq!(entity.state, "DONE");
    assert_eq!(document["price"].to_string(), "4.50");
    assert_eq!(document["weight"].to_string(), "1.50");
    assert_eq!(document["note"], "parcels process NEW eu");
    let warning = format!("priced {}", entity.id);
    assert!(
        written.warnings.iter().any(|text| text.contains(&warning)),
        "{:?}",
        written.warnings
    );
}

type Fail = fn() -> HandlerResult<Value>;

#[tokio::test]
async fn a_rejection_a_panic_and_an_error_fail_the_call_alone() {
    let server = Server::start().await;
    let failing: [(&str, Fail); 4] = [
        ("too heavy", || Err(reject("too heavy"))),
        ("disk full", || {
            Err(std::io::Error::other("disk full").into())
        }),
        ("panic: oh no", || panic!("oh no")),
        ("", || Ok(json!([1]))),
    ];
    for (number, (text, fail)) in failing.into_iter().enumerate() {
        let calls = AtomicUsize::new(0);
        let pricing = member(&server, &number.to_string()).processor("price", move |_| {
            let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            async move { if is_first { fail().map(Some) } else { Ok(None) } }
        });
        let member = joined(pricing, &processor("price", "")).await;
        let error = create(member.client())
            .await
            .expect_err("the handler fails");
        assert_eq!(*error.code(), Code::WorkflowFailed);
        assert_eq!(error.kind(), ErrorKind::WorkflowFailed);
        assert!(error.message().contains(text), "{error}");
        assert!(!error.is_retryable());
        create(member.client())
            .await
            .expect("the member serves the next call");
    }
}

#[tokio::test]
async fn a_retryable_failure_is_retried_under_the_same_key() {
    let server = Server::start().await;
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let pricing = member(&server, "retry").processor("price", move |call: Call| {
        let mut seen = seen.lock().expect("keys");
        seen.push(call.dispatch_key.clone());
        let is_first = seen.len() == 1;
        async move {
            if is_first {
                Err(retry("try again"))
            } else {
                Ok(())
            }
        }
    });
    let member = joined(pricing, &processor("price", r#","retryPolicy":"FIXED""#)).await;
    create(member.client()).await.expect("a parcel");
    let keys = keys.lock().expect("keys");
    assert_eq!(keys.len(), 2);
    assert!(keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
}

#[tokio::test]
async fn a_criterion_decides_and_says_why() {
    let server = Server::start().await;
    let deciding = member(&server, "criterion").criterion("is-light", async |call: Call| {
        let weight = call.document::<Value>()?["weight"]
            .as_f64()
            .unwrap_or_default();
        Ok(if weight < 1.0 {
            Verdict::holds()
        } else {
            Verdict::fails(format!("{weight} kg"))
        })
    });
    let criterion = r#""manual":false,"criterion":{"type":"function","function":{"name":"is-light",
        "config":{"calculationNodesTags":"rust"}}}"#;
    let member = joined(deciding, &flow(criterion)).await;
    for (weight, state) in [(0.5, "DONE"), (5.5, "NEW")] {
        let document = json!({"sku": "A", "weight": weight});
        let entities = member.client().entities();
        let written = entities
            .create(parcel(), &document)
            .await
            .expect("a parcel");
        assert_eq!(
            entities
                .get(written.entity_id)
                .await
                .expect("the parcel")
                .state,
            state
        );
    }
}

#[tokio::test]
async fn a_schedule_function_decides_when() {
    let server = Server::start().await;
    let soon = async |_: Call| Ok(Schedule::after(Duration::from_millis(20)));
    let deciding = member(&server, "schedule").schedule("soon", soon);
    let schedule = r#""manual":false,"schedule":{"function":{"name":"soon","resultKind":"Schedule",
        "calculationNodesTags":"rust"}}"#;
    let member = joined(deciding, &flow(schedule)).await;
    let written = create(member.client()).await.expect("a parcel");
    until(async || {
        let entity = member.client().entities().get(&written.entity_id).await;
        entity.expect("the parcel").state == "DONE"
    })
    .await;
}

#[tokio::test]
async fn a_call_writes_in_its_transaction() {
    let server = Server::start().await;
    let label = Model::new("label", 1);
    let (seen, mut labels) = mpsc::unbounded_channel();
    let outside = server.client("transaction").await;
    let elsewhere = outside.clone();
    let written_model = label.clone();
    let labelling = member(&server, "transaction").processor("price", move |call: Call| {
        let (label, outside) = (written_model.clone(), elsewhere.clone());
        let seen = seen.clone();
        async move {
            let document: Value = call.document()?;
            let written = call
                .entities()
                .create(label, &json!({"sku": document["sku"]}))
                .await?;
            call.entities().get(&written.entity_id).await?;
            let hidden = outside.entities().get(&written.entity_id).await;
            let is_hidden = hidden.is_err_and(|error| error.kind() == ErrorKind::NotFound);
            seen.send((written.entity_id, is_hidden))?;
            if document["sku"] == "rejected" {
                Err(reject("no"))
            } else {
                Ok(())
            }
        }
    });
    outside
        .models()
        .import(&label, &json!({"sku": "A"}))
        .await
        .expect("a model");
    outside.models().lock(&label).await.expect("a lock");
    let _member = joined(labelling, &processor("price", "")).await;
    create(&outside).await.expect("a parcel");
    let (id, is_hidden) = labels.recv().await.expect("a label");
    assert!(is_hidden, "it is not seen outside before it is committed");
    outside.entities().get(id).await.expect("the label");
    let rejected = outside
        .entities()
        .create(parcel(), &json!({"sku": "rejected"}))
        .await;
    rejected.expect_err("a rejection");
    let (id, _) = labels.recv().await.expect("a label");
    let error = outside
        .entities()
        .get(id)
        .await
        .expect_err("it was rolled back");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_thousand_calls_run_at_once() {
    const COUNT: usize = 1000;
    let server = Server::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let running = Arc::new(AtomicUsize::new(0));
    let all = Arc::new(Notify::new());
    let (waiting, count, full) = (Arc::clone(&gate), Arc::clone(&running), Arc::clone(&all));
    let holding = member(&server, "many")
        .concurrency(COUNT)
        .processor("price", move |_| {
            let (gate, full) = (Arc::clone(&waiting), Arc::clone(&full));
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                if number == COUNT {
                    full.notify_one();
                }
                let _permit = gate.acquire().await;
                Ok(())
            }
        });
    let _member = joined(holding, &processor("price", "")).await;
    // A server works on 256 requests of a stream.
    let clients = join_all((0..4).map(|_| server.client("many"))).await;
    let creating: Vec<_> = (0..COUNT)
        .map(|number| {
            tokio::spawn({
                let client = clients[number % 4].clone();
                async move { create(&client).await }
            })
        })
        .collect();
    all.notified().await;
    assert_eq!(running.load(Ordering::SeqCst), COUNT);
    gate.add_permits(COUNT);
    for created in creating {
        created.await.expect("no panic").expect("a parcel");
    }
}

/// Sends a message when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

#[tokio::test]
async fn a_handler_is_dropped_with_its_stream_and_the_member_joins_again() {
    let mut server = Server::start().await;
    let began = Arc::new(Notify::new());
    let (sender, dropped) = oneshot::channel();
    let first = Mutex::new(Some(sender));
    let running_now = Arc::clone(&began);
    let waiting = member(&server, "again").processor("price", move |_| {
        let first = first.lock().expect("the first").take();
        let running_now = Arc::clone(&running_now);
        async move {
            if let Some(sender) = first {
                let _dropped = Dropped(Some(sender));
                running_now.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    });
    let _member = joined(waiting, &processor("price", "")).await;
    let client = server.client("again").await;
    let creating = tokio::spawn({
        let client = client.clone();
        async move { create(&client).await }
    });
    began.notified().await;
    server.kill().await;
    let error = creating
        .await
        .expect("no panic")
        .expect_err("the stream is lost");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    dropped.await.expect("the handler is dropped");
    server.restart().await;
    until(async || {
        let members = client
            .compute_members_get(&ComputeMembersGetRequest::new())
            .await;
        members.is_ok_and(|answer| answer.members.len() == 1)
    })
    .await;
    make_parcels(&client, Some(&processor("price", ""))).await; // the server keeps nothing
    create(&client).await.expect("a parcel");
}

#[tokio::test]
async fn a_member_that_stops_finishes_what_is_running() {
    let server = Server::start().await;
    let (began, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (running_now, opened) = (Arc::clone(&began), Arc::clone(&gate));
    let finishing = member(&server, "drain").processor("price", move |_| {
        let (running_now, opened) = (Arc::clone(&running_now), Arc::clone(&opened));
        async move {
            running_now.notify_one();
            opened.notified().await;
            Ok(json!({"sku": "done"}))
        }
    });
    let client = server.client("drain").await;
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(finishing.run_until(async { drop(stopped.await) }));
    make_parcels(&client, Some(&processor("price", ""))).await;
    until(async || {
        let members = client
            .compute_members_get(&ComputeMembersGetRequest::new())
            .await;
        members.is_ok_and(|answer| answer.members.len() == 1)
    })
    .await;
    let creating = tokio::spawn({
        let client = client.clone();
        async move { create(&client).await }
    });
    began.notified().await;
    stop.send(()).expect("it runs");
    gate.notify_one();
    creating.await.expect("no panic").expect("a parcel");
    running.await.expect("no panic").expect("it ends well");
}

#[tokio::test]
async fn a_member_that_the_server_refuses_ends() {
    let server = Server::start().await;
    let options = server
        .tenant("refused")
        .metadata("x-mock-roles", "ROLE_USER");
    let refused = Member::new(options.clone())
        .tag("rust")
        .run_until(std::future::pending());
    let error = refused.await.expect_err("it lacks a role");
    assert_eq!(*error.code(), Code::Forbidden);
    assert_eq!(error.kind(), ErrorKind::Access);
    let error = Member::new(options)
        .tag("rust")
        .join()
        .await
        .expect_err("it lacks a role");
    assert_eq!(*error.code(), Code::Forbidden);
}

#[tokio::test]
async fn an_action_executes_a_task() {
    let server = Server::start().await;
    let charging = member(&server, "action").action("charge", async |task: Task| {
        let input: Value = task.input()?;
        Ok(json!({"charged": input["amount"], "attempt": task.attempt}))
    });
    let member = charging.join().await.expect("it joins");
    let client = member.client();
    let registered = client
        .action_register(&ActionRegisterRequest::new("charge"))
        .await;
    registered.expect("an action");
    let request = ActionInvokeRequest::new("charge")
        .input(Json::parse(r#"{"amount":12.30}"#).expect("JSON"))
        .wait_ms(10_000);
    let task = client
        .action_invoke(&request)
        .await
        .expect("an answer")
        .task
        .expect("a task");
    let output = task.output.expect("an output");
    assert_eq!(output.as_str(), r#"{"attempt":1,"charged":12.30}"#);
}

#[tokio::test]
async fn a_member_with_one_place_serves_the_call_that_its_processor_causes() {
    let server = Server::start().await;
    let depth = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&depth);
    let nesting = member(&server, "nested")
        .concurrency(1)
        .processor("price", move |call: Call| {
            let is_first = called.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if is_first {
                    call.entities()
                        .create(parcel(), &json!({"sku": "inner"}))
                        .await?;
                }
                Ok(())
            }
        });
    let member = joined(nesting, &processor("price", "")).await;
    create(member.client()).await.expect("a parcel");
    assert_eq!(depth.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_failure_and_warnings_of_any_size_fail_the_call_alone() {
    let server = Server::start().await;
    let (began, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (running_now, opened) = (Arc::clone(&began), Arc::clone(&gate));
    let large = "é\u{1}".repeat(6 << 20);
    let text = large.clone();
    let failing = member(&server, "large")
        .processor("price", move |call: Call| {
            let (running_now, opened, text) =
                (Arc::clone(&running_now), Arc::clone(&opened), text.clone());
            async move {
                match call.document::<Value>()?["sku"].as_str() {
                    Some("slow") => {
                        running_now.notify_one();
                        opened.notified().await;
                        return Ok(());
                    }
                    Some("warned") => (0..3000).for_each(|_| call.warn(&text[..3 << 14])),
                    _ => {}
                }
                Err(reject(text))
            }
        })
        .action("charge", move |_| {
            let text = large.clone();
            async move { Err::<Value, _>(reject(text.clone()).code(text)) }
        });
    let member = joined(failing, &processor("price", "")).await;
    let client = member.client();
    let creating = tokio::spawn({
        let client = client.clone();
        async move {
            let slow = json!({"sku": "slow"});
            client.entities().create(parcel(), &slow).await
        }
    });
    began.notified().await;
    for sku in ["large", "warned"] {
        let document = json!({"sku": sku});
        let created = client.entities().create(parcel(), &document).await;
        let error = created.expect_err("the handler fails");
        assert_eq!(*error.code(), Code::WorkflowFailed);
        assert!(error.message().contains('é'));
    }
    let registered = client
        .action_register(&ActionRegisterRequest::new("charge"))
        .await;
    registered.expect("an action");
    let request = ActionInvokeRequest::new("charge").wait_ms(10_000);
    let answer = client.action_invoke(&request).await.expect("an answer");
    let failure = answer.task.expect("a task").error.expect("a failure");
    assert!(failure.message.starts_with('é'));
    gate.notify_one();
    // It was on the same stream.
    creating.await.expect("no panic").expect("a parcel");
}
