//! Direct search (`search.md`).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Connection, Server, code, create, locked_model};

async fn films(connection: &Connection) -> Value {
    let sample = json!({"title": "x", "year": 1999, "rating": 7.5, "tags": ["a"], "cast": [{"name": "x", "age": 1}], "on": true, "day": "2020-01-01", "IMDB Rating": 1.5});
    let model = locked_model(connection, "film", sample).await;
    for (title, year, rating, tags, on) in [
        ("Alien", 1979, json!(8.5), json!(["space", "horror"]), true),
        ("Brazil", 1985, json!(7.9), json!([]), false),
        ("Cube", 1997, json!(null), json!(["horror"]), true),
    ] {
        let data = json!({"title": title, "year": year, "rating": rating, "tags": tags, "on": on, "cast": [{"name": title, "age": year - 1900}], "day": format!("{year}-06-01"), "IMDB Rating": 1});
        create(connection, &model, data).await;
    }
    model
}

async fn titles(connection: &Connection, payload: Value) -> Vec<String> {
    let (entities, end) = connection.all("EntitySearchRequest", payload).await;
    assert_eq!(end["success"], true, "{end}");
    entities
        .iter()
        .map(|entity| {
            entity["payload"]["data"]["title"]
                .as_str()
                .expect("a title")
                .to_owned()
        })
        .collect()
}

fn simple(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

#[tokio::test]
async fn what_satisfies_the_condition_is_found_in_the_order_of_ids() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = films(&connection).await;
    let and =
        |conditions: Value| json!({"type": "group", "operator": "AND", "conditions": conditions});
    let not =
        |condition: Value| json!({"type": "group", "operator": "NOT", "conditions": [condition]});
    for (condition, found) in [
        (and(json!([])), vec!["Alien", "Brazil", "Cube"]),
        (
            simple("$.year", "GREATER_THAN", json!(1980)),
            vec!["Brazil", "Cube"],
        ),
        (
            simple("year", "BETWEEN_INCLUSIVE", json!([1979, 1985])),
            vec!["Alien", "Brazil"],
        ),
        (
            simple("$.rating", "NOT_EQUAL", json!(1)),
            vec!["Alien", "Brazil"],
        ),
        (simple("$.rating", "IS_NULL", json!(0)), vec!["Cube"]),
        (
            simple("$.tags[*]", "EQUALS", json!("horror")),
            vec!["Alien", "Cube"],
        ),
        (simple("$.tags", "EQUALS", json!("space")), vec!["Alien"]),
        (
            simple("$.cast[*].age", "LESS_THAN", json!(80)),
            vec!["Alien"],
        ),
        (
            simple("$.cast[0].name", "ICONTAINS", json!("UB")),
            vec!["Cube"],
        ),
        (simple("$.day", "LESS_THAN", json!("1985")), vec!["Alien"]),
        (
            simple("$['IMDB Rating']", "EQUALS", json!(1.0)),
            vec!["Alien", "Brazil", "Cube"],
        ),
        (simple("$.title", "LIKE", json!("%l_en")), vec!["Alien"]),
        (
            simple("$.title", "IN", json!(["Cube", "Alien"])),
            vec!["Alien", "Cube"],
        ),
        (
            simple("state", "EQUALS", json!("CREATED")),
            vec!["Alien", "Brazil", "Cube"],
        ),
        (
            and(json!([
                simple("$.on", "EQUALS", json!(true)),
                not(simple("$.year", "EQUALS", json!(1979)))
            ])),
            vec!["Cube"],
        ),
        (
            json!({"type": "lifecycle", "field": "state", "operatorType": "NOT_EQUAL", "value": "CREATED"}),
            vec![],
        ),
    ] {
        assert_eq!(
            titles(&connection, json!({"model": model, "condition": condition})).await,
            found,
            "{condition}"
        );
    }
}

#[tokio::test]
async fn a_limit_that_was_sent_cuts_off_and_one_that_was_not_guards() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = films(&connection).await;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let search = |extra: Value| {
        let mut payload = json!({"model": model, "condition": everything});
        payload
            .as_object_mut()
            .expect("members")
            .extend(extra.as_object().expect("members").clone());
        payload
    };
    assert_eq!(
        titles(&connection, search(json!({"limit": 2}))).await,
        ["Alien", "Brazil"]
    );
    let desc = json!([{"path": "year", "desc": true}]);
    assert_eq!(
        titles(&connection, search(json!({"limit": 2, "orderBy": desc}))).await,
        ["Cube", "Brazil"]
    );
    let (events, _) = connection
        .all(
            "EntitySearchRequest",
            search(json!({"limit": 2, "limitExceeded": "FAIL"})),
        )
        .await;
    assert_eq!(code(&events[0]), "SEARCH_RESULT_LIMIT");
    for limit in [0, -1, 10_001] {
        let (events, _) = connection
            .all("EntitySearchRequest", search(json!({"limit": limit})))
            .await;
        assert_eq!(code(&events[0]), "BAD_REQUEST", "{limit}");
    }
    let payloads: Vec<_> = (0..1_000)
        .map(|n| json!({"model": model, "data": {"year": n}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    let (events, end) = connection
        .all("EntitySearchRequest", search(json!({})))
        .await;
    assert_eq!(
        (events.len(), code(&end).as_str()),
        (1, "SEARCH_RESULT_LIMIT")
    );
    let (events, _) = connection
        .all("EntitySearchRequest", search(json!({"limit": 10_000})))
        .await;
    assert_eq!(events.len(), 1_003);
}

#[tokio::test]
async fn results_are_sorted_with_missing_values_last() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = films(&connection).await;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    for (order, found) in [
        (json!([{"path": "rating"}]), ["Brazil", "Alien", "Cube"]),
        (
            json!([{"path": "$.rating", "desc": true}]),
            ["Alien", "Brazil", "Cube"],
        ),
        (
            json!([{"path": "on"}, {"path": "year", "desc": true}]),
            ["Brazil", "Cube", "Alien"],
        ),
        (
            json!([{"path": "creationDate", "source": "meta", "desc": true}, {"path": "title", "desc": true}]),
            ["Cube", "Brazil", "Alien"],
        ),
    ] {
        let listed = titles(
            &connection,
            json!({"model": model, "condition": everything, "orderBy": order}),
        )
        .await;
        // Entities made in one millisecond are equal by creation date.
        let mut sorted = listed.clone();
        sorted.sort();
        assert_eq!(sorted, ["Alien", "Brazil", "Cube"]);
        assert_eq!(listed, found, "{order}");
    }
    for order in [
        json!([{"path": "tags"}]),
        json!([{"path": "nothing"}]),
        json!([{"path": "year"}, {"path": "$.year", "desc": true}]),
        json!([{"path": "colour", "source": "meta"}]),
    ] {
        let (events, _) = connection
            .all(
                "EntitySearchRequest",
                json!({"model": model, "condition": everything, "orderBy": order}),
            )
            .await;
        assert_eq!(code(&events[0]), "INVALID_FIELD_PATH", "{order}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_search_is_checked_in_one_order_by_both_protocols() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let odd = simple("$.n", "SOUNDS_LIKE", json!(1));
    for (condition, sort, limit, expected) in [
        (
            json!({"type": "fancy"}),
            "n:up",
            0,
            "BAD_REQUEST: invalid condition: unknown condition type",
        ),
        (everything.clone(), "n:up", 0, "INVALID_FIELD_PATH: "),
        (odd.clone(), "n:up", 1, "INVALID_FIELD_PATH: "),
        (everything, "n", 0, "BAD_REQUEST: limit is 0"),
        (odd.clone(), "n", 0, "BAD_REQUEST: limit is 0"),
        (
            odd.clone(),
            "n",
            1,
            "BAD_REQUEST: invalid condition: unknown operator",
        ),
    ] {
        let path = format!("/api/search/direct/doc/1?sort={sort}&limit={limit}");
        let problem = rest.post(&path, condition.to_string()).await.json();
        let detail = problem["detail"].as_str().expect("a text");
        let search =
            json!({"model": model, "condition": condition, "orderBy": [sort], "limit": limit});
        let (mut answers, end) = connection.all("EntitySearchRequest", search).await;
        answers.push(end);
        let message = answers[0]["error"]["message"].as_str().expect("a text");
        assert!(detail.starts_with(expected), "{detail}");
        assert_eq!(detail, message);
    }
    let search = json!({"model": model, "condition": odd});
    let (_, end) = connection.all("EntitySearchRequest", search).await;
    let message = end["error"]["message"].as_str().expect("a text");
    assert!(message.contains(", IS_NULL, "), "{message}");
    assert!(!message.contains("CHANGED"), "{message}");
}

#[tokio::test]
async fn the_number_of_sort_keys_is_a_setting() {
    for (setting, max) in [("2", 2), ("20", 20), ("0", 16)] {
        let server = Server::with(&[("CYODA_SEARCH_MAX_SORT_KEYS", setting)]);
        let rest = server.rest();
        let names = (0..21).map(|n| format!("k{n}")).collect::<Vec<_>>();
        let sample: serde_json::Map<_, _> = names.iter().map(|n| (n.clone(), json!(1))).collect();
        rest.lock_model("doc", &Value::from(sample).to_string())
            .await;
        let all = r#"{"type":"group","operator":"AND","conditions":[]}"#;
        for kind in ["direct", "async"] {
            let path = |keys: usize| {
                let keys: Vec<_> = names[..keys].iter().map(|n| format!("sort={n}")).collect();
                format!("/api/search/{kind}/doc/1?{}", keys.join("&"))
            };
            assert_eq!(rest.post(&path(max), all).await.status, 200, "{setting}");
            let more = rest.post(&path(max + 1), all).await;
            more.refused(400, "INVALID_FIELD_PATH");
        }
    }
}

/// Only comparisons and ranges are checked against the types of the model (`search.md` §4).
#[tokio::test]
async fn an_operand_of_another_type_in_a_list_matches_nothing() {
    for profile in ["documented", "cyoda-0.8"] {
        let server = Server::with(&[("INTERLOCK_COMPAT", profile)]);
        let (connection, rest) = (server.connect().await, server.rest());
        let sample = json!({"title": "x", "n": 1, "list": [1]});
        let model = locked_model(&connection, "doc", sample).await;
        for (title, n, list) in [("A", 1, json!([1, 2])), ("B", 2, json!([2]))] {
            let data = json!({"title": title, "n": n, "list": list});
            create(&connection, &model, data).await;
        }
        let array = |member: &str, values: Value| json!({"type": "array", "jsonPath": "$.list", member: values});
        let created = |operator: &str| json!({"type": "lifecycle", "field": "creationDate", "operatorType": operator, "value": ["soon"]});
        for (condition, found) in [
            (array("values", json!([1, "x"])), vec![]),
            (array("values", json!([null, "x"])), vec![]),
            (array("value", json!([1, "x"])), vec!["A"]),
            (simple("$.n", "IN", json!(["x", 1])), vec!["A"]),
            (simple("$.n", "IN", json!(["x"])), vec![]),
            (simple("$.n", "NOT_IN", json!(["x", 1])), vec!["B"]),
            (simple("$.n", "NOT_IN", json!(["x"])), vec!["A", "B"]),
            (created("IN"), vec![]),
            (created("NOT_IN"), vec!["A", "B"]),
        ] {
            let search = json!({"model": model, "condition": condition});
            assert_eq!(titles(&connection, search).await, found, "{condition}");
            let text = condition.to_string();
            let direct = rest.post("/api/search/direct/doc/1", text.clone()).await;
            assert_eq!(direct.text.lines().count(), found.len(), "{direct:?}");
            rest.post("/api/search/async/doc/1", text).await.ok();
        }
        let ranged = simple("$.n", "BETWEEN", json!([1, "x"]));
        for condition in [simple("$.n", "EQUALS", json!("x")), ranged] {
            let search = json!({"model": model, "condition": condition});
            let refused = connection.all("EntitySearchRequest", search).await.0;
            assert_eq!(code(&refused[0]), "CONDITION_TYPE_MISMATCH", "{condition}");
        }
    }
}

#[tokio::test]
async fn bad_conditions_are_refused_with_their_codes() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = films(&connection).await;
    let nested = |levels: usize| {
        (0..levels).fold(
            simple("$.year", "EQUALS", json!(1)),
            |inner, _| json!({"type": "group", "operator": "AND", "conditions": [inner]}),
        )
    };
    for (condition, expected) in [
        (simple("$.colour", "EQUALS", json!(1)), "INVALID_FIELD_PATH"),
        (simple("$.cast", "EQUALS", json!(1)), "INVALID_FIELD_PATH"),
        (
            simple("$.year", "EQUALS", json!("abc")),
            "CONDITION_TYPE_MISMATCH",
        ),
        (
            simple("$.year", "EQUALS", json!({"a": 1})),
            "INVALID_CONDITION",
        ),
        (
            simple("$.title", "MATCHES_PATTERN", json!("(")),
            "INVALID_CONDITION",
        ),
        (
            json!({"type": "lifecycle", "field": "creationDate", "operatorType": "GREATER_THAN", "value": "soon"}),
            "CONDITION_TYPE_MISMATCH",
        ),
        (
            json!({"type": "lifecycle", "field": "colour", "operatorType": "EQUALS", "value": "x"}),
            "INVALID_FIELD_PATH",
        ),
    ] {
        let (events, _) = connection
            .all(
                "EntitySearchRequest",
                json!({"model": model, "condition": condition}),
            )
            .await;
        let got = if events.is_empty() {
            "nothing".to_owned()
        } else {
            code(&events[0])
        };
        assert_eq!(got, expected, "{condition}");
    }
    assert!(
        titles(
            &connection,
            json!({"model": model, "condition": nested(50)})
        )
        .await
        .is_empty()
    );
    for condition in [
        json!({}),
        json!([]),
        json!({"type": "fancy"}),
        simple("$.year", "SOUNDS_LIKE", json!(1)),
        simple("$.year", "BETWEEN", json!([1])),
        nested(51),
    ] {
        let answer = connection
            .call(
                "EntitySearchRequest",
                json!({"model": model, "condition": condition}),
            )
            .await;
        assert_eq!(code(&answer), "BAD_REQUEST", "{condition}");
    }
}

#[tokio::test]
async fn a_search_sees_the_past_as_it_was() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let (a, b) = (
        create(&connection, &model, json!({"n": 1})).await,
        create(&connection, &model, json!({"n": 2})).await,
    );
    let then = crate::support::get(&connection, &b).await["meta"]["lastUpdateTime"]
        .as_str()
        .expect("a time")
        .trim_end_matches('Z')
        .to_owned();
    let (seconds, fraction) = then.split_once('.').unwrap_or((&then, ""));
    let then = format!("{seconds}.{fraction:0<6}001Z");
    connection
        .ok(
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": a, "data": {"n": 5}}}),
        )
        .await;
    connection
        .ok("EntityDeleteRequest", json!({"entityId": b}))
        .await;
    create(&connection, &model, json!({"n": 1})).await;
    let found = async |n: i64, at: Option<&str>| {
        let mut payload = json!({"model": model, "condition": simple("$.n", "EQUALS", json!(n))});
        if let Some(at) = at {
            payload["pointInTime"] = json!(at);
        }
        connection.all("EntitySearchRequest", payload).await.0.len()
    };
    assert_eq!(
        [
            found(1, None).await,
            found(2, None).await,
            found(5, None).await
        ],
        [1, 0, 1]
    );
    assert_eq!(
        [
            found(1, Some(&then)).await,
            found(2, Some(&then)).await,
            found(5, Some(&then)).await
        ],
        [1, 1, 0]
    );
}

#[tokio::test]
async fn a_search_that_begins_after_an_answer_sees_what_was_answered() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let check = async |n: i64| {
        create(&connection, &model, json!({"n": n})).await;
        let (found, _) = connection
            .all(
                "EntitySearchRequest",
                json!({"model": model, "condition": simple("$.n", "EQUALS", json!(n))}),
            )
            .await;
        assert_eq!(found.len(), 1, "{n}");
    };
    futures_util::future::join_all((0..100).map(check)).await;
}

#[tokio::test]
async fn a_pattern_is_compared_with_so_many_entities_and_no_more() {
    let server = Server::with(&[("CYODA_SQLITE_SEARCH_SCAN_LIMIT", "20")]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"n": 1, "s": "x"})).await;
    let items: Vec<_> = (0..50)
        .map(|n| json!({"model": model, "data": {"n": n, "s": format!("s{n}")}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": items}),
        )
        .await;
    let group = |operator: &str, conditions: Value| json!({"type": "group", "operator": operator, "conditions": conditions});
    let pattern = simple("$.s", "MATCHES_PATTERN", json!("s.*7"));
    let few = simple("$.n", "LESS_THAN", json!(20));
    let most = simple("$.n", "LESS_THAN", json!(21));
    for (condition, refused) in [
        (pattern.clone(), true),
        (group("AND", json!([pattern, few])), false),
        (group("AND", json!([pattern, most])), true),
        (group("OR", json!([pattern, most])), true),
        (
            group(
                "OR",
                json!([pattern, simple("$.n", "LESS_THAN", json!(30))]),
            ),
            false,
        ),
        (
            group(
                "NOT",
                json!([pattern, simple("$.n", "GREATER_THAN", json!(5))]),
            ),
            false,
        ),
        // SQL could say these.
        (simple("$.s", "LIKE", json!("s%7")), false),
        (simple("$.s", "ICONTAINS", json!("S")), false),
    ] {
        let search = json!({"model": model, "condition": condition, "limit": 100});
        let (events, end) = connection.all("EntitySearchRequest", search).await;
        assert_eq!(end["success"] != true, refused, "{condition} {end}");
        if refused {
            assert_eq!(code(&events[0]), "SCAN_BUDGET_EXHAUSTED");
        }
    }
    // Whatever asks, and through whichever API.
    let rest = server.rest();
    let said = rest
        .post("/api/search/direct/parcel/1", pattern.to_string())
        .await;
    said.refused(400, "SCAN_BUDGET_EXHAUSTED");
    let grouped = json!({"groupBy": ["state"], "condition": pattern}).to_string();
    let said = rest.post("/api/entity/stats/parcel/1/query", grouped).await;
    said.refused(400, "SCAN_BUDGET_EXHAUSTED");
    let said = rest
        .send("DELETE", "/api/entity/parcel/1", pattern.to_string())
        .await;
    said.refused(400, "SCAN_BUDGET_EXHAUSTED");
}

#[tokio::test]
async fn a_field_that_documents_may_still_get_is_sorted_by_as_missing() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"n": 1})).await;
    for n in 0..3 {
        create(&connection, &model, json!({"n": n})).await;
    }
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let order = json!([{"path": "later"}, {"path": "n", "desc": true}]);
    let search = json!({"model": model, "condition": everything, "orderBy": order});
    let (events, _) = connection.all("EntitySearchRequest", search.clone()).await;
    assert_eq!(code(&events[0]), "INVALID_FIELD_PATH");
    let level = json!({"model": model, "changeLevel": "STRUCTURAL"});
    connection
        .ok("EntityModelSetChangeLevelRequest", level)
        .await;
    let (entities, end) = connection.all("EntitySearchRequest", search).await;
    assert_eq!(end["success"], true, "{end}");
    let numbers: Vec<_> = entities
        .iter()
        .map(|entity| &entity["payload"]["data"]["n"])
        .collect();
    assert_eq!(numbers, [2, 1, 0]);
    // What cannot be one field is not taken for one that is missing everywhere.
    let rest = server.rest();
    for (sort, is_taken) in [
        ("later", true),
        ("later:desc", true),
        ("%24%5B%27IMDB%20Rating%27%5D", true),
        ("later,n", false),
        ("later:asc:desc", false),
        ("%20later", false),
    ] {
        let path = format!("/api/search/direct/parcel/1?sort={sort}");
        let said = rest.post(&path, everything.to_string()).await;
        if is_taken {
            assert_eq!(said.text.lines().count(), 3, "{sort}: {said:?}");
        } else {
            said.refused(400, "INVALID_FIELD_PATH");
        }
    }
}

/// The first value of a field may look like a time although the field holds ids
/// (`models-and-entities.md` §3.4), and of some fields only null was seen.
#[tokio::test]
async fn a_field_is_searched_for_everything_that_it_may_hold() {
    for is_cyoda in [false, true] {
        let profile = if is_cyoda { "cyoda-0.8" } else { "documented" };
        let server = Server::with(&[("INTERLOCK_COMPAT", profile)]);
        let (connection, rest) = (server.connect().await, server.rest());
        let sample = json!({"orderId": "1001", "at": "12:30", "ref": null, "tags": []});
        let model = locked_model(&connection, "order", sample).await;
        create(&connection, &model, json!({"orderId": "1001", "ref": null})).await;
        if !is_cyoda {
            create(
                &connection,
                &model,
                json!({"orderId": "ORD-5", "at": "soon"}),
            )
            .await;
        }
        let conditions = [
            (simple("$.orderId", "EQUALS", json!("ORD-5")), 1),
            (simple("$.orderId", "GREATER_THAN", json!("ORD")), 1),
            (
                simple("$.orderId", "BETWEEN_INCLUSIVE", json!(["ORD-5", "ORD-6"])),
                1,
            ),
            (simple("$.at", "EQUALS", json!("soon")), 1),
            (simple("$.ref", "EQUALS", json!("E-1")), 0),
            (simple("$.ref", "GREATER_THAN", json!(5)), 0),
            (simple("$.tags", "EQUALS", json!("q")), 0),
            (simple("$.tags[*]", "NOT_EQUAL", json!("q")), 0),
        ];
        for (condition, found) in &conditions {
            let text = condition.to_string();
            let direct = rest.post("/api/search/direct/order/1", text.clone()).await;
            let job = rest.post("/api/search/async/order/1", text).await;
            let payload = json!({"model": model, "condition": condition});
            let (events, end) = connection.all("EntitySearchRequest", payload).await;
            if is_cyoda {
                direct.refused(400, "CONDITION_TYPE_MISMATCH");
                job.refused(400, "CONDITION_TYPE_MISMATCH");
                assert_eq!(code(&events[0]), "CONDITION_TYPE_MISMATCH", "{condition}");
                continue;
            }
            job.ok();
            assert_eq!(end["success"], true, "{condition}: {end}");
            assert_eq!(events.len(), *found, "{condition}");
            assert_eq!(
                direct.text.lines().count(),
                *found,
                "{condition}: {direct:?}"
            );
        }
        let any = simple("$.orderId", "IN", json!(["ORD-5", "1001"]));
        let payload = json!({"model": model, "condition": any});
        let (found, _) = connection.all("EntitySearchRequest", payload).await;
        assert_eq!(found.len(), if is_cyoda { 1 } else { 2 });
        let delete = json!({"model": model, "condition": conditions[0].0});
        let deleted = connection.call("EntityDeleteAllRequest", delete).await;
        if is_cyoda {
            assert_eq!(code(&deleted), "CONDITION_TYPE_MISMATCH");
        } else {
            assert_eq!(deleted["numDeleted"], 1, "{deleted}");
        }
    }
}

#[tokio::test]
async fn texts_and_numbers_are_compared_as_documented() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "odd", json!({"s": "x"})).await;
    for text in ["ΟΔΟΣΤΡΩΜΑ", "οδος", "ſ", "٣٤", "34", "[]", "a%b"] {
        create(&connection, &model, json!({"s": text})).await;
    }
    rest.lock_model("huge", r#"{"v":1e99999999999999999998}"#)
        .await;
    for literal in ["1e99999999999999999998", "10e99999999999999999998"] {
        let entity = format!(r#"{{"v":{literal}}}"#);
        rest.post("/api/entity/JSON/huge/1", entity).await.ok();
    }
    for (model, path, operator, value, found) in [
        ("odd", "$.s", "ICONTAINS", r#""ΟΔΟΣ""#, 1),
        ("odd", "$.s", "IEQUALS", r#""ΟΔΟΣ""#, 1),
        ("odd", "$.s", "IEQUALS", r#""S""#, 1),
        ("odd", "$.s", "INOT_STARTS_WITH", r#""ΟΔ""#, 5),
        ("odd", "$.s", "MATCHES_PATTERN", r#""\\d+""#, 1),
        ("odd", "$.s", "MATCHES_PATTERN", r#""[[]]""#, 1),
        ("odd", "$.s", "MATCHES_PATTERN", r#""\\Qa%\\Eb""#, 1),
        ("huge", "$.v", "EQUALS", "1e99999999999999999998", 1),
        ("huge", "$.v", "EQUALS", "1e99999999999999999999", 1),
        ("huge", "$.v", "GREATER_THAN", "1e99999999999999999998", 1),
        ("huge", "$.v", "EQUALS", "1e99999999999999999997", 0),
    ] {
        let condition = format!(
            r#"{{"type":"simple","jsonPath":"{path}","operatorType":"{operator}","value":{value}}}"#
        );
        let path = format!("/api/search/direct/{model}/1");
        let said = rest.post(&path, condition.clone()).await;
        assert_eq!(said.text.lines().count(), found, "{condition}: {said:?}");
    }
}

/// A search that takes very long: many comparisons with each of many entities.
async fn endless(connection: &Connection) -> (Value, Value) {
    let model = locked_model(connection, "parcel", json!({"s": "x"})).await;
    let items: Vec<_> = (0..4_000)
        .map(|n| json!({"model": model, "data": {"s": format!("{n} {}", "x".repeat(200))}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": items}),
        )
        .await;
    let leaves: Vec<_> = (0..2_000)
        .map(|n| simple("$.s", "ICONTAINS", json!(format!("y{n}"))))
        .collect();
    let condition = json!({"type": "group", "operator": "OR", "conditions": leaves});
    (model, condition)
}

/// Waits until the server works, or until it rests, as its time on a core shows.
async fn becomes(server: &Server, is_busy: bool, when: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let before = server.worked();
        tokio::time::sleep(Duration::from_millis(200)).await;
        if (server.worked() - before > 3) == is_busy {
            return;
        }
        let what = if is_busy {
            "does not begin"
        } else {
            "continues"
        };
        assert!(Instant::now() < deadline, "the search {what} {when}");
    }
}

#[tokio::test]
async fn a_long_search_stops_when_nobody_wants_it_and_holds_nobody_up() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let (model, condition) = endless(&connection).await;
    let search = json!({"model": model, "condition": condition, "limit": 10});
    let asked = || crate::support::request("EntitySearchRequest", "endless", search.clone());
    // On a stream, cancelled; others are served meanwhile.
    let _answers = connection.begin(asked()).await;
    becomes(&server, true, "on a stream").await;
    for n in 0..5 {
        create(&connection, &model, json!({"s": format!("meanwhile {n}")})).await;
    }
    becomes(&server, true, "while others are served").await;
    connection.cancel("endless").await;
    becomes(&server, false, "after a cancel").await;
    // On a stream that ends.
    let mut leaving = crate::support::client(server.grpc).await;
    let (outbox, frames) = tokio::sync::mpsc::unbounded_channel();
    outbox.send(asked().into()).expect("open");
    let frames = tokio_stream::wrappers::UnboundedReceiverStream::new(frames);
    let answers = leaving.start_streaming(frames).await.expect("a stream");
    becomes(&server, true, "on a stream of its own").await;
    drop((leaving, outbox, answers));
    becomes(&server, false, "after the stream has ended").await;
    // Through REST, where the connection is closed.
    for path in [
        "/api/search/direct/parcel/1",
        "/api/search/direct/parcel/1?explain=true",
    ] {
        let (rest, body) = (server.rest(), condition.to_string());
        let asking = tokio::spawn(async move { rest.post(path, body).await.status });
        becomes(&server, true, path).await;
        asking.abort();
        let _ = asking.await;
        becomes(&server, false, "after its connection was closed").await;
    }
    // And through a unary call.
    let call = connection.streaming("entitySearchCollection", asked(), &[]);
    tokio::select! {
        _ = call => panic!("the search is not long enough"),
        () = becomes(&server, true, "as a call") => {}
    }
    becomes(&server, false, "after the call was cancelled").await;
}

#[tokio::test]
async fn whatever_search_begins_after_an_answer_sees_what_was_answered_also_under_load() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let rest = server.rest();
    let model = locked_model(&connection, "doc", json!({"n": 1, "s": "x"})).await;
    let ids = async |condition: Value| {
        let asked = json!({"model": model, "condition": condition, "limit": 10});
        let (found, end) = connection.all("EntitySearchRequest", asked).await;
        assert_eq!(end["success"], true, "{end}");
        let id = |entity: &Value| {
            entity["payload"]["meta"]["id"]
                .as_str()
                .map(ToOwned::to_owned)
        };
        found.iter().filter_map(id).collect::<Vec<_>>()
    };
    let follow = async |n: usize| {
        let (first, second) = (n * 2, n * 2 + 1);
        let id = create(
            &connection,
            &model,
            json!({"n": first, "s": format!("s{n}")}),
        )
        .await;
        let both = [
            simple("$.n", "EQUALS", json!(first)),
            simple("$.s", "EQUALS", json!(format!("s{n}"))),
        ];
        for condition in both {
            assert_eq!(ids(condition).await, [id.as_str()], "made");
        }
        let update = json!({"entityId": id, "data": {"n": second, "s": format!("s{n}")}});
        let update = json!({"dataFormat": "JSON", "payload": update});
        connection.ok("EntityUpdateRequest", update).await;
        let path = "/api/search/direct/doc/1";
        for (n, count) in [(first, 0), (second, 1)] {
            let condition = simple("$.n", "EQUALS", json!(n)).to_string();
            let found = rest.post(path, condition).await;
            let is_as_reported = found.status == 200 && found.text.lines().count() == count;
            assert!(is_as_reported, "changed: {count} of {n}: {found:?}");
        }
        let counted =
            json!({"groupBy": ["$.n"], "condition": simple("$.n", "EQUALS", json!(second))});
        let counted = rest
            .post("/api/entity/stats/doc/1/query", counted.to_string())
            .await
            .ok();
        assert_eq!(counted[0]["count"], 1);
        if n.is_multiple_of(5) {
            let asked =
                json!({"model": model, "condition": simple("$.n", "EQUALS", json!(second))});
            let job = connection.ok("EntitySnapshotSearchRequest", asked).await;
            let job = json!({"snapshotId": job["status"]["snapshotId"]});
            let status = loop {
                let status =
                    connection.ok("SnapshotGetStatusRequest", job.clone()).await["status"].clone();
                if status["status"] != "RUNNING" {
                    break status;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            };
            assert_eq!(status["entitiesCount"], 1, "{status}");
        }
        connection
            .ok("EntityDeleteRequest", json!({"entityId": id}))
            .await;
        assert!(
            ids(simple("$.n", "EQUALS", json!(second))).await.is_empty(),
            "deleted"
        );
    };
    // Meanwhile an index is made, is filled, and is there.
    let index = async {
        let set = json!({"model": model, "indexes": [{"path": "$.n"}]});
        connection.ok("EntityModelSetIndexesRequest", set).await;
    };
    let hundred = |from: usize| futures_util::future::join_all((from..from + 100).map(follow));
    hundred(0).await;
    tokio::join!(hundred(100), index);
    hundred(200).await;
}
