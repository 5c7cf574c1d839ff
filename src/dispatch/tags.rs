//! Tags that members declare and calls require.

use std::{collections::BTreeSet, fmt};

/// A set of tags, compared case-insensitively (`grpc.md` §11).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tags(BTreeSet<Box<str>>);

impl Tags {
    /// Parses a list separated by commas or semicolons.
    pub fn parse(list: &str) -> Self {
        list.split([',', ';']).collect()
    }

    /// Whether a member with these tags can be called for `required`.
    pub fn satisfy(&self, required: &Self) -> bool {
        required.0.is_subset(&self.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl<'a> FromIterator<&'a str> for Tags {
    fn from_iter<I: IntoIterator<Item = &'a str>>(tags: I) -> Self {
        Self(
            tags.into_iter()
                .map(str::trim)
                .filter(|tag| !tag.is_empty())
                .map(|tag| tag.to_lowercase().into())
                .collect(),
        )
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_needs_every_required_tag() {
        for (declared, required, satisfied) in [
            ("a,b", "a", true),
            ("a", "a,b", false),
            ("A; b", " B ,a", true),
            ("", "", true),
            ("", ",;", true),
            ("", "a", false),
        ] {
            assert_eq!(
                Tags::parse(declared).satisfy(&Tags::parse(required)),
                satisfied,
                "{declared} / {required}"
            );
        }
    }
}
