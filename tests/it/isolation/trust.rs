//! Another tenant's providers, trusted keys and exchanges: a fuzzer.
//!
//! One tenant has a provider, a trusted key and clients that exchange. Another one does at random
//! whatever administrators may do: it registers the same provider under the same and other spellings,
//! claims its issuer with documents and keys of its own, takes the names of keys, tries every id that
//! it could have seen, and exchanges what is not its own. After each step the first tenant has what it
//! had, its tokens are its own, and what the other is answered about something of the first is what it
//! is answered about nothing.
//!
//! `INTERLOCK_ISOLATION_SEED` decides what happens, `INTERLOCK_ISOLATION_STEPS` for how long.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Repeat, number_of};
use crate::support::{
    Random, Rest, Said, Server, iam,
    provider::{FIRST, Provider, SECOND},
    token::{STRANGE_KEY, claims_of, signed},
};

const VICTIM: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0001";
const MALLORY: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0002";
const PROVIDERS: &str = "/api/oauth/oidc/providers";
const TRUSTED: &str = "/api/oauth/keys/trusted";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const EXCHANGE: &str = "grant_type=urn:ietf:params:oauth:grant-type:token-exchange";

/// How many steps there are, if it is not said.
const STEPS: usize = 60;

/// A tenant that administers itself, and the client that it exchanges with.
struct Tenant {
    rest: Rest,
    client: (String, String),
}

struct Stage {
    server: Server,
    /// The victim's, with the key `FIRST`, and one of the other's, with what it says.
    provider: Provider,
    fake: Provider,
    victim: Tenant,
    mallory: Tenant,
    /// What the victim has registered.
    registered: String,
    user: String,
}

impl Tenant {
    async fn of(server: &Server, tenant: &str) -> Self {
        let rest = iam::admin(server, tenant);
        let made = rest.post("/api/clients", "").await.ok();
        let client = (
            iam::text(&made["client_id"]),
            iam::text(&made["client_secret"]),
        );
        Self { rest, client }
    }

    async fn exchange(&self, server: &Server, subject: &str) -> Said {
        server
            .rest()
            .with("authorization", &iam::basic(&self.client.0, &self.client.1))
            .with("content-type", "application/x-www-form-urlencoded")
            .post(
                "/api/oauth/token",
                format!("{EXCHANGE}&subject_token={subject}&subject_token_type={JWT}"),
            )
            .await
    }
}

fn subject(tenant: &str, key: &str) -> String {
    signed(&claims_of(tenant, &["ROLE_ADMIN"]), Some(key), STRANGE_KEY)
}

fn jwk(pem: &str) -> Value {
    let key = interlock::auth::SigningKey::parse(pem).expect("a key");
    serde_json::from_str(&key.public().jwk()).expect("JSON")
}

impl Stage {
    async fn set() -> Self {
        let server = Server::with(&iam::settings(&[
            ("CYODA_OIDC_REQUIRE_HTTPS", "false"),
            ("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true"),
            ("CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED", "true"),
        ]));
        let (provider, fake) = (Provider::start().await, Provider::start().await);
        let victim = Tenant::of(&server, VICTIM).await;
        let mallory = Tenant::of(&server, MALLORY).await;
        let body = json!({"wellKnownConfigUri": provider.well_known()}).to_string();
        let registered = iam::text(&victim.rest.post(PROVIDERS, body).await.ok()["id"]);
        let body = json!({"keyId": "theirs", "jwk": jwk(STRANGE_KEY), "audience": "human"});
        victim.rest.post(TRUSTED, body.to_string()).await.ok();
        let user = format!("oidc:{registered}:ann");
        Self {
            server,
            provider,
            fake,
            victim,
            mallory,
            registered,
            user,
        }
    }

    /// The victim has what it had, and its tokens are its own.
    async fn look(&self, step: &str) {
        let token = self.provider.token_with(FIRST, "jti", json!(step));
        let said = iam::bearing(&self.server, &token).get("/api/account").await;
        assert_eq!(said.status, 200, "{step}: {}", said.text);
        let reported = &said.json()["userAccountInfo"];
        assert_eq!(
            (&reported["legalEntity"]["id"], &reported["userId"]),
            (&json!(VICTIM), &json!(self.user)),
            "{step}"
        );
        let listed = self.victim.rest.get(PROVIDERS).await.ok();
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{step}: {listed}");
        assert_eq!(listed[0]["active"], true, "{step}");
        let keys = self.victim.rest.get(TRUSTED).await.ok();
        assert_eq!(keys.as_array().map(Vec::len), Some(1), "{step}: {keys}");
        assert_eq!(keys[0]["active"], true, "{step}");
        let own = subject(VICTIM, "theirs");
        let granted = self.victim.exchange(&self.server, &own).await.ok();
        let token = iam::text(&granted["access_token"]);
        let said = iam::bearing(&self.server, &token).get("/api/account").await;
        let tenant = &said.ok()["userAccountInfo"]["legalEntity"]["id"];
        assert_eq!(tenant, VICTIM, "{step}");
        for path in [PROVIDERS, TRUSTED] {
            let reported = self.mallory.rest.get(path).await.text;
            assert!(!reported.contains(&self.registered), "{step}: {reported}");
            assert!(!reported.contains(VICTIM), "{step}: {reported}");
        }
    }

    /// Something that the other tenant does.
    async fn act(&self, random: &mut Random) -> String {
        let rest = &self.mallory.rest;
        let place = self.provider.well_known();
        let issuer = place.replace("/.well-known/openid-configuration", "");
        match random.below(8) {
            0 | 1 => {
                // The victim's provider, or a document of its own that claims the issuer.
                let own = format!("{}?{}", self.fake.well_known(), random.below(4));
                let same = [place.clone(), format!("{place}?x"), own];
                let uri = random.pick(&same);
                let audiences = [json!([]), json!(["app"]), json!(["else"])];
                let audiences = random.pick(&audiences);
                let body = json!({"wellKnownConfigUri": uri, "issuers": [issuer],
                    "expectedAudiences": audiences});
                let said = rest.post(PROVIDERS, body.to_string()).await;
                // It may have it already.
                assert!([200, 409].contains(&said.status.as_u16()), "{}", said.text);
                format!("registers {body}")
            }
            2 => {
                let sets = [
                    vec![FIRST],
                    vec![(FIRST.0, SECOND.1)],
                    vec![SECOND],
                    Vec::new(),
                ];
                let keys = random.pick(&sets);
                self.fake.rotate(keys);
                rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
                "publishes other keys".to_owned()
            }
            3 => {
                let listed = rest.get(PROVIDERS).await.ok();
                let Some(first) = listed.get(0) else {
                    return "has no provider".to_owned();
                };
                let path = format!("{PROVIDERS}/{}", iam::text(&first["id"]));
                match random.below(3) {
                    0 => rest.delete(&path).await.ok(),
                    1 => rest.post(&format!("{path}/invalidate"), "").await.ok(),
                    _ => rest.post(&format!("{path}/reactivate"), "").await.ok(),
                };
                "changes a provider of its own".to_owned()
            }
            4 => {
                let acts = [
                    ("PATCH", "", r#"{"rolesClaim":"x"}"#),
                    ("DELETE", "", ""),
                    ("POST", "/invalidate", ""),
                    ("POST", "/reactivate", ""),
                ];
                let (method, more, body) = *random.pick(&acts);
                let there = self.registered.clone();
                self.same_as_nothing(PROVIDERS, &there, (method, more, body))
                    .await
            }
            5 => {
                let acts = [
                    ("DELETE", "", ""),
                    ("POST", "/invalidate", ""),
                    (
                        "POST",
                        "/reactivate",
                        r#"{"validTo":"2999-01-01T00:00:00Z"}"#,
                    ),
                ];
                self.same_as_nothing(TRUSTED, "theirs", *random.pick(&acts))
                    .await
            }
            6 => {
                // The name of a key is one tenant's.
                let body = json!({"keyId": "theirs", "jwk": jwk(SECOND.1), "audience": "human"});
                let said = rest.post(TRUSTED, body.to_string()).await;
                assert_eq!(said.problem(), "KEY_OWNED_BY_DIFFERENT_TENANT");
                "takes the name of a key".to_owned()
            }
            _ => {
                // What the victim's key has signed is nothing to another's client, whomever it names.
                let tenant = *random.pick(&[VICTIM, MALLORY]);
                let there = self
                    .mallory
                    .exchange(&self.server, &subject(tenant, "theirs"))
                    .await;
                let nothing = self
                    .mallory
                    .exchange(&self.server, &subject(tenant, "nobodys"))
                    .await;
                assert_eq!(there.status, 400, "{}", there.text);
                assert_eq!(there.text, nothing.text);
                "exchanges what is not its own".to_owned()
            }
        }
    }

    /// What is answered about something of the victim is what is answered about nothing.
    async fn same_as_nothing(
        &self,
        path: &str,
        there: &str,
        (method, more, body): (&str, &str, &str),
    ) -> String {
        let nobodys = if path == PROVIDERS {
            Uuid::nil().to_string()
        } else {
            "nobodys".to_owned()
        };
        let rest = &self.mallory.rest;
        let known = rest
            .send(method, &format!("{path}/{there}{more}"), body.to_owned())
            .await;
        let unknown = rest
            .send(method, &format!("{path}/{nobodys}{more}"), body.to_owned())
            .await;
        assert_eq!(known.status, 404, "{}", known.text);
        assert_eq!(known.text, unknown.text.replace(&nobodys, there));
        format!("{method} {path}/…{more}")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_can_take_or_spoil_the_providers_and_keys_of_another() {
    let seed = number_of("INTERLOCK_ISOLATION_SEED").unwrap_or(1);
    let _repeat = Repeat(seed);
    let mut random = Random::new(seed);
    let steps = number_of("INTERLOCK_ISOLATION_STEPS").map_or(STEPS, |steps| {
        usize::try_from(steps).expect("a number of steps")
    });
    let stage = Stage::set().await;
    stage.look("at first").await;
    for step in 0..steps {
        let done = stage.act(&mut random).await;
        stage.look(&format!("{step}: {done}")).await;
    }
}
