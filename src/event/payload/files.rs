//! Payloads about files (`runs.md` §8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, RawJson, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FileChange")]
pub struct Put<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Segments of letters, digits, dots, underscores, colons, spaces and hyphens, each after a
    /// slash; at most 512 bytes.
    pub path: String,
    /// Any JSON, of at most 1 MiB. It is kept as it is written.
    #[serde(borrow)]
    pub content: &'a RawValue,
    /// The version that the change is based on; an empty text if there must be no file, `*` if
    /// there must be one.
    #[serde(default)]
    pub if_match: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "FileSelection")]
pub struct Select {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub path: String,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FileDeletion")]
pub struct Delete {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub path: String,
    /// The version that is deleted.
    #[serde(default)]
    pub if_match: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "FileListing")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// What the paths begin with; `/` if absent.
    #[serde(default)]
    pub prefix: Option<String>,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A file that was written.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FileWritten")]
pub struct Written {
    pub path: String,
    /// The transaction that wrote it, or of a folder's file the SHA-256 hash of its content. In a
    /// transaction it is the version that the file has once that is committed.
    pub version: String,
}

impl Answer for Written {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "File")]
pub struct File {
    pub path: String,
    /// The JSON, as it was written.
    pub content: RawJson,
    pub version: String,
    pub updated_at: AsText<Timestamp>,
    /// Who wrote it last; `folder` of a file in a folder.
    pub updated_by: String,
}

impl Answer for File {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        self.content.as_str().len()
    }
}

/// A file that was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FileDeleted")]
pub struct Deleted {
    pub path: String,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A file without its content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedFile")]
pub struct Item {
    pub path: String,
    pub version: String,
    /// The bytes of its content.
    pub size: u64,
    pub updated_at: AsText<Timestamp>,
}

/// A page of files, by path.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Files")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}
