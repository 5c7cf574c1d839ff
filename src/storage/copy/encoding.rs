//! Rows as bytes, the same whichever database they were read from: what is compared, and how a
//! place in a table is written down.

use crate::storage::port::Value;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;
const BYTES: u8 = 3;

/// Adds values to bytes. Different values have different bytes, also one after another.
pub(super) fn encode(values: &[Value], into: &mut Vec<u8>) {
    for value in values {
        match value {
            Value::Null => into.push(NULL),
            Value::Integer(number) => {
                into.push(INTEGER);
                into.extend_from_slice(&number.to_be_bytes());
            }
            Value::Text(text) => sized(TEXT, text.as_bytes(), into),
            Value::Bytes(bytes) => sized(BYTES, bytes, into),
        }
    }
}

fn sized(tag: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(tag);
    into.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    into.extend_from_slice(bytes);
}

/// A key as text.
pub(super) fn place(key: &[Value]) -> String {
    let mut bytes = Vec::new();
    encode(key, &mut bytes);
    hex::encode(bytes)
}

/// The key that was written as text; none if the text is not one.
pub(super) fn key(place: &str) -> Option<Vec<Value>> {
    let bytes = hex::decode(place).ok()?;
    let mut rest = &bytes[..];
    let mut values = Vec::new();
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        values.push(match tag {
            NULL => Value::Null,
            INTEGER => Value::Integer(i64::from_be_bytes(*eight(&mut rest)?)),
            TEXT => Value::Text(String::from_utf8(counted(&mut rest)?.to_vec()).ok()?),
            BYTES => Value::Bytes(counted(&mut rest)?.to_vec()),
            _ => return None,
        });
    }
    Some(values)
}

fn eight<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8; 8]> {
    let (head, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(head)
}

fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(u64::from_be_bytes(*eight(rest)?)).ok()?;
    let (head, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let keys = [
            vec![],
            vec![Value::Integer(i64::MIN), Value::Integer(-1)],
            vec![
                Value::Text("a\0ä".to_owned()),
                Value::Bytes(vec![0, 255]),
                Value::Null,
            ],
        ];
        for written in keys {
            assert_eq!(key(&place(&written)), Some(written));
        }
        for wrong in ["0", "zz", "05", "01ff", "020000000000000002ff"] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rows_that_differ_have_different_bytes() {
        let text = |text: &str| Value::Text(text.to_owned());
        let rows = [
            vec![text("ab"), text("")],
            vec![text("a"), text("b")],
            vec![text(""), text("ab")],
            vec![Value::Bytes(b"ab".to_vec()), text("")],
            vec![Value::Null, text("ab")],
            vec![Value::Integer(0), text("ab")],
        ];
        let bytes: std::collections::HashSet<Vec<u8>> = rows
            .iter()
            .map(|row| {
                let mut bytes = Vec::new();
                encode(row, &mut bytes);
                bytes
            })
            .collect();
        assert_eq!(bytes.len(), rows.len());
    }
}
