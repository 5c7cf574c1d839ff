//! The token with which a member joins the transaction in which it is called (`grpc.md` §10).

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::Error;
use crate::clock::Timestamp;
use crate::id::{self, TransactionId};
use crate::storage::NodeRow;

/// Signs and verifies tokens. A process that is alone has a new key each time, because no
/// transaction outlives its process; the nodes of a cluster have one, and a token names its node.
pub(super) struct Signer {
    key: Hmac<Sha256>,
    node: NodeRow,
}

/// The claims of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) transaction: TransactionId,
    /// The nesting depth of the call.
    pub(super) level: usize,
    /// The number of the attempt.
    pub(super) attempt: u64,
}

/// The content of a token.
#[derive(Serialize, Deserialize)]
struct Claims {
    /// The node on which the transaction is open.
    n: String,
    /// The transaction.
    t: String,
    /// The nesting depth of the call.
    l: usize,
    /// The attempt of the call.
    a: u64,
    /// When the token expires, in seconds since 1970.
    e: i64,
}

/// The name of the only node.
const ALONE: &str = "standalone";

/// How tokens name a node.
fn name(node: NodeRow) -> String {
    if node == NodeRow::ALONE {
        ALONE.to_owned()
    } else {
        node.0.to_string()
    }
}

fn node(name: &str) -> Option<NodeRow> {
    if name == ALONE {
        return Some(NodeRow::ALONE);
    }
    name.parse().ok().map(NodeRow)
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// Signs as a node. `key` is that of a cluster.
    pub(super) fn new(node: NodeRow, key: Option<[u8; 32]>) -> Self {
        let key = key.unwrap_or_else(id::secret);
        Self {
            key: Hmac::new_from_slice(&key).expect("any length of key will do"),
            node,
        }
    }

    /// The node that signs.
    pub(super) const fn node(&self) -> NodeRow {
        self.node
    }

    pub(super) fn sign(&self, ticket: Ticket, now: Timestamp, life: Duration) -> String {
        let life = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
        let claims = Claims {
            n: name(self.node),
            t: ticket.transaction.to_string(),
            l: ticket.level,
            a: ticket.attempt,
            e: (now.millis() / 1_000)
                .saturating_add(life)
                .saturating_add(1),
        };
        let claims = serde_json::to_vec(&claims).unwrap_or_default();
        let signature = self
            .key
            .clone()
            .chain_update(&claims)
            .finalize()
            .into_bytes();
        format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(claims),
            URL_SAFE_NO_PAD.encode(signature)
        )
    }

    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<Ticket, Error> {
        self.read(token, now).map(|(_, ticket)| ticket)
    }

    /// What a token says, and the node that has signed it.
    pub(super) fn read(&self, token: &str, now: Timestamp) -> Result<(NodeRow, Ticket), Error> {
        let decode = |text: &str| {
            URL_SAFE_NO_PAD
                .decode(text)
                .map_err(|_| Error::TokenMalformed)
        };
        let (claims, signature) = token.split_once('.').ok_or(Error::TokenMalformed)?;
        let (claims, signature) = (decode(claims)?, decode(signature)?);
        self.key
            .clone()
            .chain_update(&claims)
            .verify_slice(&signature)
            .map_err(|_| Error::TokenMalformed)?;
        let claims: Claims = serde_json::from_slice(&claims).map_err(|_| Error::TokenMalformed)?;
        if claims.e <= now.millis() / 1_000 {
            return Err(Error::TokenExpired);
        }
        let ticket = Ticket {
            transaction: claims.t.parse().map_err(|_| Error::TokenMalformed)?,
            level: claims.l,
            attempt: claims.a,
        };
        Ok((node(&claims.n).ok_or(Error::TokenMalformed)?, ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_of_this_server_that_has_not_expired_is_taken() {
        let signer = Signer::new(NodeRow::ALONE, None);
        let ticket = Ticket {
            transaction: TransactionId::fresh(),
            level: 2,
            attempt: 7,
        };
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let token = signer.sign(ticket, at(100), Duration::from_secs(90));
        assert_eq!(signer.verify(&token, at(189)).ok(), Some(ticket));
        assert!(matches!(
            signer.verify(&token, at(191)),
            Err(Error::TokenExpired)
        ));
        let (claims, signature) = token.split_once('.').expect("two parts");
        let forged = URL_SAFE_NO_PAD.encode(r#"{"n":"standalone","t":"00000000-0000-0000-0000-000000000000","l":0,"a":0,"e":99999999999}"#);
        for bad in [
            "",
            ".",
            "x",
            claims,
            &format!("{forged}.{signature}"),
            &format!("{claims}.{claims}"),
            &format!("{token}="),
        ] {
            assert!(
                matches!(signer.verify(bad, at(100)), Err(Error::TokenMalformed)),
                "{bad}"
            );
        }
        assert!(matches!(
            Signer::new(NodeRow::ALONE, None).verify(&token, at(100)),
            Err(Error::TokenMalformed)
        ));
    }

    #[test]
    fn a_node_of_a_cluster_understands_the_tokens_of_the_others() {
        let (one, other) = (NodeRow(3), NodeRow(4));
        let ticket = Ticket {
            transaction: TransactionId::fresh(),
            level: 0,
            attempt: 1,
        };
        let now = Timestamp::from_micros(0);
        let token = Signer::new(one, Some([7; 32])).sign(ticket, now, Duration::from_secs(9));
        let read = Signer::new(other, Some([7; 32])).read(&token, now);
        assert_eq!(read.ok(), Some((one, ticket)));
        assert!(
            Signer::new(other, Some([8; 32]))
                .verify(&token, now)
                .is_err()
        );
    }
}
