//! What opens a stream between nodes without being one of them.

use futures_util::StreamExt as _;
use interlock::event::{frame::Frame, proto::peers::peers_client::PeersClient};
use prost::Message as _;
use tonic::Status;

use super::{node, until_said};
use crate::support::{Server, backend, database::Database, wait::until};

#[derive(Clone, PartialEq, prost::Message)]
struct Hello {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(int64, tag = "2")]
    number: i64,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(bytes = "vec", tag = "4")]
    nonce: Vec<u8>,
}

fn hello(name: &str, version: &str) -> Hello {
    Hello {
        version: version.to_owned(),
        number: 7,
        name: name.to_owned(),
        nonce: vec![1; 32],
    }
}

/// How a node refuses what says that.
async fn greet(server: &Server, hello: &Hello) -> Status {
    let address = format!("http://{}", server.grpc);
    let mut client = PeersClient::connect(address).await.expect("connects");
    let hello = Frame(hello.encode_to_vec().into());
    let said_by_it = futures_util::stream::iter([hello]).chain(futures_util::stream::pending());
    let answers = client.link(said_by_it).await.expect("a stream");
    let mut answers = answers.into_inner();
    let welcome = answers.message().await.expect("an answer");
    welcome.expect("a welcome");
    answers.message().await.expect_err("refused")
}

#[tokio::test]
async fn a_node_of_another_version_is_refused_by_name() {
    let database = Database::new(backend::migrate);
    let server = node(&database, "a");
    let status = greet(&server, &hello("newer", "99.0.0")).await;
    for part in ["newer", "99.0.0", env!("CARGO_PKG_VERSION")] {
        assert!(status.message().contains(part), "{status}");
    }
    until_said(&server, "99.0.0").await;
}

#[tokio::test]
async fn who_is_refused_fills_the_log_neither_with_lines_nor_with_long_ones() {
    let database = Database::new(backend::migrate);
    let mut server = node(&database, "a");
    let endless = "n".repeat(60_000);
    for hello in [hello(&endless, "99.0.0"), hello("newer", &endless)] {
        let status = greet(&server, &hello).await;
        assert!(status.message().len() < 200, "{status}");
    }
    for _ in 0..20 {
        greet(&server, &hello("newer", "99.0.0")).await;
    }
    server.stop().await;
    let refused = || {
        let log = server.log.lock().expect("no panic");
        let lines = log
            .iter()
            .filter(|line| line.contains("a node was refused"));
        lines.cloned().collect::<Vec<_>>()
    };
    until("the lines are read", async || refused().len() >= 10).await;
    let lines = refused();
    assert_eq!(lines.len(), 10, "{lines:?}");
    for line in lines {
        assert!(line.contains("address=127.0.0.1"), "{line}");
        assert!(line.len() < 1_000, "{line}");
    }
}
