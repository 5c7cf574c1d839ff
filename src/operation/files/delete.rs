//! Deletes a file.

use std::sync::Arc;

use super::path;
use crate::dialect::managers::FilePath;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, files},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::{Expected, File};

pub(in crate::operation) struct DeleteFile {
    namespace: Arc<str>,
    path: FilePath,
    expected: Expected,
}

impl Operation for DeleteFile {
    type Payload = files::Delete;
    type Answer = files::Deleted;

    const REQUEST: EventType = EventType::FileDeleteRequest;
    const RESPONSE: EventType = EventType::FileDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: files::Delete = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            path: path(&request.path)?,
            expected: Expected::read(request.if_match.as_deref()),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let registry = cx.registry();
        if let Some(folder) = registry.folder(&cx.caller().tenant, &self.namespace) {
            let turn = folder.turn().await;
            folder.delete(&turn, &self.path, &self.expected).await?;
            let path = self.path.to_string();
            return cx.remembered(files::Deleted { path }).await;
        }
        in_turn(&cx, (&self.namespace, self.path.as_str()), || {
            self.delete(&cx)
        })
        .await
    }
}

impl DeleteFile {
    async fn delete(&self, cx: &Context) -> Result<Output<files::Deleted>, Failure> {
        let Self {
            namespace,
            path,
            expected,
        } = self;
        let mut session = cx.session().await?;
        File::delete(session.unit()?, namespace, path, expected).await?;
        let deleted = files::Deleted {
            path: path.to_string(),
        };
        cx.finish(session, deleted, Vec::new()).await
    }
}
