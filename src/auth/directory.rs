//! The stored clients, keys and providers, in memory.
//!
//! Every token is checked against this directory, so reading it never waits. A request that changes
//! it takes the lock for changes ([`Directory::change`]), stores the change and then publishes it,
//! which invalidates what was remembered of tokens.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    client::Registered,
    oidc::{Federation, Provider},
    pair::{KeyPair, KeyUse},
    seal::{NotSealed, Seal},
    trusted::TrustedKey,
};
use crate::clock::Timestamp;
use crate::id::{ProviderId, Tenant};

/// A consistent state of the directory.
#[derive(Debug, Clone, Default)]
pub struct Known {
    clients: HashMap<Arc<str>, Arc<Registered>>,
    key_pairs: HashMap<Arc<str>, Arc<KeyPair>>,
    trusted_keys: HashMap<Arc<str>, Arc<TrustedKey>>,
    providers: HashMap<ProviderId, Arc<Provider>>,
    /// The key pairs whose private keys cannot be used, which the log has named.
    unusable: BTreeSet<Arc<str>>,
}

impl Known {
    /// Notes that a key pair's private key cannot be used.
    pub fn note_unusable(&mut self, name: &str) {
        self.unusable.insert(name.into());
    }

    /// Whether the log has named this key pair as unusable.
    pub fn is_unusable(&self, name: &str) -> bool {
        self.unusable.contains(name)
    }

    /// The client of that id, of any tenant.
    pub fn client(&self, id: &str) -> Option<&Arc<Registered>> {
        self.clients.get(id)
    }

    /// The clients of a tenant, oldest first.
    pub fn clients(&self, tenant: &Tenant) -> Vec<Arc<Registered>> {
        let clients = self.clients.values();
        let mut clients: Vec<_> = clients
            .filter(|client| client.tenant == *tenant)
            .cloned()
            .collect();
        clients
            .sort_unstable_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        clients
    }

    /// The key pair of that id, of any tenant.
    pub fn key_pair(&self, name: &str) -> Option<&Arc<KeyPair>> {
        self.key_pairs.get(name)
    }

    /// The key pairs of all tenants.
    pub(super) fn key_pairs(&self) -> impl Iterator<Item = &Arc<KeyPair>> {
        self.key_pairs.values()
    }

    /// The key pairs of a tenant.
    pub fn key_pairs_of(&self, tenant: &Tenant) -> Vec<&Arc<KeyPair>> {
        let of = |pair: &&Arc<KeyPair>| pair.tenant == *tenant;
        self.key_pairs().filter(of).collect()
    }

    /// The key pair that signs for a tenant: of the valid ones, the one that became valid last.
    pub fn signer(
        &self,
        tenant: &Tenant,
        used_for: KeyUse,
        now: Timestamp,
    ) -> Option<&Arc<KeyPair>> {
        let signing = self
            .key_pairs_of(tenant)
            .into_iter()
            .filter(|pair| pair.used_for == used_for && pair.signs(now));
        signing.max_by_key(|pair| (pair.validity.from, pair.created, &pair.name))
    }

    /// The key pairs that are stored unencrypted, in encrypted form.
    pub fn sealed(&self, seal: &Seal) -> Result<Vec<KeyPair>, NotSealed> {
        let pairs = self.key_pairs();
        pairs
            .filter_map(|pair| pair.sealed(seal).transpose())
            .collect()
    }

    /// The trusted key of that id, of any tenant.
    pub fn trusted_key(&self, name: &str) -> Option<&Arc<TrustedKey>> {
        self.trusted_keys.get(name)
    }

    /// The trusted keys of a tenant, oldest first.
    pub fn trusted_keys_of(&self, tenant: &Tenant) -> Vec<&Arc<TrustedKey>> {
        let keys = self.trusted_keys.values();
        let mut keys: Vec<_> = keys.filter(|key| key.tenant == *tenant).collect();
        keys.sort_unstable_by(|one, other| {
            (one.created, &one.name).cmp(&(other.created, &other.name))
        });
        keys
    }

    /// The provider of that id, of any tenant.
    pub fn provider(&self, id: ProviderId) -> Option<&Arc<Provider>> {
        self.providers.get(&id)
    }

    /// The providers of a tenant, oldest first.
    pub fn providers(&self, tenant: &Tenant) -> Vec<Arc<Provider>> {
        let providers = self.providers.values();
        let mut providers: Vec<_> = providers
            .filter(|provider| provider.tenant == *tenant)
            .cloned()
            .collect();
        providers.sort_unstable_by_key(|provider| (provider.created, provider.id));
        providers
    }

    /// Adds an entry, or replaces the one of its id.
    pub fn put(&mut self, entry: Entry) {
        match entry {
            Entry::Client(client) => {
                self.clients.insert(Arc::clone(&client.id), client);
            }
            Entry::KeyPair(pair) => {
                self.key_pairs.insert(Arc::clone(&pair.name), pair);
            }
            Entry::TrustedKey(key) => {
                self.trusted_keys.insert(Arc::clone(&key.name), key);
            }
            Entry::Provider(provider) => {
                self.providers.insert(provider.id, provider);
            }
        }
    }

    /// Removes an entry.
    pub fn drop(&mut self, entry: &Entry) {
        match entry {
            Entry::Client(client) => drop(self.clients.remove(&client.id)),
            Entry::KeyPair(pair) => drop(self.key_pairs.remove(&pair.name)),
            Entry::TrustedKey(key) => drop(self.trusted_keys.remove(&key.name)),
            Entry::Provider(provider) => drop(self.providers.remove(&provider.id)),
        }
    }
}

/// An entry of the directory.
#[derive(Debug, Clone)]
pub enum Entry {
    Client(Arc<Registered>),
    KeyPair(Arc<KeyPair>),
    TrustedKey(Arc<TrustedKey>),
    Provider(Arc<Provider>),
}

impl Entry {
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Client(client) => Arc::clone(&client.id),
            Self::KeyPair(pair) => Arc::clone(&pair.name),
            Self::TrustedKey(key) => Arc::clone(&key.name),
            Self::Provider(provider) => provider.id.to_string().into(),
        }
    }

    pub fn tenant(&self) -> &Tenant {
        match self {
            Self::Client(client) => &client.tenant,
            Self::KeyPair(pair) => &pair.tenant,
            Self::TrustedKey(key) => &key.tenant,
            Self::Provider(provider) => &provider.tenant,
        }
    }

    /// The stored form.
    pub fn record(&self) -> String {
        match self {
            Self::Client(client) => client.record(),
            Self::KeyPair(pair) => pair.record(),
            Self::TrustedKey(key) => key.record(),
            Self::Provider(provider) => provider.record(),
        }
    }
}

/// The directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// A lock, not a task: held only to clone or replace its content.
    known: RwLock<Arc<Known>>,
    /// How often the content was replaced.
    generation: AtomicU64,
    /// How many changes of other processes it includes.
    includes: AtomicU64,
    /// A mutex, not a task: changes are rare, and each waits for the storage. Only other changes
    /// wait for it.
    turn: Arc<Mutex<()>>,
    /// Informed of the registered providers.
    federation: Federation,
}

impl Directory {
    /// An empty directory.
    pub(super) fn new(federation: Federation) -> Self {
        Self(Arc::new(Inner {
            known: RwLock::default(),
            generation: AtomicU64::new(0),
            includes: AtomicU64::new(0),
            turn: Arc::default(),
            federation,
        }))
    }

    pub(super) fn federation(&self) -> &Federation {
        &self.0.federation
    }

    pub fn known(&self) -> Arc<Known> {
        let known = self.0.known.read();
        Arc::clone(&known)
    }

    /// The generation of the content. Read it before [`Self::known`] if results are remembered, and
    /// compare it before they are used.
    pub(super) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// How many changes of other processes it includes.
    pub fn includes(&self) -> u64 {
        self.0.includes.load(Ordering::Acquire)
    }

    /// The exclusive right to change it.
    pub async fn change(&self) -> Change {
        Change {
            _turn: Arc::clone(&self.0.turn).lock_owned().await,
            directory: self.clone(),
        }
    }
}

/// The exclusive right to change the directory.
#[derive(Debug)]
pub struct Change {
    directory: Directory,
    _turn: OwnedMutexGuard<()>,
}

impl Change {
    pub fn known(&self) -> Arc<Known> {
        self.directory.known()
    }

    /// The content includes so many changes of other processes.
    pub fn included(&self, changes: u64) {
        let includes = &self.directory.0.includes;
        includes.fetch_max(changes, Ordering::AcqRel);
    }

    /// Publishes a stored change.
    pub fn edit(&self, edit: impl FnOnce(&mut Known)) {
        let mut known = Known::clone(&self.known());
        edit(&mut known);
        self.replace(known);
    }

    /// Replaces the whole content.
    pub fn replace(&self, known: Known) {
        let inner = &self.directory.0;
        inner.federation.follow(known.providers.values());
        *inner.known.write() = Arc::new(known);
        // After the content: a reader of the earlier generation cannot have seen more than the old
        // content.
        inner.generation.fetch_add(1, Ordering::Release);
        inner.federation.withdrew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Roles, hash::Hash, oidc};
    use crate::clock::Timestamp;

    fn client(tenant: &str, at: i64) -> Registered {
        let hash = Hash::stored("$h");
        Registered::new(
            tenant.into(),
            Roles::default(),
            hash,
            Timestamp::from_micros(at),
        )
    }

    #[tokio::test]
    async fn changes_are_made_one_at_a_time_and_return_what_was_remembered_before() {
        let directory = Directory::new(Federation::new(oidc::Settings::default()));
        let (later, first, others) = (client("t", 2), client("t", 1), client("u", 0));
        let before = directory.generation();
        let change = directory.change().await;
        let mut waiting = Box::pin(directory.change());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        change.edit(|known| {
            for client in [&later, &first, &others] {
                known.put(Entry::Client(client.clone().into()));
            }
        });
        assert_ne!(directory.generation(), before);
        drop(change);
        let known = waiting.await.known();
        let listed: Vec<_> = known.clients(&"t".into());
        let listed: Vec<_> = listed.iter().map(|client| &*client.id).collect();
        assert_eq!(listed, [&*first.id, &*later.id]);
        assert_eq!(
            known.client(&others.id).map(|known| known.tenant.as_str()),
            Some("u")
        );
    }
}
