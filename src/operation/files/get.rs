//! Reads a file.

use std::sync::Arc;

use super::path;
use crate::dialect::managers::FilePath;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, RawJson, files},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetFile {
    namespace: Arc<str>,
    path: FilePath,
}

impl Operation for GetFile {
    type Payload = files::Select;
    type Answer = files::File;

    const REQUEST: EventType = EventType::FileGetRequest;
    const RESPONSE: EventType = EventType::FileGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: files::Select = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            path: path(&request.path)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let registry = cx.registry();
        let file = registry.file(session.unit()?, &self.namespace, &self.path);
        let file = file.await?;
        session.finish(cx.cancel()).await?;
        Ok(Output::one(files::File {
            path: self.path.to_string(),
            content: RawJson::trusted(file.content),
            version: file.version.to_string(),
            updated_at: AsText(file.updated),
            updated_by: file.author.to_string(),
        }))
    }
}
