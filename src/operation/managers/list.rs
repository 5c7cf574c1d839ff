//! Lists managers by the names of their files.

use std::{collections::BTreeMap, sync::Arc};

use super::read;
use crate::dialect::managers::{
    FilePath, MANAGERS, ManagerStatus, is_manager_in_folder, manager_at,
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, managers},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::registry::{File, Folder, ListedFile};
use crate::storage::UnitOfWork;

/// How many files are listed together.
const FILES: usize = 100;

/// How many files are read for one page at most. A page may so have fewer managers of a status than
/// it was asked for, and a cursor.
const FILES_MAX: usize = 2_000;

pub(in crate::operation) struct ListManagers {
    namespace: Arc<str>,
    status: Option<ManagerStatus>,
    paging: Paging,
}

impl Operation for ListManagers {
    type Payload = managers::List;
    type Answer = managers::Page;

    const REQUEST: EventType = EventType::ManagersGetRequest;
    const RESPONSE: EventType = EventType::ManagersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: managers::List = payload::decode(payload)?;
        let status = request.status.map(|name| {
            ManagerStatus::from_name(&name).ok_or_else(|| {
                Failure::bad_parameter(
                    "status",
                    format!(
                        "`{name}` is not a status of managers; use to-do, in-progress, done, \
                         paused or error"
                    ),
                )
            })
        });
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            status: status.transpose()?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = &self.paging;
        let limit = *limit;
        let (registry, tenant) = (cx.registry(), &cx.caller().tenant);
        let mut after = after.as_ref().map(|name| format!("{MANAGERS}{name}"));
        let mut items: Vec<managers::Item> = Vec::new();
        let folder = registry.folder(tenant, &self.namespace);
        let mut session = cx.session().await?;
        let mut files_read = 0;
        let mut is_last = false;
        // One more than is asked for shows whether there are more.
        while items.len() <= limit && files_read < FILES_MAX {
            let files = registry.files(tenant, &self.namespace, MANAGERS, after.as_deref(), FILES);
            let files = files.await?;
            let Some(last) = files.last() else {
                is_last = true;
                break;
            };
            after = Some(last.path.to_string());
            files_read += files.len();
            for file in files {
                if let Some(item) = self.item(&cx, session.unit()?, folder, &file).await? {
                    items.push(item);
                }
            }
        }
        let last = if items.len() > limit {
            items.truncate(limit);
            items.last().map(|last| &*last.manager)
        } else {
            let last = after.as_deref().filter(|_| !is_last);
            last.and_then(|path| path.strip_prefix(MANAGERS))
        };
        Ok(Output::one(managers::Page {
            pagination: paging::pagination(last),
            items,
        }))
    }
}

impl ListManagers {
    /// A manager, if its file is still there and it has the status.
    async fn item(
        &self,
        cx: &Context,
        unit: &mut UnitOfWork,
        folder: Option<&Folder>,
        file: &ListedFile,
    ) -> Result<Option<managers::Item>, Failure> {
        let Some(name) = manager_at(&file.path) else {
            return Ok(None);
        };
        let path =
            FilePath::parse(&file.path).map_err(|error| Failure::internal(error.to_string()))?;
        let text = match folder {
            Some(folder) if is_manager_in_folder(name) => folder.text(&path).await,
            Some(_) => return Ok(None),
            None => File::content(unit, &self.namespace, &path).await?.map(Ok),
        };
        let Some(text) = text else {
            return Ok(None);
        };
        let read = match text {
            Ok(text) => read(cx, text).await?.map_err(|error| error.to_string()),
            Err(why) => Err(why),
        };
        let status = read.as_ref().ok().map(|manager| manager.status);
        if self.status.is_some() && status != self.status {
            return Ok(None);
        }
        let mut workers = BTreeMap::new();
        let all = read.as_ref().map_or(&[][..], |manager| &manager.workers);
        workers.insert("total".to_owned(), all.len());
        for worker in all {
            *workers
                .entry(worker.status.as_str().to_owned())
                .or_insert(0) += 1;
        }
        Ok(Some(managers::Item {
            manager: name.to_owned(),
            name: read.as_ref().ok().and_then(|manager| manager.name.clone()),
            status: status.map(|status| status.as_str().to_owned()),
            workers,
            version: file.version.to_string(),
            error: read.err(),
        }))
    }
}
