//! Namespaces, and pages of lists by name (`runs.md` §2).

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::bounds::maybe_within;
use crate::error::Failure;
use crate::event::payload::paging::Pagination;
use crate::id::{DEFAULT_NAMESPACE, NAMESPACE_RULE, is_namespace};

/// The items of a page whose request does not say how many.
const LIMIT: usize = 100;

/// The items of the largest page.
const LIMIT_MAX: i64 = 1_000;

/// The namespace that a request names.
pub(super) fn namespace(given: Option<String>) -> Result<Arc<str>, Failure> {
    match given {
        None => Ok(DEFAULT_NAMESPACE.into()),
        Some(name) if is_namespace(&name) => Ok(name.into()),
        Some(name) => Err(Failure::bad_parameter(
            "namespace",
            format!("\"{name}\" is not a valid namespace: use {NAMESPACE_RULE}"),
        )),
    }
}

/// Which page of a list is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paging {
    pub(super) limit: usize,
    /// The name of the last item of the page before.
    pub(super) after: Option<String>,
}

impl Paging {
    pub(super) fn read(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, Failure> {
        let limit = maybe_within("limit", limit, 1..=LIMIT_MAX)?.unwrap_or(LIMIT);
        let name = |cursor: &str| {
            let name = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok();
            let name = name.and_then(|name| String::from_utf8(name).ok());
            name.ok_or_else(|| {
                let message = "the cursor is not valid; use the nextCursor of a page as it is";
                Failure::bad_parameter("cursor", message)
            })
        };
        Ok(Self {
            limit,
            after: cursor.map(name).transpose()?,
        })
    }
}

/// Where a list of numbered items continues; none at its end.
pub(super) fn plain(next: Option<String>) -> Pagination {
    Pagination {
        has_next: next.is_some(),
        next_cursor: next,
    }
}

/// Where the list continues after an item of that name; none at its end.
pub(super) fn pagination(last: Option<&str>) -> Pagination {
    Pagination {
        has_next: last.is_some(),
        next_cursor: last.map(|last| BASE64_URL_SAFE_NO_PAD.encode(last)),
    }
}

/// The items of a page and where the list continues: of those that were found, one more than the
/// limit shows that there are more.
pub(super) fn page<T>(
    mut found: Vec<T>,
    limit: usize,
    name: impl Fn(&T) -> &str,
) -> (Vec<T>, Pagination) {
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more);
    let pagination = pagination(last.map(name));
    (found, pagination)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_the_name_it_was_made_of() {
        for name in ["a", "ü / ?", ""] {
            let next = pagination(Some(name)).next_cursor.expect("more");
            let paging = Paging::read(None, Some(&next)).expect("valid");
            let expected = Paging {
                limit: LIMIT,
                after: Some(name.to_owned()),
            };
            assert_eq!(paging, expected);
        }
        assert!(pagination(None).next_cursor.is_none());
    }

    #[test]
    fn a_page_continues_after_its_last_item_if_one_more_was_found() {
        let found = || vec!["a", "b", "c"];
        let (items, more) = page(found(), 2, |item| item);
        assert_eq!(items, ["a", "b"]);
        assert_eq!(more.next_cursor, pagination(Some("b")).next_cursor);
        let (items, more) = page(found(), 3, |item| item);
        assert_eq!((items.len(), more.has_next), (3, false));
    }

    #[test]
    fn limits_and_cursors_out_of_bounds_are_refused() {
        for (limit, cursor) in [
            (Some(0), None),
            (Some(-1), None),
            (Some(1_001), None),
            (None, Some("not a cursor")),
            (None, Some("_w")),
        ] {
            let refused = Paging::read(limit, cursor).expect_err("refused");
            assert_eq!(
                refused.code(),
                crate::error::Code::BadRequest,
                "{limit:?} {cursor:?}"
            );
        }
        assert!(Paging::read(Some(1_000), None).is_ok());
    }

    #[test]
    fn a_namespace_is_default_or_a_valid_name() {
        assert_eq!(&*namespace(None).expect("valid"), "default");
        assert_eq!(
            &*namespace(Some("a.b-C_1".to_owned())).expect("valid"),
            "a.b-C_1"
        );
        for bad in ["", "a b", "ü", &"x".repeat(65)] {
            assert!(namespace(Some(bad.to_owned())).is_err(), "{bad}");
        }
    }
}
