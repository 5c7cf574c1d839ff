//! Lists files by path.

use std::sync::Arc;

use super::malformed;
use crate::dialect::managers::check_prefix;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, files},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::registry::ListedFile;

pub(in crate::operation) struct ListFiles {
    namespace: Arc<str>,
    prefix: String,
    paging: Paging,
}

impl Operation for ListFiles {
    type Payload = files::List;
    type Answer = files::Page;

    const REQUEST: EventType = EventType::FilesGetRequest;
    const RESPONSE: EventType = EventType::FilesGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: files::List = payload::decode(payload)?;
        let prefix = request.prefix.unwrap_or_else(|| "/".to_owned());
        check_prefix(&prefix).map_err(|error| malformed("prefix", &prefix, &error))?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            prefix,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let (registry, tenant) = (cx.registry(), &cx.caller().tenant);
        let (prefix, after) = (&*self.prefix, after.as_deref());
        let found = registry.files(tenant, &self.namespace, prefix, after, limit + 1);
        let (found, pagination) = paging::page(found.await?, limit, |file| &file.path);
        Ok(Output::one(files::Page {
            pagination,
            items: found.iter().map(item).collect(),
        }))
    }
}

fn item(file: &ListedFile) -> files::Item {
    files::Item {
        path: file.path.to_string(),
        version: file.version.to_string(),
        size: file.size,
        updated_at: AsText(file.updated),
    }
}
