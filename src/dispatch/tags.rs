//! Tags that members declare and calls require.

use std::{collections::BTreeSet, fmt};

/// A set of tags, compared case-insensitively (`grpc.md` §11).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tags(BTreeSet<Box<str>>);

/// Which members can be called for required tags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TagMatch {
    /// Those that have all of them.
    #[default]
    All,
    /// Those that have one of them.
    Any,
}

impl Tags {
    /// Parses a list separated by commas or semicolons.
    pub fn parse(list: &str) -> Self {
        list.split([',', ';']).collect()
    }

    /// Whether a member with these tags can be called for `required`.
    pub fn satisfy(&self, required: &Self) -> bool {
        required.0.is_subset(&self.0)
    }

    /// Whether a member with these tags can be called for `required`, by one of the two rules.
    /// Without required tags any member can be called.
    pub fn satisfy_by(&self, required: &Self, rule: TagMatch) -> bool {
        match rule {
            TagMatch::All => self.satisfy(required),
            TagMatch::Any => required.0.is_empty() || !required.0.is_disjoint(&self.0),
        }
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

    #[test]
    fn a_member_needs_one_required_tag_where_any_suffices() {
        for (declared, required, satisfied) in [
            ("a", "a,b", true),
            ("c; B", " b ,a", true),
            ("c", "a,b", false),
            ("", "a", false),
            ("", "", true),
            ("c", ",;", true),
        ] {
            let (declared, required) = (Tags::parse(declared), Tags::parse(required));
            assert_eq!(
                declared.satisfy_by(&required, TagMatch::Any),
                satisfied,
                "{declared} / {required}"
            );
        }
    }
}
