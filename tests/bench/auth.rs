//! What it takes to know who bears a token: a unary call where tokens are looked at, beside the
//! very same call where nobody looks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use interlock::auth::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;
use tonic::metadata::{Ascii, MetadataValue};

use crate::{
    Plan,
    load::{Measured, Recorder},
    message::{event, succeeded},
    process::{Client, Process, folder},
};

pub(crate) const NAME: &str = "auth";

const KEY: &str = include_str!("../keys/signing.pem");

/// How many calls one service is sent before it is the other's turn: fewer than a busy machine
/// would notice.
const TURN: usize = 50;

/// How many tokens are shown for the first time.
const FRESH: usize = 200;

/// What was measured: the median of each round, in seconds, where tokens are looked at and where
/// they are not; all rounds together; and the median of a call with a token never seen before.
pub(crate) struct Outcome {
    pub(crate) looked_at: Vec<f64>,
    pub(crate) ignored: Vec<f64>,
    pub(crate) loads: [Measured; 2],
    pub(crate) fresh: Duration,
}

impl Outcome {
    /// What looking at a token adds, of each round, in microseconds and in order of size.
    pub(crate) fn added(&self) -> Vec<f64> {
        let pairs = self.looked_at.iter().zip(&self.ignored);
        let mut added: Vec<f64> = pairs
            .map(|(looked_at, ignored)| (looked_at - ignored) * 1e6)
            .collect();
        added.sort_by(f64::total_cmp);
        added
    }
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folders = [folder(), folder()];
    let settings = [("CYODA_IAM_MODE", "jwt"), ("CYODA_JWT_SIGNING_KEY", KEY)];
    let takes_tokens = Process::service_with(folders[0].path(), plan, &settings);
    let mocked = Process::service(folders[1].path(), plan);
    let mut clients = [takes_tokens.client().await, mocked.client().await];
    let sign = signer();
    let bearer = sign(0);
    let mut outcome: Option<Outcome> = None;
    for _ in 0..plan.rounds {
        let [looked_at, ignored] = in_turns(&mut clients, &bearer, plan).await;
        let median = |load: &Measured| load.latency(0.5).as_secs_f64();
        let (with, without) = (median(&looked_at), median(&ignored));
        outcome = Some(match outcome.take() {
            None => Outcome {
                looked_at: vec![with],
                ignored: vec![without],
                loads: [looked_at, ignored],
                fresh: Duration::ZERO,
            },
            Some(mut so_far) => {
                so_far.looked_at.push(with);
                so_far.ignored.push(without);
                let [known, other] = so_far.loads;
                so_far.loads = [known.and(&looked_at), other.and(&ignored)];
                so_far
            }
        });
    }
    let mut first = Vec::with_capacity(FRESH);
    for n in 1..=FRESH {
        let bearer = sign(n);
        let began = Instant::now();
        call(&mut clients[0], &bearer).await;
        first.push(began.elapsed());
    }
    first.sort();
    let outcome = outcome.expect("a round");
    Outcome {
        fresh: first[FRESH / 2],
        ..outcome
    }
}

/// Both services in turns, until the time is up.
async fn in_turns(
    clients: &mut [Client; 2],
    bearer: &MetadataValue<Ascii>,
    plan: &Plan,
) -> [Measured; 2] {
    let mut recorders = [(); 2].map(|()| Recorder::new(plan.service, 1));
    'round: loop {
        for (client, recorder) in clients.iter_mut().zip(&mut recorders) {
            for _ in 0..TURN {
                let Some(began) = recorder.begin() else {
                    break 'round;
                };
                call(client, bearer).await;
                recorder.record(began);
            }
        }
    }
    recorders.map(Recorder::finish)
}

/// A call that touches nothing but who is calling.
async fn call(client: &mut Client, bearer: &MetadataValue<Ascii>) {
    let payload = r#"{"id":"1"}"#.to_owned();
    let mut request = tonic::Request::new(event("AccountGetRequest", "1", payload, []));
    let metadata = request.metadata_mut();
    metadata.insert("authorization", bearer.clone());
    let answer = client.entity_search(request).await.expect("an answer");
    succeeded(answer.into_inner());
}

/// Signs tokens, each of which is another by its number.
fn signer() -> impl Fn(usize) -> MetadataValue<Ascii> {
    let public = SigningKey::parse(KEY).expect("a key");
    let header = Header {
        kid: Some(public.public().name.to_string()),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(KEY.as_bytes()).expect("a key");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    let now = now.as_secs();
    move |number| {
        let claims = json!({"sub": "bench", "iss": "cyoda", "caas_org_id": "bench",
            "scopes": ["ROLE_M2M"], "iat": now, "exp": now + 86_400, "jti": number.to_string()});
        let token = encode(&header, &claims, &key).expect("signed");
        format!("Bearer {token}").parse().expect("text")
    }
}
