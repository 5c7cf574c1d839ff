//! Attacks by connections: idle, half-sent, trickling.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use super::{Finding, Outcome};
use crate::stage::Stage;

/// The address of the attacker, which is not that of the innocent client: limits may be by address.
pub(super) const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// How long a connection is waited for.
const CONNECT_MAX: Duration = Duration::from_secs(5);

pub(super) async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind(SocketAddr::new(ATTACKER, 0)).ok()?;
    let connected = tokio::time::timeout(CONNECT_MAX, socket.connect(to)).await;
    connected.ok()?.ok()
}

pub(super) async fn half_sent_bodies(stage: Stage) -> Outcome {
    let head = "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1048576\r\n\r\n";
    let mut request = head.as_bytes().to_vec();
    request.resize(request.len() + 1_000_000, b'x');
    let sent = AtomicUsize::new(0);
    let measured = stage
        .beside(async |stop| {
            let begun = (0..300).map(|_| async {
                let mut stream = connect(stage.addresses.http).await?;
                if stream.write_all(&request).await.is_ok() {
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                Some(stream)
            });
            let begun = tokio::select! {
                begun = join_all(begun) => begun,
                () = stop.cancelled() => Vec::new(),
            };
            stop.cancelled().await;
            drop(begun);
        })
        .await;
    let sent = sent.into_inner();
    Outcome {
        measured,
        findings: vec![Finding::note(format!("{sent} bodies were taken in"))],
    }
}

pub(super) async fn idle(stage: Stage) -> Outcome {
    let opened = AtomicUsize::new(0);
    let open = AtomicUsize::new(0);
    let measured = stage
        .beside(async |stop| {
            let mut held = Vec::new();
            for _ in 0..1_100 {
                if stop.is_cancelled() {
                    break;
                }
                if let Some(stream) = connect(stage.addresses.http).await {
                    held.push(stream);
                }
            }
            opened.store(held.len(), Ordering::Relaxed);
            stop.cancelled().await;
            let is_open = |stream: &&TcpStream| {
                let read = stream.try_read(&mut [0; 64]);
                read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
            };
            open.store(held.iter().filter(is_open).count(), Ordering::Relaxed);
        })
        .await;
    let (opened, open) = (opened.into_inner(), open.into_inner());
    Outcome {
        measured,
        findings: vec![Finding::note(format!(
            "{opened} connections were opened, {open} of them were open in the end"
        ))],
    }
}

/// Within which time the server has to close what is idle or unfinished.
const CLOSED_WITHIN: Duration = Duration::from_secs(75);

const TOKEN_HEAD: &[u8] = b"POST /api/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1000\r\n\r\ngrant_type=";
const HEALTH: &[u8] = b"GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n";
const READY: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n";
const HALF_HEAD: &[u8] = b"GET /api/account HTTP/1.1\r\nhost: x\r\nx-a: ";
/// The preface of HTTP/2, and settings that say nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

pub(super) async fn slow(stage: Stage) -> Outcome {
    let at = stage.addresses;
    let kinds: &[(&str, SocketAddr, &[u8], bool)] = &[
        ("REST, nothing sent", at.http, b"", false),
        ("REST, half a head", at.http, HALF_HEAD, false),
        ("REST, a head that trickles", at.http, HALF_HEAD, true),
        ("REST, half a body", at.http, TOKEN_HEAD, false),
        ("REST, a body that trickles", at.http, TOKEN_HEAD, true),
        ("REST, idle after a request", at.http, HEALTH, false),
        ("gRPC, nothing sent", at.grpc, b"", false),
        (
            "gRPC, a part of the preface",
            at.grpc,
            &PREFACE[..10],
            false,
        ),
        ("gRPC, idle after the preface", at.grpc, PREFACE, false),
        ("admin, nothing sent", at.admin, b"", false),
        ("admin, half a head", at.admin, HALF_HEAD, false),
        ("admin, a head that trickles", at.admin, HALF_HEAD, true),
        ("admin, idle after a request", at.admin, READY, false),
    ];
    let findings = Mutex::new(Vec::new());
    let measured = stage
        .beside_for(CLOSED_WITHIN + Duration::from_secs(5), async |_| {
            let all = kinds.iter().map(|(name, to, sent, trickles)| {
                let findings = &findings;
                async move {
                    let took = closed_after(*to, sent, *trickles).await;
                    let finding = if let Some(took) = took {
                        let seconds = took.as_secs_f64();
                        Finding::note(format!("{name}: closed after {seconds:.1} s"))
                    } else {
                        let text = format!("{name}: open after {} s", CLOSED_WITHIN.as_secs());
                        Finding::bound(text, false)
                    };
                    findings.lock().expect("no panic").push(finding);
                }
            });
            join_all(all).await;
        })
        .await;
    Outcome {
        measured,
        findings: findings.into_inner().expect("no panic"),
    }
}

/// How long a connection stays open; none if too long.
async fn closed_after(to: SocketAddr, sent: &[u8], trickles: bool) -> Option<Duration> {
    let mut stream = connect(to).await?;
    let began = Instant::now();
    stream.write_all(sent).await.ok();
    let closing = async {
        let mut buffer = [0; 1_024];
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                read = stream.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return began.elapsed(),
                    Ok(_) => {}
                },
                _ = tick.tick(), if trickles => {
                    if stream.write_all(b"x").await.is_err() {
                        return began.elapsed();
                    }
                }
            }
        }
    };
    tokio::time::timeout(CLOSED_WITHIN, closing).await.ok()
}
