//! Sealed messages: encrypted, authenticated, and counted in each direction, so that none can be
//! read, changed, repeated, left out or moved.

use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _, Nonce, aead::Aead as _};

/// One direction of a stream.
pub(super) struct Seal {
    cipher: ChaCha20Poly1305,
    /// How many messages there were. The key is of this stream only, so no count is used twice.
    count: u64,
}

impl Seal {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self {
            cipher: ChaCha20Poly1305::new(&key.into()),
            count: 0,
        }
    }

    fn nonce(&mut self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.count.to_be_bytes());
        self.count += 1;
        nonce.into()
    }

    /// Seals the next message; none if it is too long for any cipher.
    pub(super) fn seal(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let nonce = self.nonce();
        self.cipher.encrypt(&nonce, message).ok()
    }

    /// Opens the next message; none if it is not the next one of this direction.
    pub(super) fn open(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let nonce = self.nonce();
        self.cipher.decrypt(&nonce, sealed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_next_message_can_be_opened() {
        let (mut one, mut other) = (Seal::new([7; 32]), Seal::new([7; 32]));
        let first = one.seal(b"first").expect("sealed");
        let second = one.seal(b"second").expect("sealed");
        assert_eq!(other.open(&first).as_deref(), Some(&b"first"[..]));
        assert_eq!(other.open(&first), None, "repeated");
        let mut late = Seal::new([7; 32]);
        assert_eq!(late.open(&second), None, "out of turn");
        let mut changed = first.clone();
        changed[0] ^= 1;
        assert_eq!(Seal::new([7; 32]).open(&changed), None, "changed");
        assert_eq!(Seal::new([8; 32]).open(&first), None, "another key");
    }
}
