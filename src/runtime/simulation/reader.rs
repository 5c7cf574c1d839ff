//! A reader of the feed, whom crashes cut off like everyone else.
#![cfg(test)]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{
    check::Life,
    world::{World, tenant},
};
use crate::clock::Timestamp;
use crate::entity::{ChangeKind, Changed, Position};
use crate::id::{EntityId, TransactionId};
use crate::storage::{Error, Feed, Storage, Wanted};

/// How long a reader waits for what must be there.
const PATIENCE: Duration = Duration::from_mins(1);

/// Follows from where one was when the last life ended.
async fn resume(world: &World, storage: &Storage) -> Result<Feed, Error> {
    let last = world.ledger().heard.last().map(|change| change.position);
    let wanted = Wanted {
        documents: true,
        ..Wanted::default()
    };
    let after = last.unwrap_or(Position(0));
    storage.follow(&tenant(), wanted, Some(after)).await
}

/// Reads for as long as the service lives.
pub(super) async fn read(world: Arc<World>, storage: Storage) {
    let mut feed = match resume(&world, &storage).await {
        Ok(feed) => feed,
        Err(error) => return world.fail(format!("nobody can follow: {error}")),
    };
    loop {
        match feed.next().await {
            Ok(changes) => world.ledger().heard.extend(changes),
            Err(error) => return world.fail(format!("the feed has ended: {error}")),
        }
    }
}

/// Reads what is left, and holds all that was heard against everything that is recorded: each
/// change once, in the order of commits, as it was.
pub(super) async fn check(
    world: &World,
    storage: &Storage,
    lives: &[Life],
    findings: &mut Vec<String>,
) {
    let mut expected = BTreeMap::new();
    for life in lives {
        for change in life.trail.iter().filter_map(|item| item.change.as_ref()) {
            let document = life.document(change.transaction);
            let item = (life.id, change.kind, change.transaction, change.at);
            expected.insert(change.position, (item, document));
        }
    }
    match resume(world, storage).await {
        Ok(mut feed) => {
            while world.ledger().heard.len() < expected.len() {
                match timeout(PATIENCE, feed.next()).await {
                    Ok(Ok(changes)) => world.ledger().heard.extend(changes),
                    Ok(Err(error)) => findings.push(format!("the feed has ended: {error}")),
                    Err(_) => {
                        findings.push("the feed does not report everything".to_owned());
                        break;
                    }
                }
            }
        }
        Err(error) => findings.push(format!("nobody can follow: {error}")),
    }
    let ledger = world.ledger();
    let heard: Vec<_> = ledger.heard.iter().map(item_of).collect();
    let expected: Vec<_> = expected.into_iter().collect();
    if expected != heard {
        let unlike = expected
            .iter()
            .zip(&heard)
            .find(|(one, other)| one != other);
        findings.push(format!(
            "{} changes were recorded, {} were heard; the first that differ: {unlike:?}",
            expected.len(),
            heard.len()
        ));
    }
}

type FeedItem = (EntityId, ChangeKind, TransactionId, Timestamp);

fn item_of(change: &Changed) -> (Position, (FeedItem, Option<String>)) {
    let document = change.document.as_ref().map(ToString::to_string);
    let item = (change.entity, change.kind, change.transaction, change.at);
    (change.position, (item, document))
}
