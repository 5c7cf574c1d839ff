//! Intents: which work an item of a manager is to get whose file is in a folder.
//!
//! A folder and the storage cannot be written together. So the id of the work is stored here first,
//! the file names it then, and the work is started after that, under that id. An item has one
//! intent at a time: as long as its work has not been started, it is given no other id.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Error, Registry};
use crate::dialect::managers::FilePath;
use crate::id::{Tenant, TransactionId};
use crate::storage::{RecordKey, RecordKind, UnitOfWork};

/// What the ids of such work begin with.
const PREFIX: &str = "item-";

/// How many hexadecimal digits name a manager, an item of it, and one of its starts.
const DIGITS: [usize; 3] = [12, 16, 8];

/// An item that an intent is about: `<digits of the manager>-<digits of the item>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntendedItem(Arc<str>);

/// The work that an item is to get, or has got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The id of the run.
    pub work: Box<str>,
    pub is_started: bool,
}

impl IntendedItem {
    /// An item of a manager's file: what it starts, its state file, and which one of those that
    /// have both in common it is.
    pub fn new(manager: &str, target: &str, state_path: &FilePath, nth: usize) -> Self {
        let [of_manager, of_item, _] = DIGITS;
        let item = format!("{manager}\n{target}\n{state_path}\n{nth}");
        let (manager, item) = (digits(manager, of_manager), digits(&item, of_item));
        Self(format!("{manager}-{item}").into())
    }

    /// The item that some work was intended for; none of other work.
    pub fn of_work(work: &str) -> Option<Self> {
        let (item, start) = work.strip_prefix(PREFIX)?.rsplit_once('-')?;
        let (manager, one) = item.split_once('-')?;
        let are_digits = |(text, count): (&str, usize)| {
            text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let parts = [manager, one, start].into_iter().zip(DIGITS);
        parts.into_iter().all(are_digits).then(|| Self(item.into()))
    }

    /// The id of work for the item, of a start in that transaction.
    pub fn work(&self, transaction: TransactionId) -> Box<str> {
        let [.., count] = DIGITS;
        let start = digits(&transaction.to_string(), count);
        format!("{PREFIX}{}-{start}", self.0).into()
    }

    fn key(&self, namespace: &str) -> RecordKey {
        RecordKey::new(RecordKind::Intent, namespace, Arc::clone(&self.0))
    }
}

impl Intent {
    /// The intent of an item; the commit fails if it changes meanwhile.
    pub async fn find(
        unit: &mut UnitOfWork,
        namespace: &str,
        item: &IntendedItem,
    ) -> Result<Option<Self>, Error> {
        let Some(record) = unit.read_record(&item.key(namespace)).await? else {
            return Ok(None);
        };
        let intent = serde_json::from_str(&record.body).map_err(|_| Error::Unreadable {
            what: "intent",
            name: Arc::clone(&item.0),
        })?;
        Ok(Some(intent))
    }

    pub fn put(
        &self,
        unit: &mut UnitOfWork,
        namespace: &str,
        item: &IntendedItem,
    ) -> Result<(), Error> {
        let body = serde_json::to_string(self).map_err(|_| Error::Unreadable {
            what: "intent",
            name: Arc::clone(&item.0),
        })?;
        Ok(unit.put_record(item.key(namespace), body.into())?)
    }

    pub fn forget(
        unit: &mut UnitOfWork,
        namespace: &str,
        item: &IntendedItem,
    ) -> Result<(), Error> {
        Ok(unit.drop_record(item.key(namespace))?)
    }
}

impl Registry {
    /// The items of a manager's file that have intents, `limit` at most.
    pub async fn intended_items(
        &self,
        tenant: &Tenant,
        namespace: &str,
        manager: &str,
        limit: usize,
    ) -> Result<Vec<IntendedItem>, Error> {
        let prefix = format!("{}-", digits(manager, DIGITS[0]));
        let storage = &self.0.storage;
        let heads = storage.record_heads(
            tenant,
            RecordKind::Intent,
            namespace,
            (&prefix, None),
            limit,
        );
        let heads = heads.await?.into_iter();
        Ok(heads.map(|head| IntendedItem(head.name)).collect())
    }
}

fn digits(text: &str, count: usize) -> String {
    let mut digits = hex::encode(Sha256::digest(text.as_bytes()));
    digits.truncate(count);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).expect("a path")
    }

    #[test]
    fn the_id_of_work_names_its_item() {
        let item = IntendedItem::new("m.json", "a:b", &path("/s/1"), 0);
        let work = item.work(TransactionId::fresh());
        assert_eq!(IntendedItem::of_work(&work), Some(item.clone()));
        assert_ne!(
            work,
            item.work(TransactionId::fresh()),
            "each start has its own"
        );
        for other in [
            IntendedItem::new("n.json", "a:b", &path("/s/1"), 0),
            IntendedItem::new("m.json", "a:c", &path("/s/1"), 0),
            IntendedItem::new("m.json", "a:b", &path("/s/2"), 0),
            IntendedItem::new("m.json", "a:b", &path("/s/1"), 1),
        ] {
            assert_ne!(other, item);
        }
    }

    #[test]
    fn other_ids_name_no_item() {
        for other in [
            "",
            "wfrun-1",
            "item-1",
            "item-a-b-c",
            "item-0123456789ab-0123456789abcdef-xyzxyzxy",
        ] {
            assert_eq!(IntendedItem::of_work(other), None, "{other}");
        }
    }
}
