//! Pages of lists (`runs.md` §2).

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a list continues, and where.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Pagination {
    pub has_next: bool,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
