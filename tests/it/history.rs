//! What entities were: by time, by transaction, and who made them so (`models-and-entities.md` §7).

use serde_json::{Value, json};

use crate::support::{
    Connection, Server, code, create, exactly, get, locked_model, new_entity, payload_of, request,
};

/// Numbers that look like chance and are always the same.
fn chance(seed: &mut u64, end: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from(*seed % 1_000_003).expect("small") % end
}

/// Microseconds since 1970.
fn micros(time: &str) -> i64 {
    interlock::clock::PointInTime::parse(time)
        .expect("a time")
        .until
        .micros()
}

async fn update(connection: &Connection, id: &str, n: usize) {
    let change = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": n}}});
    connection.ok("EntityUpdateRequest", change).await;
}

#[tokio::test]
async fn reads_of_any_time_agree_with_the_history_of_a_thousand_versions() {
    const VERSIONS: usize = 1_000;
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 0})).await;
    for n in 1..VERSIONS {
        update(&connection, &id, n).await;
    }
    let (changes, _) = connection
        .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(changes.len(), VERSIONS);
    // Oldest first: when, and by which transaction, it became what it was.
    let history: Vec<(String, String)> = changes
        .iter()
        .rev()
        .map(|change| {
            let member = |name: &str| {
                change["changeMeta"][name]
                    .as_str()
                    .expect("a text")
                    .to_owned()
            };
            (member("timeOfChange"), member("transactionId"))
        })
        .collect();
    let times: Vec<i64> = history
        .iter()
        .map(|(time, _)| micros(&exactly(&json!(time))))
        .collect();
    assert!(times.is_sorted());
    let [first, last] = [times[0], times[VERSIONS - 1]];
    let mut seed = 42;
    for round in 0..300 {
        let span = usize::try_from(last - first + 2_000).expect("short");
        let at = first - 1_000 + i64::try_from(chance(&mut seed, span)).expect("short");
        // Digits below the microsecond make it exact.
        let time = interlock::clock::Timestamp::from_micros(at).to_string();
        let time = exactly(&json!(time));
        let then = times.partition_point(|written| *written <= at);
        let path = format!("/api/entity/{id}?pointInTime={time}");
        let said = rest.get(&path).await;
        if then == 0 {
            said.refused(404, "ENTITY_NOT_FOUND");
            continue;
        }
        let entity = said.ok();
        assert_eq!(entity["data"]["n"], then - 1, "{time}");
        assert_eq!(
            entity["meta"]["transactionId"],
            history[then - 1].1.as_str()
        );
        assert!(entity["meta"].get("pointInTime").is_none());
        if round % 10 == 0 {
            let asked = json!({"entityId": id, "pointInTime": time});
            let (changes, _) = connection
                .all("EntityChangesMetadataGetRequest", asked.clone())
                .await;
            assert_eq!(changes.len(), then);
            let by_event = connection.ok("EntityGetRequest", asked).await;
            assert_eq!(by_event["payload"]["data"]["n"], then - 1);
            let path = format!("/api/entity/{id}?transactionId={}", history[then - 1].1);
            assert_eq!(rest.get(&path).await.ok()["data"]["n"], then - 1);
            let listed = rest
                .get(&format!("/api/entity/doc/1?pointInTime={time}"))
                .await;
            let listed = listed.ok();
            assert_eq!(listed[0]["data"]["n"], then - 1);
            assert_eq!(listed[0]["meta"]["pointInTime"], time.as_str());
        }
    }
    // A time without digits below the millisecond is that whole millisecond.
    for (time, _) in history.iter().step_by(97) {
        let cut = micros(&exactly(&json!(time))) / 1_000 * 1_000;
        let newest = times.partition_point(|written| *written < cut + 1_000);
        let cut = interlock::clock::Timestamp::from_micros(cut).to_string();
        let path = format!("/api/entity/{id}?pointInTime={cut}");
        assert_eq!(rest.get(&path).await.ok()["data"]["n"], newest - 1, "{cut}");
    }
    // Of more than a thousand changes, the newest thousand are listed.
    update(&connection, &id, VERSIONS).await;
    let reported = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    let reported = reported.as_array().expect("changes");
    assert_eq!(
        (reported.len(), &reported[999]["changeType"]),
        (1_000, &json!("UPDATE"))
    );
}

#[tokio::test]
async fn what_is_deleted_is_gone_now_and_there_before() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let making = made["transactionInfo"]["transactionId"]
        .as_str()
        .expect("an id");
    let then = exactly(&get(&connection, id).await["meta"]["lastUpdateTime"]);
    let deleted = rest.delete(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(
        (&deleted["id"], &deleted["modelKey"]),
        (&json!(id), &json!({"name": "doc", "version": 1}))
    );
    let deleting = deleted["transactionId"].as_str().expect("an id");

    for (query, n) in [
        (String::new(), None),
        (format!("?pointInTime={then}"), Some(1)),
        (format!("?transactionId={making}"), Some(1)),
        (format!("?transactionId={deleting}"), None),
        (format!("?transactionId={}", uuid::Uuid::nil()), None),
        ("?pointInTime=2001-01-01T00:00:00Z".to_owned(), None),
    ] {
        let said = rest.get(&format!("/api/entity/{id}{query}")).await;
        if let Some(n) = n {
            assert_eq!(said.ok()["data"]["n"], n, "{query}");
        } else {
            let problem = said.refused(404, "ENTITY_NOT_FOUND");
            assert_eq!(problem["properties"]["entityId"], id);
        }
    }
    let both = format!("/api/entity/{id}?pointInTime={then}&transactionId={making}");
    rest.get(&both).await.refused(400, "BAD_REQUEST");

    let path = format!("/api/entity/{id}/transitions");
    let names = json!(["UPDATE", "DELETE"]);
    rest.get(&path).await.refused(404, "ENTITY_NOT_FOUND");
    for query in [
        format!("?pointInTime={then}"),
        format!("?transactionId={making}"),
    ] {
        assert_eq!(
            rest.get(&format!("{path}{query}")).await.ok(),
            names,
            "{query}"
        );
    }
    rest.get(&format!("{path}?pointInTime={then}&transactionId={making}"))
        .await
        .refused(400, "BAD_REQUEST");

    let changes = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    let reported: Vec<&Value> = changes.as_array().expect("changes").iter().collect();
    assert_eq!(
        (
            &reported[0]["changeType"],
            &reported[1]["changeType"],
            reported.len()
        ),
        (&json!("DELETE"), &json!("CREATE"), 2)
    );
    for change in &reported {
        assert_eq!(
            (&change["user"], &change["attributedKind"]),
            (&json!("mock-user-001"), &json!("user"))
        );
        assert_eq!(
            change["executedBy"],
            json!({"id": "mock-user-001", "kind": "user"})
        );
    }
    assert!(reported[0].get("transactionId").is_none());
    assert_eq!(reported[1]["transactionId"], making);
    let before = rest
        .get(&format!("/api/entity/{id}/changes?pointInTime={then}"))
        .await;
    assert_eq!(before.ok().as_array().map(Vec::len), Some(1));

    // It does not come back, and is listed only as of then.
    rest.put(&format!("/api/entity/JSON/{id}"), r#"{"n":2}"#)
        .await
        .refused(404, "ENTITY_NOT_FOUND");
    rest.delete(&format!("/api/entity/{id}"))
        .await
        .refused(404, "ENTITY_NOT_FOUND");
    assert_eq!(rest.get("/api/entity/doc/1").await.ok(), json!([]));
    let listed = rest
        .get(&format!("/api/entity/doc/1?pointInTime={then}"))
        .await
        .ok();
    assert_eq!(listed[0]["meta"]["id"], id);
}

#[tokio::test]
async fn what_does_not_exist_has_no_history_and_no_change_of_an_unknown_kind() {
    const KIND: &str = "EntityChangesMetadataGetRequest";
    let cyoda: &[(&str, &str)] = &[("INTERLOCK_COMPAT", "cyoda-0.8")];
    for (settings, is_cyoda) in [(&[][..], false), (cyoda, true)] {
        let server = Server::with(settings);
        let (connection, rest) = (server.connect().await, server.rest());
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let id = create(&connection, &model, json!({"n": 1})).await;
        let unknown = "00000000-0000-0000-0000-000000000000";
        for asked in [
            json!({"entityId": unknown}),
            json!({"entityId": "no id"}),
            json!({"entityId": id, "pointInTime": "2001-01-01T00:00:00Z"}),
        ] {
            let event = request(KIND, "r1", asked.clone());
            let answered = connection.streaming("entitySearchCollection", event, &[]);
            match answered.await {
                Err(status) => {
                    assert!(!is_cyoda, "{status}");
                    assert_eq!(status.code(), tonic::Code::NotFound, "{asked}");
                    assert!(status.message().starts_with("ENTITY_NOT_FOUND: "));
                }
                Ok(answers) => {
                    assert!(is_cyoda, "{answers:?}");
                    assert_eq!(answers.len(), 1);
                    assert_missing(&payload_of(&answers[0]));
                }
            }
            let (answers, end) = connection.all(KIND, asked.clone()).await;
            assert_eq!(answers.len(), 1);
            assert_missing(&answers[0]);
            assert_eq!(code(&end), "ENTITY_NOT_FOUND");
        }
        let said = rest.get(&format!("/api/entity/{unknown}/changes")).await;
        said.refused(404, "ENTITY_NOT_FOUND");
    }
}

/// That this is the answer about an entity that there is none of.
fn assert_missing(answer: &Value) {
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(code(answer), "ENTITY_NOT_FOUND");
    assert!(answer.get("changeMeta").is_none(), "{answer}");
}
