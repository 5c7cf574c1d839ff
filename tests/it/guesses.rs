//! Guesses at secrets keep nobody from tokens but those who guess (`rest.md` §7).

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
};

use crate::support::{Rest, Server, between_looks, iam};

/// How long a client waits for a token beside others who guess. They share the processors, which
/// checking a secret keeps busy, and tests are not built for speed.
const SOON: Duration = Duration::from_secs(5);

async fn made(rest: &Rest) -> (String, String) {
    let made = rest.post("/api/clients", "").await.ok();
    (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    )
}

/// Asks for a token from another address of this machine; the status.
async fn ask_from(from: &str, server: SocketAddr, client: &str, secret: &str) -> u16 {
    let socket = TcpSocket::new_v4().expect("a socket");
    let from: SocketAddr = format!("{from}:0").parse().expect("an address");
    socket.bind(from).expect("this machine has it");
    let mut stream = socket.connect(server).await.expect("a connection");
    let body = "grant_type=client_credentials";
    let request = format!(
        "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: {}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        iam::basic(client, secret),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let status = answer.split(' ').nth(1).expect("a status");
    status.parse().expect("a number")
}

#[tokio::test]
async fn wrong_guesses_lock_out_their_address_and_nobody_else() {
    let server = Server::with(iam::SETTINGS);
    let (id, secret) = made(&iam::admin(&server, iam::TENANT)).await;
    let other = made(&iam::admin(&server, iam::TENANT)).await;
    for (client, secret) in [(id.as_str(), secret.as_str()), iam::FIRST] {
        let guess =
            async |n: usize| ask_from("127.0.0.2", server.http, client, &n.to_string()).await;
        for n in 0..20 {
            assert_eq!(guess(n).await, 401, "{n}");
        }
        assert_eq!(guess(20).await, 429);
        // Also with the right secret: it may have been guessed.
        let theirs = ask_from("127.0.0.2", server.http, client, secret).await;
        assert_eq!(theirs, 429);
        let own = ask_from("127.0.0.3", server.http, client, secret).await;
        assert_eq!(own, 200, "{client}");
        // Nor are other clients at the address of the one who guesses.
        let others = ask_from("127.0.0.2", server.http, &other.0, &other.1).await;
        assert_eq!(others, 200);
    }
}

#[tokio::test]
async fn a_right_secret_forgets_the_wrong_ones_before_it() {
    let server = Server::with(iam::SETTINGS);
    let (id, secret) = made(&iam::admin(&server, iam::TENANT)).await;
    for round in 0..3 {
        for n in 0..15 {
            let said = iam::ask(&server.rest(), &id, &n.to_string()).await;
            assert_eq!(said.status, 401, "{round}: {n}");
        }
        iam::token(&server.rest(), &id, &secret).await;
    }
}

#[tokio::test]
async fn unknown_names_and_wrong_secrets_do_not_keep_clients_from_tokens() {
    let server = Server::with(iam::SETTINGS);
    let admin = iam::admin(&server, iam::TENANT);
    let (id, secret) = made(&admin).await;
    let (known, _) = made(&admin).await;
    let (stop, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let flood: Vec<_> = (0..64)
        .map(|n| {
            let (rest, stop, asked) = (server.rest(), Arc::clone(&stop), Arc::clone(&asked));
            let known = known.clone();
            tokio::spawn(async move {
                let mut turn = 0;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let name = format!("stranger{n}-{turn}");
                    let name = if n % 4 == 0 { &known } else { &name };
                    let said = iam::ask(&rest, name, "guess").await;
                    assert!([401, 429, 503].contains(&said.status.as_u16()), "{said:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    while asked.load(Ordering::Relaxed) < 20 {
        between_looks().await;
    }
    // One that has not asked before, and then one that has.
    for n in 0..5 {
        let begun = Instant::now();
        iam::token(&server.rest(), &id, &secret).await;
        assert!(begun.elapsed() < SOON, "{n}: {:?}", begun.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    for task in flood {
        task.await.expect("no panic");
    }
}
