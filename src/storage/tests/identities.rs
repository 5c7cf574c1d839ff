//! Who may call.

use super::*;

fn identity(kind: IdentityKind, name: &str, tenant: &str, record: &str) -> Identity {
    Identity {
        kind,
        name: name.into(),
        tenant: tenant.into(),
        record: record.into(),
    }
}

fn forget(kind: IdentityKind, name: &str, tenant: &str) -> IdentityChange {
    IdentityChange::Forget {
        kind,
        name: name.into(),
        tenant: tenant.into(),
    }
}

async fn change(bench: &Bench, changes: Vec<IdentityChange>) {
    let outcome = bench.storage.change_identities(changes, u64::MAX).await;
    outcome.expect("writes");
}

#[tokio::test]
async fn identities_are_kept_until_they_are_forgotten() {
    use IdentityChange::Keep;
    use IdentityKind::{Client, KeyPair};
    let folder = tempfile::tempdir().expect("a folder");
    let place = DatabaseLocation::File(folder.path().join("interlock.db"));
    let bench = Bench::on(place.clone()).await;
    let before = bench.storage.latest();
    let (one, key) = (
        identity(Client, "a", "one", "1"),
        identity(KeyPair, "a", "two", "2"),
    );
    change(&bench, vec![Keep(one.clone()), Keep(key.clone())]).await;
    assert_eq!(bench.storage.latest(), before, "no commit");
    bench.stop().await;

    let bench = Bench::on(place).await;
    let all = async |bench: &Bench| bench.storage.identities().await.expect("reads");
    assert_eq!(all(&bench).await, [one.clone(), key.clone()]);
    // A name is the first tenant's that has it, and another can neither change it nor take it away.
    let others = identity(Client, "a", "two", "3");
    change(&bench, vec![Keep(others), forget(Client, "a", "two")]).await;
    change(&bench, vec![forget(Client, "b", "one")]).await;
    assert_eq!(all(&bench).await, [one, key.clone()]);
    let changed = identity(Client, "a", "one", "4");
    change(&bench, vec![Keep(changed.clone())]).await;
    assert_eq!(all(&bench).await, [changed, key.clone()]);
    change(&bench, vec![forget(Client, "a", "one")]).await;
    assert_eq!(all(&bench).await, [key]);
    bench.stop().await;
}
