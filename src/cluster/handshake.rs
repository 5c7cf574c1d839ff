//! How two nodes begin a stream: each proves that it has the secret, and both derive the keys of
//! this stream. Nodes of different versions refuse each other by name, and so do nodes of clusters
//! that have the same secret.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use prost::Message as _;
use tokio::{sync::mpsc, time::timeout};

use super::{NAME_BYTES_MAX, Pipe, Refused, Secret, seal::Seal};
use crate::id;

/// The peer has left, without a reason that could be trusted.
const ENDED: &str = "it ended the stream, as a node with another secret does";

/// How long a peer may take for the handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// This node, as it introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Introduction {
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) version: String,
    /// What identifies the database of the cluster; empty if that is not known.
    pub(super) database: String,
}

/// A peer that has proved that it has the secret, and the keys of the stream to it.
pub(super) struct Met {
    pub(super) peer: Introduction,
    /// Seals what this node sends.
    pub(super) seal: Seal,
    /// Opens what the peer sends.
    pub(super) open: Seal,
}

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
    /// Nodes of older releases do not send it.
    #[prost(string, tag = "5")]
    database: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Welcome {
    #[prost(bytes = "vec", tag = "1")]
    hello: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    proof: Vec<u8>,
}

const PROOF_OF_ACCEPTING: &str = "interlock peer: the accepting node";
const PROOF_OF_DIALLING: &str = "interlock peer: the dialling node";
const KEY_TO_ACCEPTING: &str = "interlock peer: to the accepting node";
const KEY_TO_DIALLING: &str = "interlock peer: to the dialling node";

impl Hello {
    fn of(own: &Introduction) -> Self {
        Self {
            version: own.version.clone(),
            number: own.number,
            name: own.name.clone(),
            nonce: id::secret().to_vec(),
            database: own.database.clone(),
        }
    }

    fn check(self, own: &Introduction) -> Result<Introduction, Refused> {
        if self.name.len().max(self.version.len()) > NAME_BYTES_MAX {
            return Err(Refused::Unreadable);
        }
        let peer = Introduction {
            number: self.number,
            name: self.name,
            version: self.version,
            database: self.database,
        };
        if peer.version != own.version {
            return Err(Refused::Version {
                peer: peer.name,
                theirs: peer.version,
                ours: own.version.clone(),
            });
        }
        let is_known = !peer.database.is_empty() && !own.database.is_empty();
        if is_known && peer.database != own.database {
            return Err(Refused::Database { peer: peer.name });
        }
        if peer.number == own.number {
            return Err(Refused::Itself);
        }
        if self.nonce.len() < 16 {
            return Err(Refused::Unreadable);
        }
        Ok(peer)
    }
}

async fn next(pipe: &mut Pipe) -> Result<Bytes, Refused> {
    match timeout(PATIENCE, pipe.incoming.next()).await {
        Ok(Some(Ok(message))) => Ok(message),
        Ok(Some(Err(error))) => Err(Refused::Away(error)),
        Ok(None) => Err(Refused::Away(ENDED.to_owned())),
        Err(_) => Err(Refused::Away(format!("it said nothing for {PATIENCE:?}"))),
    }
}

async fn send(
    outgoing: &mpsc::Sender<Result<Bytes, String>>,
    message: Vec<u8>,
) -> Result<(), Refused> {
    let sent = outgoing.send(Ok(message.into())).await;
    sent.map_err(|_| Refused::Away(ENDED.to_owned()))
}

fn read<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Refused> {
    M::decode(bytes).map_err(|_| Refused::Unreadable)
}

/// Begins a stream that this node has opened.
pub(super) async fn dial(
    pipe: &mut Pipe,
    secret: &Secret,
    own: &Introduction,
) -> Result<Met, Refused> {
    let hello = Hello::of(own).encode_to_vec();
    send(&pipe.outgoing, hello.clone()).await?;
    let welcome: Welcome = read(&next(pipe).await?)?;
    let theirs: Hello = read(&welcome.hello)?;
    let peer = theirs.check(own)?;
    let parts: [&[u8]; 2] = [&hello, &welcome.hello];
    if !secret.is_proof(PROOF_OF_ACCEPTING, &parts, &welcome.proof) {
        return Err(Refused::Secret { peer: peer.name });
    }
    send(
        &pipe.outgoing,
        secret.derive(PROOF_OF_DIALLING, &parts).to_vec(),
    )
    .await?;
    Ok(Met {
        peer,
        seal: Seal::new(secret.derive(KEY_TO_ACCEPTING, &parts)),
        open: Seal::new(secret.derive(KEY_TO_DIALLING, &parts)),
    })
}

/// Begins a stream that a peer has opened.
pub(super) async fn accept(
    pipe: &mut Pipe,
    secret: &Secret,
    own: &Introduction,
) -> Result<Met, Refused> {
    let first = next(pipe).await?;
    let hello = Hello::of(own).encode_to_vec();
    let parts: [&[u8]; 2] = [&first, &hello];
    let theirs: Hello = read(&first)?;
    let checked = theirs.check(own);
    // Also one of another version is answered: it says so on its side, too.
    let proof = match &checked {
        Ok(_) => secret.derive(PROOF_OF_ACCEPTING, &parts).to_vec(),
        Err(_) => Vec::new(),
    };
    let welcome = Welcome {
        hello: hello.clone(),
        proof,
    };
    send(&pipe.outgoing, welcome.encode_to_vec()).await?;
    let peer = checked?;
    let proof = next(pipe).await?;
    if !secret.is_proof(PROOF_OF_DIALLING, &parts, &proof) {
        return Err(Refused::Secret { peer: peer.name });
    }
    Ok(Met {
        peer,
        seal: Seal::new(secret.derive(KEY_TO_DIALLING, &parts)),
        open: Seal::new(secret.derive(KEY_TO_ACCEPTING, &parts)),
    })
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// Two ends of one stream.
    fn pipes() -> (Pipe, Pipe) {
        let (one, to_one) = (mpsc::channel(4), mpsc::channel(4));
        let incoming = |inbox: mpsc::Receiver<Result<Bytes, String>>| {
            stream::unfold(inbox, |mut inbox| async {
                Some((inbox.recv().await?, inbox))
            })
            .boxed()
        };
        let first = Pipe {
            incoming: incoming(to_one.1),
            outgoing: one.0,
        };
        let second = Pipe {
            incoming: incoming(one.1),
            outgoing: to_one.0,
        };
        (first, second)
    }

    fn node(number: i64, name: &str, version: &str) -> Introduction {
        Introduction {
            number,
            name: name.to_owned(),
            version: version.to_owned(),
            database: "d".to_owned(),
        }
    }

    async fn meet(secrets: [&[u8]; 2], versions: [&str; 2]) -> [Result<Met, Refused>; 2] {
        introduce(
            secrets,
            [node(1, "a", versions[0]), node(2, "b", versions[1])],
        )
        .await
    }

    async fn introduce(
        secrets: [&[u8]; 2],
        [first, second]: [Introduction; 2],
    ) -> [Result<Met, Refused>; 2] {
        let (mut one, mut other) = pipes();
        let (a, b) = (Secret::new(secrets[0]), Secret::new(secrets[1]));
        let dialling = async {
            let met = dial(&mut one, &a, &first).await;
            drop(one);
            met
        };
        let (met, accepted) = tokio::join!(dialling, accept(&mut other, &b, &second));
        [met, accepted]
    }

    #[tokio::test]
    async fn nodes_with_one_secret_and_one_version_meet() {
        let [one, other] = meet([b"s", b"s"], ["1", "1"]).await;
        let (mut one, mut other) = (one.expect("met"), other.expect("met"));
        assert_eq!((&*one.peer.name, &*other.peer.name), ("b", "a"));
        let sealed = one.seal.seal(b"hello").expect("sealed");
        assert_eq!(other.open.open(&sealed).as_deref(), Some(&b"hello"[..]));
        let sealed = other.seal.seal(b"hello").expect("sealed");
        assert_eq!(one.open.open(&sealed).as_deref(), Some(&b"hello"[..]));
    }

    #[tokio::test]
    async fn another_secret_or_version_is_refused_by_name() {
        let [one, other] = meet([b"s", b"t"], ["1", "1"]).await;
        let said = one.err().expect("refused").to_string();
        assert!(
            said.contains("node b") && said.contains("CYODA_HMAC_SECRET"),
            "{said}"
        );
        assert!(other.is_err());
        for refused in meet([b"s", b"s"], ["1", "2"]).await {
            let said = refused.err().expect("refused").to_string();
            assert!(
                said.contains("version 1") && said.contains("version 2"),
                "{said}"
            );
        }
    }

    #[tokio::test]
    async fn nodes_of_two_databases_are_refused_and_those_that_do_not_say_theirs_meet() {
        // Both have begun to count at 1.
        let of = |name, database: &str| Introduction {
            database: database.to_owned(),
            ..node(i64::from(database.is_empty()), name, "1")
        };
        for refused in introduce([b"s", b"s"], [of("a", "d"), of("b", "e")]).await {
            assert!(matches!(refused, Err(Refused::Database { .. })));
        }
        for (one, other) in [("d", ""), ("", "d")] {
            for met in introduce([b"s", b"s"], [of("a", one), of("b", other)]).await {
                met.expect("they meet");
            }
        }
    }

    #[tokio::test]
    async fn a_node_does_not_meet_itself() {
        let (mut one, mut other) = pipes();
        let (secret, own) = (Secret::new(b"s"), node(1, "a", "1"));
        let dialling = async {
            let met = dial(&mut one, &secret, &own).await;
            drop(one);
            met
        };
        let (met, accepted) = tokio::join!(dialling, accept(&mut other, &secret, &own));
        for refused in [met, accepted] {
            assert!(matches!(refused, Err(Refused::Itself)));
        }
    }
}
