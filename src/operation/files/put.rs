//! Writes a file, or replaces it.

use std::sync::Arc;

use super::path;
use crate::dialect::managers::{FilePath, MANAGERS};
use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, files},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::{Expected, File, Folder};

/// The largest content, in bytes.
const CONTENT_BYTES_MAX: usize = 1 << 20;

/// That of a manager: a tick writes into it, and people edit what a tick has written.
const MANAGER_BYTES_MAX: usize = 16 << 20;

pub(in crate::operation) struct PutFile {
    namespace: Arc<str>,
    path: FilePath,
    content: Arc<str>,
    expected: Expected,
}

impl Operation for PutFile {
    type Payload = files::Put<'static>;
    type Answer = files::Written;

    const REQUEST: EventType = EventType::FilePutRequest;
    const RESPONSE: EventType = EventType::FilePutResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: files::Put<'_> = payload::decode(payload)?;
        let content = request.content.get();
        let bytes = content.len();
        let path = path(&request.path)?;
        let max = if path.as_str().starts_with(MANAGERS) {
            MANAGER_BYTES_MAX
        } else {
            CONTENT_BYTES_MAX
        };
        if bytes > max {
            let message =
                format!("the content has {bytes} bytes; at most {max}, so write it as several");
            return Err(Failure::bad_parameter("content", message));
        }
        Document::from_raw(request.content)
            .map_err(|error| Failure::malformed(format!("invalid content: {error}")))?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            path,
            content: content.into(),
            expected: Expected::read(request.if_match.as_deref()),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let registry = cx.registry();
        if let Some(folder) = registry.folder(&cx.caller().tenant, &self.namespace) {
            return self.put_in(&cx, folder).await;
        }
        if cx.has_token() {
            return self.put(&cx).await;
        }
        in_turn(&cx, (&self.namespace, self.path.as_str()), || self.put(&cx)).await
    }
}

impl PutFile {
    async fn put(&self, cx: &Context) -> Result<Output<files::Written>, Failure> {
        let Self {
            namespace,
            path,
            content,
            expected,
        } = self;
        let mut session = cx.session().await?;
        let unit = session.unit()?;
        let version = File::put(unit, namespace, path, Arc::clone(content), expected).await?;
        let written = files::Written {
            path: path.to_string(),
            version: version.to_string(),
        };
        cx.finish(session, written, Vec::new()).await
    }

    /// Writes a file of a folder, which no transaction can write in its commit.
    async fn put_in(
        &self,
        cx: &Context,
        folder: &Folder,
    ) -> Result<Output<files::Written>, Failure> {
        if cx.has_token() {
            return Err(Failure::new(
                Code::BadRequest,
                "the files of this namespace are in a folder, which is not part of a transaction; \
                 repeat the request without the transaction token",
            ));
        }
        let turn = folder.turn().await;
        let version = folder.put(&turn, &self.path, &self.content, &self.expected);
        let written = files::Written {
            path: self.path.to_string(),
            version: version.await?.to_string(),
        };
        cx.remembered(written).await
    }
}
