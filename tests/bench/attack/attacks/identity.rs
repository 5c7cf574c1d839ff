//! Attacks on the token endpoint, beside honest requests for tokens.

use std::time::{Duration, Instant};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::join;

use super::{Finding, Outcome, Tally, connections::ATTACKER, hammer};
use crate::{
    caller::{Caller, Said},
    stage::{CLIENT, Stage},
};

const GRANT: &str = "grant_type=client_credentials";

/// An honest request is due so often.
const HONEST_PAUSE: Duration = Duration::from_millis(500);

/// How long an honest request may take: its secret has to be hashed.
const HONEST_MAX: Duration = Duration::from_secs(1);

pub(super) async fn wrong_guesses(stage: Stage) -> Outcome {
    guessed(&stage, 16, |n| (CLIENT.0.to_owned(), format!("guess-{n}"))).await
}

pub(super) async fn unknown_names(stage: Stage) -> Outcome {
    guessed(&stage, 200, |n| {
        (format!("nobody-{n}"), format!("guess-{n}"))
    })
    .await
}

async fn ask(caller: &Caller, client: &str, secret: &str) -> Said {
    let pair = BASE64_STANDARD.encode(format!("{client}:{secret}"));
    caller
        .clone()
        .and("authorization", format!("Basic {pair}"))
        .and(
            "content-type",
            "application/x-www-form-urlencoded".to_owned(),
        )
        .post("/api/oauth/token", GRANT)
        .await
}

async fn guessed(
    stage: &Stage,
    clients: usize,
    guess: impl Fn(usize) -> (String, String),
) -> Outcome {
    let attacker = Caller::from(stage.addresses.http, ATTACKER);
    let owner = Caller::new(stage.addresses.http);
    let (guesses, honest) = (Tally::default(), Tally::default());
    let measured = stage
        .beside(async |stop| {
            let attack = hammer(clients, stop.clone(), &guesses, |n| {
                let (client, secret) = guess(n);
                let attacker = attacker.clone();
                async move { ask(&attacker, &client, &secret).await }
            });
            let honest = async {
                let mut tick = tokio::time::interval(HONEST_PAUSE);
                while !stop.is_cancelled() {
                    tick.tick().await;
                    let began = Instant::now();
                    let said = ask(&owner, CLIENT.0, CLIENT.1).await;
                    honest.note(&said, began.elapsed());
                }
            };
            join(attack, honest).await;
        })
        .await;
    let (served, total) = (honest.count(200), honest.total());
    let slowest = honest.slowest().as_secs_f64();
    let text =
        format!("{served} of {total} honest requests got a token, the slowest in {slowest:.2} s");
    let held = total > 0 && served == total && honest.slowest() <= HONEST_MAX;
    let mut findings = vec![guesses.reported("the guesses"), Finding::bound(text, held)];
    if served < total {
        findings.push(honest.reported("honest requests"));
    }
    Outcome { measured, findings }
}
