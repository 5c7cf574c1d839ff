//! The paths of files (`runs.md` §8).

use std::{fmt, sync::Arc};

/// The longest path, in bytes.
const BYTES_MAX: usize = 512;

/// Where a file is: segments after slashes, none of which leads anywhere else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(Arc<str>);

/// Why a text is not the path of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("it does not begin with `/`")]
    NotAbsolute,
    #[error("it has {0} bytes; at most {BYTES_MAX} are allowed")]
    TooLong(usize),
    #[error("it has an empty segment: write single slashes, and none at the end")]
    EmptySegment,
    #[error("the segment `{0}` leads to another folder; name the folder itself")]
    Relative(String),
    #[error(
        "it has the character `{}`; use letters, digits, dots, underscores, colons, spaces and hyphens",
        .0.escape_debug()
    )]
    Character(char),
}

impl FilePath {
    /// Reads a path.
    ///
    /// # Errors
    /// The text is not the path of a file.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_prefix(text)?;
        for segment in text.split('/').skip(1) {
            match segment {
                "" => return Err(PathError::EmptySegment),
                "." | ".." => return Err(PathError::Relative(segment.to_owned())),
                _ => {}
            }
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks a text that paths may begin with.
///
/// # Errors
/// No path begins so.
pub fn check_prefix(text: &str) -> Result<(), PathError> {
    if !text.starts_with('/') {
        return Err(PathError::NotAbsolute);
    }
    if text.len() > BYTES_MAX {
        return Err(PathError::TooLong(text.len()));
    }
    let is_allowed =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | ':' | ' ' | '-');
    match text.chars().find(|c| !is_allowed(*c)) {
        Some(other) => Err(PathError::Character(other)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_segments_that_lead_nowhere_else() {
        for good in [
            "/a",
            "/states/global_state_manager.json",
            "/states/managers/com.finmars.standard-workflow:workflow-manager-20240821095322.json",
            "/a b/...c/..d/e..",
            &format!("/{}", "x".repeat(511)),
        ] {
            assert_eq!(
                FilePath::parse(good).map(|path| path.to_string()),
                Ok(good.to_owned())
            );
        }
        let relative = |segment: &str| PathError::Relative(segment.to_owned());
        for (bad, why) in [
            ("", PathError::NotAbsolute),
            ("a/b", PathError::NotAbsolute),
            ("\\a", PathError::NotAbsolute),
            ("/", PathError::EmptySegment),
            ("//a", PathError::EmptySegment),
            ("/a//b", PathError::EmptySegment),
            ("/a/", PathError::EmptySegment),
            ("/..", relative("..")),
            ("/a/../b", relative("..")),
            ("/./a", relative(".")),
            ("/a\\..\\b", PathError::Character('\\')),
            ("/a\0", PathError::Character('\0')),
            ("/ü", PathError::Character('ü')),
            ("/a?b", PathError::Character('?')),
            ("/a%2e", PathError::Character('%')),
            (&format!("/{}", "x".repeat(512)), PathError::TooLong(513)),
        ] {
            assert_eq!(FilePath::parse(bad), Err(why), "{bad}");
        }
    }
}
