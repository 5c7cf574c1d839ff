//! A model on the command line.

use std::str::FromStr;

use crate::id::ModelKey;

/// A model by name and version, as in paths and messages.
#[derive(Debug, Clone)]
pub(super) struct Model(pub(super) ModelKey);

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let key = text
            .rsplit_once(['/', ':'])
            .filter(|(name, _)| !name.is_empty())
            .and_then(|(name, version)| Some(ModelKey::new(name, version.parse().ok()?)));
        key.map(Self).ok_or_else(|| {
            format!("`{text}` is not a model; use NAME/VERSION, for instance order/1")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_version_are_a_model() {
        let read = |text: &str| text.parse().map(|Model(key)| key.to_string()).ok();
        for text in ["order/1", "order:1"] {
            assert_eq!(read(text).as_deref(), Some("order:1"));
        }
        assert_eq!(read("a:b/c:2").as_deref(), Some("a:b/c:2"));
        for text in ["", "order", "order:", "order/one", "order:1.5", "/1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
