//! Which servers this version understands.

use tonic::metadata::MetadataMap;

use crate::{Code, Error, Result};

/// The version of this crate, which is in step with the server's.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The initial metadata of a stream with which a server says its version.
const NAME: &str = "interlock-version";

/// Refuses a server that speaks another protocol. One that does not say its version is accepted.
pub(crate) fn check(metadata: &MetadataMap) -> Result<()> {
    let server = metadata.get(NAME).and_then(|value| value.to_str().ok());
    let Some(server) = server.filter(|server| series(server) != series(VERSION)) else {
        return Ok(());
    };
    let understood = series(VERSION);
    let message =
        format!("the server is of version {server}; this client understands {understood}");
    Err(Error::new(Code::ServerNotUnderstood, message))
}

/// The part of a version within which versions understand each other: the major number, and the
/// minor one while the major is 0.
fn series(version: &str) -> &str {
    let numbers = if version.starts_with("0.") { 2 } else { 1 };
    let ends = version.match_indices('.').map(|(at, _)| at);
    let end = ends.chain([version.len()]).nth(numbers - 1);
    &version[..end.unwrap_or(version.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(version: &'static str) -> Result<()> {
        let mut metadata = MetadataMap::new();
        metadata.insert(NAME, version.parse().expect("a value"));
        check(&metadata)
    }

    #[test]
    fn versions_of_one_series_understand_each_other() {
        for (version, expected) in [
            ("0.1.0", "0.1"),
            ("0.1.7-rc.1", "0.1"),
            ("0.12.0", "0.12"),
            ("1.4.2", "1"),
            ("2", "2"),
            ("10.1", "10"),
            ("", ""),
        ] {
            assert_eq!(series(version), expected, "of {version}");
        }
    }

    #[test]
    fn a_server_of_another_series_is_refused_by_name() {
        assert!(check(&MetadataMap::new()).is_ok(), "it may be an older one");
        assert!(checked(VERSION).is_ok());
        for version in ["2.0.0", "0.99.0", "1.0.0"] {
            let error = checked(version).expect_err(version);
            assert_eq!(*error.code(), Code::ServerNotUnderstood);
            assert!(!error.is_retryable());
            let understood = format!(
                "the server is of version {version}; this client understands {}",
                series(VERSION)
            );
            assert_eq!(error.message(), understood);
        }
    }
}
