//! Grouped statistics (`search.md` §8).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, exactly, get, governed_model, locked_model,
    new_entity, processed_by, scene::simple, sync_processor,
};

const PATH: &str = "/api/entity/stats/sale/1/query";

/// Sales in two regions, of which one is a number and one is missing.
async fn sales(connection: &Connection) -> Value {
    let sample = json!({"region": "x", "qty": 1, "price": 1.5, "paid": true, "buyer": {"name": "x"}, "tags": ["x"]});
    let model = locked_model(connection, "sale", sample).await;
    let sales = [
        json!({"region": "eu", "qty": 10, "price": 2.5, "paid": true, "buyer": {"name": "a"}}),
        json!({"region": "eu", "qty": 30, "price": null, "paid": false, "buyer": {"name": "a"}}),
        json!({"region": "us", "qty": 4, "price": 1.0, "paid": true, "tags": ["x"]}),
        json!({"qty": 1}),
    ];
    let payloads: Vec<_> = sales
        .iter()
        .map(|sale| json!({"model": model, "data": sale}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    model
}

#[tokio::test]
async fn entities_are_counted_and_added_up_by_what_they_hold() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = sales(&connection).await;
    // Compared as text: the parser is off by a digit.
    let deviation: Value = serde_json::from_str("14.142135623730951").expect("JSON");
    let key = |values: Value| -> Value {
        let pairs = values.as_object().expect("values").iter();
        pairs
            .map(|(path, value)| json!({"path": path, "value": value}))
            .collect()
    };
    for (query, groups) in [
        (
            json!({"groupBy": ["state"]}),
            json!([{"groupKey": key(json!({"state": "CREATED"})), "count": 4}]),
        ),
        (
            json!({"groupBy": ["$.region"], "aggregations": [
                {"op": "sum", "field": "$.qty", "as": "total"}, {"op": "avg", "field": "$.qty"},
                {"op": "min", "field": "$.price"}, {"op": "max", "field": "qty"},
                {"op": "stdev", "field": "$.qty"}, {"op": "avg", "field": "$.qty"}]}),
            json!([
                {"groupKey": key(json!({"$.region": "eu"})), "count": 2, "aggregations":
                    {"total": 40, "avg_qty": 20, "min_price": 2.5, "max_qty": 30, "stdev_qty": deviation}},
                {"groupKey": key(json!({"$.region": null})), "count": 1, "aggregations":
                    {"total": 1, "avg_qty": 1, "min_price": null, "max_qty": 1, "stdev_qty": null}},
                {"groupKey": key(json!({"$.region": "us"})), "count": 1, "aggregations":
                    {"total": 4, "avg_qty": 4, "min_price": 1, "max_qty": 4, "stdev_qty": null}},
            ]),
        ),
        (
            json!({"groupBy": ["$['buyer']['name']"], "condition": simple("$.paid", "EQUALS", json!(true))}),
            json!([
                {"groupKey": key(json!({"$.buyer.name": null})), "count": 1},
                {"groupKey": key(json!({"$.buyer.name": "a"})), "count": 1},
            ]),
        ),
        (
            json!({"groupBy": ["$.paid"], "limit": 1}),
            json!([{"groupKey": key(json!({"$.paid": "true"})), "count": 2}]),
        ),
        // What is no scalar, and what no entity has.
        (
            json!({"groupBy": ["$.tags"], "aggregations": [{"op": "sum", "field": "$.region"}]}),
            json!([{"groupKey": key(json!({"$.tags": null})), "count": 4, "aggregations": {"sum_region": null}}]),
        ),
        (
            json!({"groupBy": ["$.nothing"], "aggregations": [{"op": "max", "field": "$.nothing", "as": "a \"name\""}]}),
            json!([{"groupKey": key(json!({"$.nothing": null})), "count": 4, "aggregations": {"a \"name\"": null}}]),
        ),
        (
            json!({"groupBy": ["state"], "condition": simple("$.nothing", "EQUALS", json!(1))}),
            json!([]),
        ),
        (
            json!({"groupBy": ["state"], "pointInTime": "2001-01-01T00:00:00Z"}),
            json!([]),
        ),
    ] {
        let said = rest.post(PATH, query.to_string()).await;
        let reported: Value = serde_json::from_str(&said.text).expect("JSON");
        assert_eq!((said.status.as_u16(), &reported), (200, &groups), "{query}");
        let mut payload = query.clone();
        payload["model"] = model.clone();
        let answer = connection.ok("EntityStatsQueryRequest", payload).await;
        assert_eq!(answer["buckets"], groups, "{query}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_reported_in_order() {
    let server = Server::with(&[("CYODA_STATS_GROUP_MAX", "3")]);
    let (connection, rest) = (server.connect().await, server.rest());
    sales(&connection).await;
    let by = json!(["state"]);
    let op = |op: &str, field: &str, name: &str| json!({"op": op, "field": field, "as": name});
    let unknown_field =
        json!({"type": "lifecycle", "field": "colour", "operatorType": "EQUALS", "value": 1});
    let bad_time = json!({"type": "lifecycle", "field": "creationDate", "operatorType": "EQUALS", "value": "soon"});
    for (query, status, code) in [
        (json!([]), 400, "MALFORMED_REQUEST"),
        (json!({"groupBy": by, "order": 1}), 400, "MALFORMED_REQUEST"),
        (json!({"groupBy": by, "id": "x"}), 400, "MALFORMED_REQUEST"),
        (json!({"groupBy": "state"}), 400, "MALFORMED_REQUEST"),
        (
            json!({"groupBy": by, "pointInTime": "soon"}),
            400,
            "MALFORMED_REQUEST",
        ),
        (
            json!({"groupBy": by, "limit": 1.5}),
            400,
            "MALFORMED_REQUEST",
        ),
        (
            json!({"groupBy": by, "aggregations": [{"op": "sum", "path": "$.n"}]}),
            400,
            "MALFORMED_REQUEST",
        ),
        (json!({}), 400, "MISSING_GROUP_BY"),
        (json!({"groupBy": []}), 400, "MISSING_GROUP_BY"),
        (json!({"groupBy": ["$.a[0]"]}), 400, "INVALID_GROUP_BY_PATH"),
        (json!({"groupBy": [""]}), 400, "INVALID_GROUP_BY_PATH"),
        (
            json!({"groupBy": ["$.a", "$['a']"]}),
            400,
            "DUPLICATE_GROUP_BY",
        ),
        (
            json!({"groupBy": by, "aggregations": [op("median", "$.n", "")]}),
            400,
            "INVALID_AGGREGATION_OP",
        ),
        (
            json!({"groupBy": by, "aggregations": [{"field": "$.n"}]}),
            400,
            "INVALID_AGGREGATION_OP",
        ),
        (
            json!({"groupBy": by, "aggregations": [op("sum", "$.n[*]", "")]}),
            400,
            "INVALID_AGGREGATION_FIELD",
        ),
        (
            json!({"groupBy": by, "aggregations": [{"op": "sum"}]}),
            400,
            "INVALID_AGGREGATION_FIELD",
        ),
        (
            json!({"groupBy": by, "aggregations": [op("sum", "$.n", "x"), op("sum", "$.m", "x")]}),
            400,
            "DUPLICATE_AGGREGATION_ALIAS",
        ),
        (json!({"groupBy": by, "limit": 0}), 400, "INVALID_LIMIT"),
        (json!({"groupBy": by, "limit": 4}), 400, "INVALID_LIMIT"),
        (
            json!({"groupBy": by, "condition": {}}),
            400,
            "INVALID_CONDITION",
        ),
        (
            json!({"groupBy": by, "condition": simple("$.qty", "EQUAL", json!(1))}),
            400,
            "INVALID_CONDITION",
        ),
        (
            json!({"groupBy": by, "condition": simple("$.region", "MATCHES_PATTERN", json!("("))}),
            400,
            "INVALID_CONDITION",
        ),
        (
            json!({"groupBy": by, "condition": unknown_field}),
            400,
            "INVALID_FIELD_PATH",
        ),
        (
            json!({"groupBy": by, "condition": bad_time}),
            400,
            "CONDITION_TYPE_MISMATCH",
        ),
        (
            json!({"groupBy": ["$.qty"]}),
            422,
            "GROUP_CARDINALITY_EXCEEDED",
        ),
    ] {
        let said = rest.post(PATH, query.to_string()).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (status, code),
            "{query}: {}",
            said.text
        );
        // Neither a model that is not there nor a condition comes before the query itself.
        let elsewhere = rest
            .post("/api/entity/stats/none/1/query", query.to_string())
            .await;
        let is_of_the_query =
            !code.contains("CONDITION") && code != "INVALID_FIELD_PATH" && status == 400;
        let expected = if is_of_the_query {
            code
        } else {
            "MODEL_NOT_FOUND"
        };
        assert_eq!(elsewhere.problem(), expected, "{query}");
    }
    for body in ["", "{", "{\"groupBy\":[\"state\"]} x"] {
        rest.post(PATH, body)
            .await
            .refused(400, "MALFORMED_REQUEST");
    }
    rest.post(PATH, " ".repeat((10 << 20) + 1))
        .await
        .refused(413, "BAD_REQUEST");
    let three = json!({"groupBy": ["$.region"]});
    assert_eq!(
        rest.post(PATH, three.to_string())
            .await
            .ok()
            .as_array()
            .map(Vec::len),
        Some(3)
    );
}

#[tokio::test]
async fn a_transaction_counts_its_own_changes_unless_it_asks_for_a_time() {
    let server = Server::start();
    let connection = server.connect().await;
    let sale = sales(&connection).await;
    let extra = create(&connection, &sale, json!({"region": "eu", "qty": 1})).await;
    let then = exactly(&get(&connection, &extra).await["meta"]["lastUpdateTime"]);
    let member = Member::join(&server, &[]).await;
    let sample = json!({"n": 1, "now": "x", "then": "x"});
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let doc = governed_model(&connection, "doc", sample, workflow).await;
    member.serve(move |call, connection| {
        let (sale, extra, then) = (sale.clone(), extra.clone(), then.clone());
        async move {
            let token = call.token().to_owned();
            let joined = async |kind: &str, payload: Value| {
                connection
                    .call_with(kind, payload, &[("cyodatxtoken", &token)])
                    .await
            };
            joined("EntityDeleteRequest", json!({"entityId": extra})).await;
            for _ in 0..3 {
                joined(
                    "EntityCreateRequest",
                    new_entity(&sale, &json!({"region": "us"})),
                )
                .await;
            }
            let query = json!({"model": sale, "groupBy": ["$.region"]});
            let now = joined("EntityStatsQueryRequest", query.clone()).await;
            let mut past = query;
            past["pointInTime"] = json!(then);
            let past = joined("EntityStatsQueryRequest", past).await;
            let reported = |answer: &Value| {
                let groups = answer["buckets"].as_array().expect("groups").iter();
                let reported: Vec<_> = groups
                    .map(|group| format!("{}={}", group["groupKey"][0]["value"], group["count"]))
                    .collect();
                reported.join(" ")
            };
            Reply::Data(json!({"n": 1, "now": reported(&now), "then": reported(&past)}))
        }
    });
    let id = create(&connection, &doc, json!({"n": 1})).await;
    let data = get(&connection, &id).await["data"].clone();
    assert_eq!(
        (&data["now"], &data["then"]),
        (
            &json!(r#""us"=4 "eu"=2 null=1"#),
            &json!(r#""eu"=3 null=1 "us"=1"#)
        )
    );
}
