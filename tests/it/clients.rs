//! Clients that requests have made (`rest.md` §7).

use interlock::event::AttributeValue;
use serde_json::{Value, json};

use crate::support::{
    Connection, Rest, Server, code, create, iam, locked_model, payload_of, request,
};

/// Makes a client; its name and its secret.
async fn made(rest: &Rest) -> (String, String) {
    let made = rest.post("/api/clients", "").await.ok();
    (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    )
}

/// The names of the clients of a tenant that requests have made.
async fn listed(rest: &Rest) -> Vec<String> {
    let listed = rest.get("/api/clients").await.ok();
    let names = listed.as_array().expect("a list").iter();
    names
        .map(|client| iam::text(&client["clientId"]))
        .filter(|name| name != iam::FIRST.0)
        .collect()
}

async fn connection(server: &Server, token: &str) -> Connection {
    let bearer = format!("Bearer {token}");
    server.connect_as(&[("authorization", &bearer)]).await
}

#[tokio::test]
async fn a_client_that_is_made_gets_tokens_and_calls_as_itself() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let made = rest.post("/api/clients", "").await.ok();
    let (id, secret) = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    assert_eq!(
        made,
        json!({"client_id": id, "client_secret": secret, "grant_type": "client_credentials",
            "client_secret_expires_at": 0, "roles": ["ROLE_M2M"]})
    );
    let is_documented = |letter: char| letter.is_ascii_digit() || ('A'..='V').contains(&letter);
    assert!(id.len() == 16 && id.chars().all(is_documented), "{id}");

    let token = iam::token(&server.rest(), &id, &secret).await;
    let (claims, _) = iam::claims(&token);
    assert_eq!(
        (
            &claims["sub"],
            &claims["caas_user_id"],
            &claims["caas_org_id"],
            &claims["scopes"]
        ),
        (
            &json!(id),
            &json!(id),
            &json!(iam::TENANT),
            &json!(["ROLE_M2M"])
        )
    );
    assert!(claims.get("user_roles").is_none(), "{claims}");
    let account = iam::bearing(&server, &token).get("/api/account").await.ok();
    let info = &account["userAccountInfo"];
    assert_eq!(
        (&info["userId"], &info["legalEntity"]["id"], &info["roles"]),
        (
            &json!(id),
            &json!(iam::TENANT),
            &json!([{"id": "ROLE_M2M"}])
        )
    );
    // It may do what anyone may, and not administer.
    let connection = connection(&server, &token).await;
    let model = locked_model(&connection, "parcel", json!({"a": 1})).await;
    create(&connection, &model, json!({"a": 2})).await;
    assert_eq!(
        connection.fails("ClientsGetRequest", json!({})).await,
        "FORBIDDEN"
    );

    let all = rest.get("/api/clients").await.ok();
    let [first, second] = all.as_array().expect("a list").as_slice() else {
        panic!("{all}")
    };
    assert_eq!(
        (&first["clientId"], &first["roles"]),
        (&json!(iam::FIRST.0), &json!(["ROLE_ADMIN", "ROLE_M2M"]))
    );
    assert_eq!(
        (&second["clientId"], &second["roles"]),
        (&json!(id), &json!(["ROLE_M2M"]))
    );
    assert_eq!(second["creationDate"], second["lastUpdateDate"]);
    assert!(!all.to_string().contains(&secret), "{all}");
}

#[tokio::test]
async fn clients_live_by_events_as_by_paths() {
    let server = Server::with(iam::SETTINGS);
    let first = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
    let connection = connection(&server, &first).await;
    let made = connection.ok("ClientCreateRequest", json!({})).await;
    let id = iam::text(&made["clientId"]);
    assert_eq!(
        (
            &made["grantType"],
            &made["clientSecretExpiresAt"],
            &made["roles"]
        ),
        (
            &json!("client_credentials"),
            &json!(0),
            &json!(["ROLE_M2M"])
        )
    );
    iam::token(&server.rest(), &id, &iam::text(&made["clientSecret"])).await;
    let reset = connection
        .ok("ClientSecretResetRequest", json!({"clientId": id}))
        .await;
    assert_ne!(reset["clientSecret"], made["clientSecret"]);
    iam::token(&server.rest(), &id, &iam::text(&reset["clientSecret"])).await;
    let all = connection.ok("ClientsGetRequest", json!({})).await;
    assert_eq!(all["clients"][1]["clientId"], json!(id), "{all}");
    let deleted = connection
        .ok("ClientDeleteRequest", json!({"clientId": id}))
        .await;
    assert_eq!(deleted["clientId"], json!(id));
    for kind in ["ClientDeleteRequest", "ClientSecretResetRequest"] {
        let gone = connection.fails(kind, json!({"clientId": id})).await;
        assert_eq!(gone, "M2M_CLIENT_NOT_FOUND", "{kind}");
    }
    let all = connection.ok("ClientsGetRequest", json!({})).await;
    assert_eq!(all["clients"].as_array().map(Vec::len), Some(1), "{all}");
}

#[tokio::test]
async fn a_client_that_is_deleted_has_nothing_left() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let (id, secret) = made(&rest).await;
    let token = iam::token(&server.rest(), &id, &secret).await;
    let unused = iam::token(&server.rest(), &id, &secret).await;
    // Once it was looked at, a token is known by heart.
    for _ in 0..2 {
        assert!(iam::is_taken(&server, &token).await);
    }
    let path = format!("/api/clients/{id}");
    assert_eq!(
        rest.delete(&path).await.ok(),
        json!({"message": "M2M client deleted successfully", "clientId": id})
    );
    for token in [&token, &unused] {
        assert!(!iam::is_taken(&server, token).await);
    }
    let said = iam::ask(&server.rest(), &id, &secret).await;
    assert_eq!(
        (said.status.as_u16(), &said.json()["error"]),
        (401, &json!("invalid_client"))
    );
    rest.delete(&path)
        .await
        .refused(404, "M2M_CLIENT_NOT_FOUND");
    rest.put(&format!("{path}/secret"), "")
        .await
        .refused(404, "M2M_CLIENT_NOT_FOUND");
    assert!(listed(&rest).await.is_empty());
}

#[tokio::test]
async fn another_secret_makes_the_one_before_and_its_tokens_worthless() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let (id, mut secret) = made(&rest).await;
    let mut token = iam::token(&server.rest(), &id, &secret).await;
    // Also those of the same second.
    for _ in 0..2 {
        assert!(iam::is_taken(&server, &token).await);
        let reported = rest
            .put(&format!("/api/clients/{id}/secret"), "")
            .await
            .ok();
        assert_eq!(
            (&reported["client_id"], &reported["roles"]),
            (&json!(id), &json!(["ROLE_M2M"]))
        );
        assert!(!iam::is_taken(&server, &token).await);
        let refused = iam::ask(&server.rest(), &id, &secret).await;
        assert_eq!(refused.status, 401);
        secret = iam::text(&reported["client_secret"]);
        token = iam::token(&server.rest(), &id, &secret).await;
    }
    assert!(iam::is_taken(&server, &token).await);
    let all = rest.get("/api/clients").await.ok();
    assert_ne!(all[1]["creationDate"], all[1]["lastUpdateDate"], "{all}");
}

#[tokio::test]
async fn clients_outlive_the_process_and_deleted_ones_do_not() {
    let mut server = Server::on_disk(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let (kept, kept_secret) = made(&rest).await;
    let (gone, gone_secret) = made(&rest).await;
    let (renewed, old_secret) = made(&rest).await;
    let kept_token = iam::token(&server.rest(), &kept, &kept_secret).await;
    let gone_token = iam::token(&server.rest(), &gone, &gone_secret).await;
    let old_token = iam::token(&server.rest(), &renewed, &old_secret).await;
    let reported = rest
        .put(&format!("/api/clients/{renewed}/secret"), "")
        .await
        .ok();
    let new_secret = iam::text(&reported["client_secret"]);
    let new_token = iam::token(&server.rest(), &renewed, &new_secret).await;
    rest.delete(&format!("/api/clients/{gone}")).await.ok();
    let before = rest.get("/api/clients").await.ok();
    server.kill();
    server.restart();

    let rest = iam::admin(&server, iam::TENANT);
    let after = rest.get("/api/clients").await.ok();
    assert_eq!(
        after.as_array().expect("a list")[1..],
        before.as_array().expect("a list")[1..]
    );
    for token in [&kept_token, &new_token] {
        assert!(iam::is_taken(&server, token).await);
    }
    for token in [&gone_token, &old_token] {
        assert!(!iam::is_taken(&server, token).await);
    }
    iam::token(&server.rest(), &kept, &kept_secret).await;
    iam::token(&server.rest(), &renewed, &new_secret).await;
    for (id, secret) in [(&gone, &gone_secret), (&renewed, &old_secret)] {
        assert_eq!(iam::ask(&server.rest(), id, secret).await.status, 401);
    }
}

#[tokio::test]
async fn a_secret_is_returned_once_and_written_nowhere() {
    let mut server = Server::on_disk(&iam::settings(&[("CYODA_LOG_LEVEL", "debug")]));
    let rest = iam::admin(&server, iam::TENANT);
    let (id, first) = made(&rest).await;
    let reported = rest
        .put(&format!("/api/clients/{id}/secret"), "")
        .await
        .ok();
    let second = iam::text(&reported["client_secret"]);
    let token = iam::token(&server.rest(), &id, &second).await;
    iam::ask(&server.rest(), &id, &first).await;
    assert!(iam::is_taken(&server, &token).await);
    server.kill();
    // The search finds what is there.
    assert!(iam::leaks(&server, &id) && iam::leaks(&server, "$argon2id$"));
    for secret in [&first, &second, &token, &iam::FIRST.1.to_owned()] {
        assert!(!iam::leaks(&server, secret));
    }
}

#[tokio::test]
async fn a_tenant_knows_nothing_of_the_clients_of_others() {
    let server = Server::with(iam::SETTINGS);
    let (one, other) = (iam::admin(&server, "one"), iam::admin(&server, "other"));
    let (id, secret) = made(&one).await;
    assert_eq!(listed(&one).await, [id.as_str()]);
    assert_eq!(listed(&other).await, [] as [&str; 0]);
    let nobody = "0123456789ABCDEF";
    for first in [iam::FIRST.0, &id] {
        for (method, rest) in [("DELETE", ""), ("PUT", "/secret")] {
            let reported = |id: &str| format!("/api/clients/{id}{rest}");
            let theirs = other.send(method, &reported(first), "").await;
            let unknown = other.send(method, &reported(nobody), "").await;
            theirs.refused(404, "M2M_CLIENT_NOT_FOUND");
            assert_eq!(theirs.text.replace(first, nobody), unknown.text);
        }
    }
    let token = iam::token(&server.rest(), &id, &secret).await;
    let account = iam::bearing(&server, &token).get("/api/account").await.ok();
    assert_eq!(account["userAccountInfo"]["legalEntity"]["id"], "one");
    // Nor can a token be made elsewhere for a client as one of another tenant.
    let mut claims = iam::claims(&token).0;
    assert!(iam::is_taken(&server, &iam::signed(&claims)).await);
    claims["caas_org_id"] = json!("other");
    assert!(!iam::is_taken(&server, &iam::signed(&claims)).await);
}

#[tokio::test]
async fn the_client_of_the_settings_is_changed_by_them_only() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    for (method, path) in [
        ("DELETE", "/api/clients/first"),
        ("PUT", "/api/clients/first/secret"),
    ] {
        let problem = rest
            .send(method, path, "")
            .await
            .refused(404, "M2M_CLIENT_NOT_FOUND");
        let detail = iam::text(&problem["detail"]);
        assert!(detail.contains("CYODA_BOOTSTRAP_CLIENT_ID"), "{detail}");
    }
    iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
}

#[tokio::test]
async fn clients_administer_only_where_the_settings_say_so() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let path = "/api/clients?withAdminRole=true";
    rest.post(path, "").await.refused(404, "FEATURE_DISABLED");
    made(&rest).await;

    let setting = [("CYODA_IAM_M2M_ADMIN_ROLE_ENABLED", "true")];
    let server = Server::with(&iam::settings(&setting));
    let made = iam::admin(&server, iam::TENANT).post(path, "").await.ok();
    assert_eq!(made["roles"], json!(["ROLE_ADMIN", "ROLE_M2M"]));
    let (id, secret) = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    let token = iam::token(&server.rest(), &id, &secret).await;
    let administers = iam::bearing(&server, &token);
    assert_eq!(listed(&administers).await, [id.as_str()]);
    // Also itself.
    administers.delete(&format!("/api/clients/{id}")).await.ok();
    administers
        .get("/api/clients")
        .await
        .refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn what_names_no_client_or_is_of_the_wrong_type_is_refused() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    rest.post("/api/clients?withAdminRole=maybe", "")
        .await
        .refused(400, "BAD_REQUEST");
    let long = "A".repeat(101);
    for name in ["a.b", "a-b", "%C3%A9", "a%20b", &long] {
        let path = format!("/api/clients/{name}");
        rest.delete(&path).await.refused(400, "BAD_REQUEST");
        rest.put(&format!("{path}/secret"), "")
            .await
            .refused(400, "BAD_REQUEST");
    }
    let first = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
    let connection = connection(&server, &first).await;
    for (kind, payload) in [
        ("ClientCreateRequest", json!({"withAdminRole": "true"})),
        ("ClientCreateRequest", json!({"withAdminRole": 1})),
        ("ClientDeleteRequest", json!({})),
        ("ClientDeleteRequest", json!({"clientId": 7})),
        ("ClientDeleteRequest", json!({"clientId": ""})),
        ("ClientSecretResetRequest", json!({"clientId": ["A"]})),
        ("ClientSecretResetRequest", json!({"clientId": "a/b"})),
    ] {
        let answers = connection
            .ask(request(kind, &connection.fresh_id(), payload.clone()))
            .await;
        let answer = payload_of(&answers[0]);
        assert_eq!(
            (&answer["success"], code(&answer).as_str()),
            (&json!(false), "BAD_REQUEST"),
            "{kind} {payload}"
        );
    }
    assert_eq!(listed(&rest).await, [] as [&str; 0]);
}

#[tokio::test]
async fn an_idempotency_key_is_refused_because_a_secret_is_not_kept() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let (id, secret) = made(&rest).await;
    let keyed = rest.with("idempotency-key", "k");
    let path = format!("/api/clients/{id}");
    keyed
        .post("/api/clients", "")
        .await
        .refused(400, "BAD_REQUEST");
    keyed
        .put(&format!("{path}/secret"), "")
        .await
        .refused(400, "BAD_REQUEST");
    keyed.delete(&path).await.refused(400, "BAD_REQUEST");
    keyed.get("/api/clients").await.ok();
    let first = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
    let connection = connection(&server, &first).await;
    let event = request("ClientCreateRequest", "k1", json!({}))
        .with("idempotencykey", AttributeValue::String("k".into()));
    let answer: Value = payload_of(&connection.ask(event).await[0]);
    assert_eq!(code(&answer), "BAD_REQUEST");
    assert_eq!(listed(&rest).await, [id.as_str()]);
    iam::token(&server.rest(), &id, &secret).await;
}

#[tokio::test]
async fn many_changes_at_once_are_all_made() {
    let server = Server::on_disk(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let some = futures_util::future::join_all((0..8).map(|_| made(&rest))).await;
    let mut names: Vec<_> = some.iter().map(|(name, _)| name.clone()).collect();
    let mut all = listed(&rest).await;
    names.sort();
    all.sort();
    assert_eq!(all, names);
    // Of many that take one away, one has.
    let path = format!("/api/clients/{}", names[0]);
    let gone = futures_util::future::join_all((0..8).map(|_| rest.delete(&path))).await;
    let done = gone.iter().filter(|said| said.status == 200).count();
    assert_eq!(done, 1);
    assert_eq!(listed(&rest).await.len(), 7);
}

#[tokio::test]
async fn many_that_ask_for_tokens_do_not_keep_others_from_their_work() {
    let server = Server::with(iam::SETTINGS);
    let (id, secret) = made(&iam::admin(&server, iam::TENANT)).await;
    let token = iam::token(&server.rest(), &id, &secret).await;
    let rest = server.rest();
    let strangers = (0..300).map(|n| {
        let (rest, name) = (rest.clone(), format!("stranger{n}"));
        tokio::spawn(async move { iam::ask(&rest, &name, "secret").await })
    });
    let strangers: Vec<_> = strangers.collect();
    // All of these have token requests in flight beside them, until the last stranger is answered.
    let mut answers = 0;
    while !strangers.iter().all(tokio::task::JoinHandle::is_finished) {
        iam::bearing(&server, &token).get("/api/account").await.ok();
        answers += 1;
    }
    assert!(answers > 10, "{answers}");
    for said in futures_util::future::join_all(strangers).await {
        let said = said.expect("no panic");
        match said.status.as_u16() {
            401 => assert_eq!(said.json()["error"], "invalid_client"),
            503 => {
                assert_eq!(said.json()["error"], "temporarily_unavailable");
                assert_eq!(said.headers["retry-after"], "1");
            }
            other => panic!("{other}: {}", said.text),
        }
    }
    iam::token(&server.rest(), &id, &secret).await;
}

#[tokio::test]
async fn there_are_no_clients_while_authentication_is_mocked() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let somebody = server.rest().with("x-mock-roles", "ROLE_M2M");
    for (method, path) in [
        ("GET", "/api/clients"),
        ("POST", "/api/clients"),
        ("POST", "/api/clients?withAdminRole=true"),
        ("DELETE", "/api/clients/A"),
        ("PUT", "/api/clients/A/secret"),
    ] {
        server
            .rest()
            .send(method, path, "")
            .await
            .refused(501, "NOT_IMPLEMENTED");
        somebody
            .send(method, path, "")
            .await
            .refused(403, "FORBIDDEN");
    }
}
