//! Makes a manager: a file whose name has a stamp.

use std::{sync::Arc, time::Duration};

use crate::clock::Timestamp;
use crate::dialect::managers::{Manager, path_of};
use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, managers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::registry::{Error, Expected, File, FileVersion, Folder};

/// The largest document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 1 << 20;

/// How many seconds after the first are tried.
const STAMPS_MAX: u32 = 10_000;

pub(in crate::operation) struct CreateManager {
    namespace: Arc<str>,
    document: Arc<str>,
    /// What the name of its file begins with.
    code: String,
}

impl Operation for CreateManager {
    type Payload = managers::Create<'static>;
    type Answer = managers::Created;

    const REQUEST: EventType = EventType::ManagerCreateRequest;
    const RESPONSE: EventType = EventType::ManagerCreateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: managers::Create<'_> = payload::decode(payload)?;
        let document = request.document.get();
        let bytes = document.len();
        if bytes > DOCUMENT_BYTES_MAX {
            let message = format!(
                "the document has {bytes} bytes; a manager has at most {DOCUMENT_BYTES_MAX}, so \
                 make several"
            );
            return Err(Failure::bad_parameter("document", message));
        }
        Document::from_raw(request.document)
            .map_err(|error| Failure::malformed(format!("invalid document: {error}")))?;
        let manager = Manager::read(document).map_err(|error| invalid(&error.to_string()))?;
        let code = manager.code().map_err(|error| invalid(&error))?;
        path_of(&format!("{code}-00000000000000.json"))
            .map_err(|error| invalid(&format!("`{code}` cannot be the name of a file: {error}")))?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            document: document.into(),
            code,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let registry = cx.registry();
        if let Some(folder) = registry.folder(&cx.caller().tenant, &self.namespace) {
            let created = self.create_in(&cx, folder).await?;
            return cx.remembered(created).await;
        }
        in_turn(&cx, (&self.namespace, &self.code), || self.create(&cx)).await
    }
}

impl CreateManager {
    async fn create(&self, cx: &Context) -> Result<Output<managers::Created>, Failure> {
        let mut session = cx.session().await?;
        let unit = session.unit()?;
        for manager in self.names(cx.storage().now()) {
            let path = path_of(&manager).map_err(|error| Failure::internal(error.to_string()))?;
            if File::content(unit, &self.namespace, &path).await?.is_some() {
                continue;
            }
            let document = Arc::clone(&self.document);
            let expected = Expected::Absent;
            let version = File::put(unit, &self.namespace, &path, document, &expected).await?;
            let created = created(manager, &version);
            return cx.finish(session, created, Vec::new()).await;
        }
        Err(too_many())
    }

    /// Makes the file in a folder.
    async fn create_in(&self, cx: &Context, folder: &Folder) -> Result<managers::Created, Failure> {
        let turn = folder.turn().await;
        for manager in self.names(cx.storage().now()) {
            let path = path_of(&manager).map_err(|error| Failure::internal(error.to_string()))?;
            let written = folder.put(&turn, &path, &self.document, &Expected::Absent);
            match written.await {
                Err(Error::FileModified { .. }) => {}
                written => return Ok(created(manager, &written?)),
            }
        }
        Err(too_many())
    }

    /// The names that the file may have: with the stamp of now, and of each second after.
    fn names(&self, now: Timestamp) -> impl Iterator<Item = String> {
        (0..STAMPS_MAX).map(move |seconds| {
            let at = now.after(Duration::from_secs(seconds.into()));
            format!("{}-{}.json", self.code, stamp(at))
        })
    }
}

fn created(manager: String, version: &FileVersion) -> managers::Created {
    managers::Created {
        manager,
        version: version.to_string(),
    }
}

fn too_many() -> Failure {
    Failure::new(
        Code::TooManyRequests,
        "too many managers of that name were made within a few hours; delete the files of some",
    )
}

/// A time as the names of files have it: `YYYYMMDDhhmmss`, in UTC.
fn stamp(at: Timestamp) -> String {
    let text = at.to_string();
    let digits = text.chars().filter(char::is_ascii_digit);
    digits.take(14).collect()
}

fn invalid(message: &str) -> Failure {
    let message = format!("the document is not a manager: {message}");
    Failure::new(Code::ValidationFailed, message).with("parameter", "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_the_time_to_the_second() {
        let at = Timestamp::from_micros(1_724_232_202_123_456);
        assert_eq!(stamp(at), "20240821092322");
    }
}
