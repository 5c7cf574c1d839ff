//! Paths of a document in messages, whose size is limited: a name can be as long as a request, and
//! a thousand violations can repeat it.

/// How many violations are listed individually.
pub(super) const LISTED_MAX: usize = 1_000;

/// How many bytes the listed paths have together, roughly: the last one may exceed it.
const PATHS_BYTES_MAX: usize = 256 << 10;

/// How many characters of a name a path contains.
const NAME_CHARS_MAX: usize = 100;

/// Adds the name of a member to a path, shortened if it is long.
pub(super) fn push_member(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => {
            path.push_str(&name[..end]);
            path.push('…');
        }
        None => path.push_str(name),
    }
}

/// What is listed of the violations of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Listed {
    entries: usize,
    bytes: usize,
}

impl Listed {
    /// Whether another violation may be listed.
    pub(super) const fn has_room(self) -> bool {
        self.entries < LISTED_MAX && self.bytes < PATHS_BYTES_MAX
    }

    /// Counts one with that path.
    pub(super) const fn add(&mut self, path: &str) {
        self.entries += 1;
        self.bytes += path.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_shortened_between_characters() {
        let mut path = String::new();
        push_member(&mut path, "a");
        push_member(&mut path, &"ü".repeat(NAME_CHARS_MAX));
        assert_eq!(path, format!("a.{}", "ü".repeat(NAME_CHARS_MAX)));
        path.clear();
        push_member(&mut path, &"ü".repeat(NAME_CHARS_MAX + 1));
        push_member(&mut path, "b");
        assert_eq!(path, format!("{}….b", "ü".repeat(NAME_CHARS_MAX)));
    }
}
