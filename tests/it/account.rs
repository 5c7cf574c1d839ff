//! Who is calling (`rest.md` §7).

use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn the_mock_caller_is_the_documented_one() {
    let server = Server::start();
    let account = server.rest().get("/api/account").await.ok();
    assert_eq!(
        account,
        json!({"userAccountInfo": {
            "userId": "mock-user-001",
            "userName": "Mock User",
            "legalEntity": {"id": "mock-tenant", "name": "Mock Tenant"},
            "roles": [{"id": "ROLE_ADMIN"}, {"id": "ROLE_M2M"}],
            "currentSubscription": {
                "id": "unlimited", "legalEntityId": "mock-tenant", "status": "ACTIVE", "tierName": "unlimited",
                "periodFrom": "2020-01-01T00:00:00Z", "limits": [],
            },
        }})
    );
    let connection = server.connect().await;
    let answer = connection.ok("AccountGetRequest", json!({})).await;
    assert_eq!(answer["userAccountInfo"], account["userAccountInfo"]);
}

#[tokio::test]
async fn a_chosen_caller_is_reported_as_chosen() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let rest = server
        .rest()
        .with("x-mock-tenant", "acme")
        .with("x-mock-user", "ann")
        .with("x-mock-roles", "");
    let account = &rest.get("/api/account").await.ok()["userAccountInfo"];
    assert_eq!(
        (
            &account["userName"],
            &account["legalEntity"],
            &account["roles"]
        ),
        (
            &json!("ann"),
            &json!({"id": "acme", "name": "acme"}),
            &json!([])
        )
    );
}
