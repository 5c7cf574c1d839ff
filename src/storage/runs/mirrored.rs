//! Reading and writing which runs are to be written to tables outside.

use std::collections::HashSet;

use crate::id::RunId;
use crate::storage::{
    Error, Storage, UnitOfWork,
    memory::mirror::{MirrorName, ToMirror, key},
    port::RecordKind,
};

impl Storage {
    /// The tables that are behind and were not taken yet, of those that this process writes. Each
    /// is written by one, so that none puts an older row in the place of a newer one.
    pub fn take_mirrors(&self) -> HashSet<MirrorName> {
        let mut behind = self.0.mirrors.take();
        behind.retain(|name| {
            let (tenant, namespace) = (name.tenant.as_str(), &*name.namespace);
            self.has_share_of(&["mirror", tenant, namespace, &name.bundle])
        });
        behind
    }

    /// Looks again which tables are behind: others than before may be this process's to write.
    pub async fn find_mirrors(&self) -> Result<(), Error> {
        self.0.mirrors.note_all(&self.0.database.mirrors().await?);
        Ok(())
    }

    /// Returns once there may be such.
    pub async fn mirrors_changed(&self) {
        self.0.mirrors.changed().await;
    }

    /// The runs that are to be written to a table: those after a place, `limit` at most.
    pub async fn to_mirror(
        &self,
        name: &MirrorName,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ToMirror>, Error> {
        let records = MirrorName::records(&name.namespace, &name.bundle);
        let kind = RecordKind::Mirror;
        let page = self.records(&name.tenant, kind, &records, after, limit);
        let page = page.await?;
        Ok(page.into_iter().filter_map(ToMirror::of).collect())
    }
}

impl UnitOfWork {
    /// Has a run written to the table of its bundle, after this unit's commit.
    pub fn mirror_run(&mut self, namespace: &str, bundle: &str, run: RunId) -> Result<(), Error> {
        self.put_record(key(namespace, bundle, run), "".into())
    }

    /// Takes note that a run was written, unless it was committed again since it was read.
    pub async fn mirrored(&mut self, written: &ToMirror) -> Result<(), Error> {
        let key = &written.record.key;
        let found = self.read_record(key).await?;
        if found.is_some_and(|found| found.position == written.record.position) {
            self.drop_record(key.clone())?;
        }
        Ok(())
    }
}
