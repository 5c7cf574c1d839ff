//! What was acknowledged is there after `kill -9` (R1, R3).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, between_looks, governed_model, locked_model, new_entity,
    processed_by, request, state, sync_processor,
};

const CYCLES: usize = 20;
const WRITERS: usize = 8;

/// What the server has acknowledged: entity → the number it was last given, and the transaction.
type Acknowledged = Arc<Mutex<HashMap<String, (i64, String)>>>;

/// Makes and changes entities until the connection is lost.
async fn write(
    connection: Arc<Connection>,
    model: Value,
    writer: usize,
    cycle: usize,
    acknowledged: Acknowledged,
) {
    for n in 0.. {
        let number = i64::try_from(cycle * 1_000_000 + writer * 100_000 + n).expect("small");
        let data = json!({"n": number, "text": "x".repeat(n % 50 * 20)});
        let Some(made) = try_call(
            &connection,
            "EntityCreateRequest",
            new_entity(&model, &data),
        )
        .await
        else {
            return;
        };
        let id = made["transactionInfo"]["entityIds"][0]
            .as_str()
            .expect("an id")
            .to_owned();
        let mut wrote = (
            number,
            made["transactionInfo"]["transactionId"]
                .as_str()
                .expect("an id")
                .to_owned(),
        );
        acknowledged
            .lock()
            .expect("no panic")
            .insert(id.clone(), wrote.clone());
        if n % 3 == 0 {
            let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": -number, "text": "changed"}, "transition": "UPDATE"}});
            let Some(updated) = try_call(&connection, "EntityUpdateRequest", update).await else {
                // Unknown: it may have been committed without being acknowledged.
                acknowledged.lock().expect("no panic").remove(&id);
                return;
            };
            wrote = (
                -number,
                updated["transactionInfo"]["transactionId"]
                    .as_str()
                    .expect("an id")
                    .to_owned(),
            );
            acknowledged.lock().expect("no panic").insert(id, wrote);
        }
    }
}

async fn try_call(connection: &Connection, kind: &str, payload: Value) -> Option<Value> {
    let mut answers = connection
        .try_begin(request(kind, &connection.fresh_id(), payload))
        .await?;
    let answer = crate::support::payload_of(&answers.recv().await?);
    assert_eq!(answer["success"], true, "{answer}");
    Some(answer)
}

#[tokio::test]
async fn every_acknowledged_write_survives_kill_nine_whole() {
    let mut server = Server::on_disk(&[]);
    let model = locked_model(&server.connect().await, "doc", json!({"n": 1, "text": "x"})).await;
    let acknowledged = Acknowledged::default();
    for cycle in 0..CYCLES {
        let connection = Arc::new(server.connect().await);
        let before = acknowledged.lock().expect("no panic").len();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                tokio::spawn(write(
                    Arc::clone(&connection),
                    model.clone(),
                    writer,
                    cycle,
                    Arc::clone(&acknowledged),
                ))
            })
            .collect();
        // Until some have been written in this cycle, then without a warning.
        while acknowledged.lock().expect("no panic").len() < before + 20 + cycle * 7 {
            between_looks().await;
        }
        server.kill();
        for writer in writers {
            writer.await.expect("no panic");
        }
        server.restart();
    }
    let connection = server.connect().await;
    let mut seen: HashMap<String, (i64, String)> = HashMap::new();
    for page in 0.. {
        let (entities, _) = connection
            .all(
                "EntityGetAllRequest",
                json!({"model": model, "pageSize": 1_000, "pageNumber": page}),
            )
            .await;
        for entity in &entities {
            let (data, meta) = (&entity["payload"]["data"], &entity["payload"]["meta"]);
            let text = data["text"].as_str().expect("a text");
            assert!(
                text == "changed" || text.chars().all(|char| char == 'x'),
                "whole: {data}"
            );
            assert_eq!(
                meta["transitionForLatestSave"],
                if text == "changed" {
                    "UPDATE"
                } else {
                    "loopback"
                }
            );
            let id = meta["id"].as_str().expect("an id").to_owned();
            let wrote = (
                data["n"].as_i64().expect("a number"),
                meta["transactionId"].as_str().expect("an id").to_owned(),
            );
            assert!(seen.insert(id, wrote).is_none(), "once");
        }
        if entities.len() < 1_000 {
            break;
        }
    }
    let acknowledged = acknowledged.lock().expect("no panic");
    assert!(acknowledged.len() > CYCLES * 20);
    for (id, wrote) in acknowledged.iter() {
        assert_eq!(seen.get(id), Some(wrote), "{id}");
    }
    let mut numbers: Vec<_> = seen.values().map(|(number, _)| number.abs()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), seen.len(), "nothing was made twice");
}

#[tokio::test]
async fn a_crash_while_a_processor_is_called_leaves_no_trace_of_the_transaction() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let made = async {
        let call = member.next().await;
        member.reply(&call, Reply::Nothing).await;
    };
    let (kept, ()) = tokio::join!(
        crate::support::create(&connection, &model, json!({"n": 1})),
        made
    );
    let _new = connection
        .begin(request(
            "EntityCreateRequest",
            "new",
            new_entity(&model, &json!({"n": 2})),
        ))
        .await;
    member.next().await;
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": kept, "data": {"n": 3}, "transition": "AGAIN"}});
    let _changed = connection
        .begin(request("EntityUpdateRequest", "changed", update))
        .await;
    member.next().await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    assert_eq!(entities.len(), 1);
    assert_eq!(
        (
            &entities[0]["payload"]["data"],
            state(&entities[0]["payload"])
        ),
        (&json!({"n": 1}), "DONE")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_leaves_one_file_that_is_the_whole_database() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    for n in 0..20 {
        crate::support::create(&connection, &model, json!({"n": n})).await;
    }
    assert_eq!(server.stop().await, Some(0));
    let mut files: Vec<_> = std::fs::read_dir(server.folder().join(".local/share/interlock"))
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["interlock.db", "interlock.db.lock"]);
    server.restart();
    let connection = server.connect().await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    assert_eq!(entities.len(), 20);
}
