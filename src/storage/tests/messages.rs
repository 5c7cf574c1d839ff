//! Messages that several units delete.
#![cfg(test)]

use super::*;
use crate::id::EdgeMessageId;

fn message(text: &str) -> Message {
    Message {
        header: Json::trusted("{}"),
        metadata: Json::trusted("{}"),
        content: Json::trusted(format!("\"{text}\"")),
    }
}

async fn sent(bench: &Bench, text: &str) -> EdgeMessageId {
    let mut unit = bench.unit();
    let id = unit.put_message(message(text)).expect("fits");
    commit(unit).await.expect("commits");
    id
}

/// A unit that has found a message and deletes it.
async fn taking(bench: &Bench, id: EdgeMessageId, if_gone: IfGone) -> UnitOfWork {
    let mut unit = bench.unit();
    assert!(unit.take_message(id, if_gone).await.expect("reads"));
    unit
}

async fn the_first_committer_deletes_it(one: &Bench, other: &Bench) {
    for bench in [one, other] {
        bench.storage.0.usage.begin();
    }
    sent(one, "kept").await;
    let before = one.storage.stored_bytes(&tenant());
    assert!(before > 0);
    for if_gone in [IfGone::Refuse, IfGone::Conflict, IfGone::Ignore] {
        let id = sent(one, "deleted").await;
        let first = taking(one, id, if_gone).await;
        let second = taking(other, id, if_gone).await;
        commit(first).await.expect("commits");
        let outcome = commit(second).await;
        let fits = match if_gone {
            IfGone::Refuse => matches!(outcome, Err(Error::MessageNotFound(gone)) if gone == id),
            IfGone::Conflict => matches!(outcome, Err(Error::Conflict)),
            IfGone::Ignore => outcome.is_ok(),
        };
        assert!(fits, "{if_gone:?}: {outcome:?}");
        let again = one.unit().take_message(id, if_gone).await;
        assert!(!again.expect("reads"));
    }
    // Twice in a list, and by several units at once.
    let id = sent(one, "deleted").await;
    let list = |bench: &Bench| {
        let mut unit = bench.unit();
        let ids = [id, id, EdgeMessageId::fresh()];
        unit.drop_messages(&ids).expect("fits");
        unit
    };
    let units = [list(one), list(one), list(other)];
    let outcomes = futures_util::future::join_all(units.map(commit)).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    // One that nobody else has seen.
    let mut unit = one.unit();
    let own = unit.put_message(message("own")).expect("fits");
    let took = unit.take_message(own, IfGone::Conflict).await;
    assert!(took.expect("reads"));
    commit(unit).await.expect("commits");
    for bench in [one, other] {
        bench.storage.refresh().await.expect("catches up");
        assert_eq!(bench.storage.stored_bytes(&tenant()), before);
    }
}

#[tokio::test]
async fn the_first_unit_deletes_a_message_and_gives_its_bytes_back() {
    let bench = Bench::start().await;
    the_first_committer_deletes_it(&bench, &bench).await;
    bench.stop().await;
}

#[tokio::test]
async fn of_several_processes_the_first_deletes_a_message_and_gives_its_bytes_back() {
    let database = database::Database::new(|_| {});
    let one = Bench::beside(&database, Clock::System).await;
    let other = Bench::beside(&database, Clock::System).await;
    the_first_committer_deletes_it(&one, &other).await;
    one.stop().await;
    other.stop().await;
}
