//! A batch of n is n singles in one transaction: both come to the same.
#![cfg(test)]

use std::sync::Arc;

use tokio::{sync::mpsc, time::Instant};
use tokio_util::task::TaskTracker;

use super::{
    MODEL, SETTINGS, check,
    definition::Plan,
    people::initiator,
    random::Random,
    set_up,
    world::{World, tenant},
};
use crate::clock::{Clock, Timestamp};
use crate::compute::{Members, Membership, Rejection, Request, Response};
use crate::dispatch::{Callee, CriterionResult, Reply, Tags};
use crate::engine::{Entry, RunRecord};
use crate::entity::{ActorKind, Document};
use crate::error::{Code, Failure};
use crate::id::{EntityId, MemberId, ModelKey};
use crate::runtime::{Initiator, NewEntity, Runtime, Session};
use crate::storage::{Disturbance, Simulated, Storage, TaskKind};

const SEEDS: u64 = 400;

/// What became of a document, without what is another each time: ids, and how long members took.
#[derive(Debug, PartialEq)]
struct Story {
    warnings: Vec<String>,
    state: String,
    document: String,
    transition: Option<String>,
    workflow: Option<String>,
    runs: Vec<RunRecord>,
    /// In the order of their names.
    timers: Vec<(TaskKind, String, Timestamp)>,
}

/// What requests came to.
struct BatchResult {
    /// In the order in which they were made.
    stories: Vec<Story>,
    /// Why requests failed, the first one first.
    failures: Vec<Code>,
    has_boundaries: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Batch,
    Singles,
}

#[test]
fn a_batch_of_n_equals_n_singles() {
    let (mut held, mut refused) = (0, 0);
    for seed in 1..=SEEDS {
        let batch = come_to(seed, How::Batch);
        let singles = come_to(seed, How::Singles);
        assert_eq!(
            batch.failures.first(),
            singles.failures.first(),
            "seed {seed}"
        );
        if batch.failures.is_empty() {
            assert_eq!(batch.stories, singles.stories, "seed {seed}");
            held += 1;
        } else {
            let is_whole = batch.has_boundaries || batch.stories.is_empty();
            assert!(is_whole, "seed {seed}: a part of a batch stays");
            refused += 1;
        }
    }
    let few = SEEDS / 10;
    assert!(
        held > few && refused > few,
        "{held} succeed and {refused} fail"
    );
}

/// Creates what a seed says, under the workflow that it says.
fn come_to(seed: u64, how: How) -> BatchResult {
    let mut random = Random::new(seed);
    let world = World::new(Plan::random(&mut random.fork()), random.fork(), false);
    let documents: Vec<u64> = (0..random.between(2, 6))
        .map(|_| random.below(10))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let clock = Clock::Virtual {
            origin: Instant::now(),
            from: Timestamp::from_micros(1_000_000),
        };
        let undisturbed = Disturbance::new(|_| Box::pin(std::future::ready(true)));
        let database = Arc::<Simulated>::default();
        let storage =
            Storage::open_simulated(&database, undisturbed, clock.clone(), &TaskTracker::new())
                .await
                .expect("opens");
        set_up(&world, &storage).await;
        let members = Members::default();
        let (outbox, inbox) = mpsc::channel(4);
        let joined = members.join(
            &tenant(),
            MemberId::fresh(),
            Tags::parse("m"),
            outbox,
            clock.now(),
        );
        tokio::spawn(answer_all(inbox, joined));
        let client = Client {
            runtime: Runtime::alone(storage.clone(), members, clock, &SETTINGS),
            by: initiator(ActorKind::User, "u"),
        };
        let mut created = Vec::new();
        let mut failures = Vec::new();
        let groups = match how {
            How::Batch => documents.chunks(documents.len()),
            How::Singles => documents.chunks(1),
        };
        let mut from = 0;
        for group in groups {
            match client.create(from, group).await {
                Ok(mut made) => created.append(&mut made),
                Err(failure) => failures.push(failure.code()),
            }
            from += group.len();
        }
        let has_boundaries = world.plan.has_boundaries;
        BatchResult {
            stories: stories(&world, &storage, created, !failures.is_empty()).await,
            failures,
            has_boundaries,
        }
    })
}

struct Client {
    runtime: Runtime,
    by: Initiator,
}

impl Client {
    /// Creates entities in one session.
    async fn create(
        &self,
        from: usize,
        group: &[u64],
    ) -> Result<Vec<(EntityId, Vec<String>)>, Failure> {
        let mut session: Session = self.runtime.session(&self.by, None).await?;
        let mut made = Vec::new();
        for (a, n) in group.iter().zip(from..) {
            let entity = NewEntity {
                model: ModelKey::new(MODEL, 1),
                document: document(n, *a),
            };
            let created = self.runtime.create(&mut session, entity, &self.by).await?;
            made.push((created.id, created.warnings));
        }
        session.finish(&self.by.cancel).await?;
        Ok(made)
    }
}

/// Of what was created; after a failure, of everything that is there all the same.
async fn stories(
    world: &World,
    storage: &Storage,
    created: Vec<(EntityId, Vec<String>)>,
    has_failed: bool,
) -> Vec<Story> {
    let mut lives = check::read(world, storage).await.expect("reads");
    let mut made = created;
    if has_failed {
        made = lives.iter().map(|life| (life.id, Vec::new())).collect();
    }
    assert_eq!(made.len(), lives.len(), "what was created is there");
    made.into_iter()
        .map(|(id, warnings)| {
            let at = lives.iter().position(|life| life.id == id);
            story(lives.swap_remove(at.expect("what was created")), warnings)
        })
        .collect()
}

fn story(life: check::Life, warnings: Vec<String>) -> Story {
    let image = life.current.expect("was made").image;
    let mut timers: Vec<_> = life
        .tasks
        .into_iter()
        .map(|task| (task.kind, task.name.to_string(), task.due))
        .collect();
    timers.sort_unstable();
    let runs = life
        .trail
        .into_iter()
        .flat_map(|recorded| recorded.record.runs);
    Story {
        warnings,
        state: image.state.to_string(),
        document: image.document.as_str().to_owned(),
        transition: image.transition.map(|transition| transition.to_string()),
        workflow: image.workflow.map(|workflow| workflow.to_string()),
        runs: runs.map(without_what_differs).collect(),
        timers,
    }
}

fn without_what_differs(mut run: RunRecord) -> RunRecord {
    // It continues when an earlier part was committed.
    if run.start.is_continued() {
        run.at = 0;
    }
    run.ended.clear();
    for entry in &mut run.entries {
        if let Entry::Called(call) = entry {
            call.member = call.member.take().map(|_| String::new());
            call.micros = 0;
        }
    }
    run
}

fn document(n: usize, a: u64) -> Document {
    Document::parse(&format!(r#"{{"n":{n},"a":{a}}}"#)).expect("JSON")
}

/// A member whose answers follow from what it is asked.
async fn answer_all(mut inbox: mpsc::Receiver<Request>, membership: Membership) {
    while let Some(request) = inbox.recv().await {
        let response = Response {
            outcome: answer(&request),
            warnings: vec![format!("from {}", request.work.callee.name())],
        };
        membership.answered(request.call, response);
    }
}

fn answer(request: &Request) -> Result<Reply, Rejection> {
    let callee = &request.work.callee;
    let attached = request.work.attached.as_ref();
    let (n, a) = attached.map_or((0, 0), |image| {
        let document: serde_json::Value =
            serde_json::from_str(image.document.as_str()).expect("JSON");
        let number = |name: &str| document[name].as_u64().expect("a number");
        (usize::try_from(number("n")).expect("small"), number("a"))
    });
    let name = callee.name().bytes().map(u64::from).sum::<u64>();
    let lot = Random::new(name * 10 + a).below(100);
    if lot < 8 {
        return Err(Rejection {
            message: "no".to_owned(),
            retryable: Some(false),
        });
    }
    Ok(match callee {
        Callee::Criterion { .. } => Reply::Evaluated(CriterionResult {
            matches: lot < 70,
            reason: Some(format!("the lot was {lot}").into()),
        }),
        Callee::Schedule(_) => Reply::Computed {
            kind: "Schedule".to_owned(),
            result: Some(
                Document::parse(&format!(r#"{{"fireAfterMs":{}}}"#, 10 + lot)).expect("JSON"),
            ),
        },
        Callee::Processor(_) => Reply::Processed((lot < 80).then(|| document(n, (a + lot) % 10))),
    })
}
