//! Bounds of what the server of a database sends.
//!
//! The drivers believe a server: they make room for a message of the length that it announces, and
//! for as many columns.

/// The most bytes that a server may send for one statement, and for the making of a connection: a
/// result with a few bytes of the protocol for each of its own.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// How many bytes of parameters a server of `PostgreSQL` may report to one connection, all of which
/// the driver keeps.
const PARAMETERS_MAX: usize = 256 << 10;

/// The same of a connection that is used again, and how many bytes in all.
const REUSED_PARAMETERS_MAX: usize = 64 << 10;
const REUSED_BYTES_MAX: usize = BYTES_MAX;

/// What is read of a message before the rest of it is skipped.
const HEAD: usize = 5;

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Postgres,
    Mysql,
}

/// Why nothing more is taken from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    TooMuch,
    Other(String),
}

impl Broken {
    pub(super) fn reason(&self) -> String {
        match self {
            Self::TooMuch => {
                format!("the server sends more than {BYTES_MAX} bytes for one statement")
            }
            Self::Other(reason) => reason.clone(),
        }
    }
}

/// The messages of a connection, as far as they have been received.
#[derive(Debug)]
pub(super) struct Frames {
    protocol: Protocol,
    head: [u8; HEAD],
    /// How much of the head is there.
    filled: usize,
    /// How many bytes the message still has after its head.
    left: usize,
    /// Whether a client of `MySQL` has logged in.
    is_ready: bool,
    /// How many bytes there were, and how many of them of parameters of `PostgreSQL`.
    bytes: usize,
    parameters: usize,
}

impl Frames {
    pub(super) const fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            head: [0; HEAD],
            filled: 0,
            left: 0,
            is_ready: false,
            bytes: 0,
            parameters: 0,
        }
    }

    /// Whether the driver may have kept so much of the connection that another one is better.
    pub(super) const fn are_many(&self) -> bool {
        self.bytes > REUSED_BYTES_MAX || self.parameters > REUSED_PARAMETERS_MAX
    }

    /// Looks at the next bytes, before the driver has them.
    pub(super) fn check(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        while let Some((first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.filled] = *first;
            self.filled += 1;
            bytes = rest;
            if self.filled == HEAD {
                self.filled = 0;
                self.left = self.rest_of_message()?;
            }
        }
        Ok(())
    }

    /// How many bytes the message has after its head.
    fn rest_of_message(&mut self) -> Result<usize, Broken> {
        let invalid = || Broken::Other("the server sends what is not of its protocol".to_owned());
        let [first, .., last] = self.head;
        let four = |from: usize| [0, 1, 2, 3].map(|index| self.head[from + index]);
        // The length of `PostgreSQL` counts its own four bytes; that of `MySQL`, of three bytes
        // before a number, the byte after them.
        let (length, counted) = match self.protocol {
            Protocol::Postgres => (u32::from_be_bytes(four(1)), 4),
            Protocol::Mysql => (u32::from_le_bytes(four(0)) & 0xff_ffff, 1),
        };
        let length = usize::try_from(length).map_err(|_| Broken::TooMuch)?;
        let rest = length.checked_sub(counted).ok_or_else(invalid)?;
        if rest > BYTES_MAX {
            return Err(Broken::TooMuch);
        }
        if self.protocol == Protocol::Postgres && first == b'S' {
            self.parameters += length;
            if self.parameters > PARAMETERS_MAX {
                return Err(Broken::TooMuch);
            }
        }
        if self.protocol == Protocol::Mysql {
            // A number of columns above 65,535. No row of a prepared statement begins so, and no
            // end of rows is as long.
            if self.is_ready && ((last == 0xfd && length >= 4) || (last == 0xfe && length >= 9)) {
                return Err(invalid());
            }
            self.is_ready |= last == 0;
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(protocol: Protocol, messages: &[&[u8]]) -> Result<(), Broken> {
        let whole = messages.concat();
        let mut frames = Frames::new(protocol);
        let at_once = frames.check(&whole);
        let mut frames = Frames::new(protocol);
        let bytewise = whole.iter().try_for_each(|byte| frames.check(&[*byte]));
        assert_eq!(at_once, bytewise);
        at_once
    }

    #[test]
    fn a_message_of_postgresql_has_a_bounded_length() {
        let notice: &[u8] = b"N\0\0\0\x06ab";
        assert_eq!(checked(Protocol::Postgres, &[notice, notice]), Ok(()));
        let huge: &[u8] = b"R\x7f\xff\xff\xf0";
        let came = checked(Protocol::Postgres, &[notice, huge]);
        assert_eq!(came, Err(Broken::TooMuch));
        let short = checked(Protocol::Postgres, &[b"R\0\0\0\x03"]);
        assert!(matches!(short, Err(Broken::Other(_))), "{short:?}");
    }

    #[test]
    fn parameters_are_bounded() {
        let mut frames = Frames::new(Protocol::Postgres);
        let parameter = b"S\0\0\0\x10name\0value\0\0";
        let is_checked = |frames: &mut Frames| frames.check(parameter).is_ok();
        let usual = (0..100).all(|_| is_checked(&mut frames));
        assert!(usual && !frames.are_many());
        let count = (0..100_000).take_while(|_| is_checked(&mut frames)).count();
        assert!(count < PARAMETERS_MAX / 16 && frames.are_many());
    }

    #[test]
    fn a_message_of_mysql_has_a_bounded_length_and_number_of_columns() {
        // Another way to log in begins as a large number does.
        let switch: &[u8] = b"\x09\0\0\x02\xfeaaaaaaaa";
        let logged_in: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
        let end: &[u8] = b"\x07\0\0\x05\xfe\0\0\x22\0\0\0";
        let columns: &[u8] = b"\x03\0\0\x01\xfc\0\x10";
        let usual = [switch, logged_in, columns, end];
        assert_eq!(checked(Protocol::Mysql, &usual), Ok(()));
        let huge = checked(Protocol::Mysql, &[b"\xff\xff\xff\0\x0a"]);
        assert_eq!(huge, Err(Broken::TooMuch));
        let empty = checked(Protocol::Mysql, &[b"\0\0\0\0\0"]);
        assert!(matches!(empty, Err(Broken::Other(_))), "{empty:?}");
        for many in [
            &b"\x09\0\0\x01\xfe\0\0\0\0\x10\0\0\0"[..],
            b"\x04\0\0\x01\xfd\xff\xff\xff",
        ] {
            let came = checked(Protocol::Mysql, &[logged_in, many]);
            assert!(matches!(came, Err(Broken::Other(_))), "{came:?}");
        }
    }
}
