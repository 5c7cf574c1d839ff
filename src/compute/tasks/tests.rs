//! The channels in virtual time, with a store that remembers what was reported.

use std::collections::{HashMap, VecDeque};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::member::Form;
use super::untaken::Warned;
use super::*;
use crate::clock::Timestamp;
use crate::compute::Principal;
use crate::dispatch::Tags;
use crate::entity::{Actor, ActorKind, Position};
use crate::error::{Code, Failure};
use crate::id::{CallId, MemberId};
use crate::program::Answer;

/// What was reported, and what is answered to it.
#[derive(Debug, Default)]
struct Store {
    ended: Mutex<Vec<(String, u32, Answer, bool)>>,
    discarded: Mutex<Vec<(String, u32)>>,
    answers: Mutex<VecDeque<Result<Reported, Failure>>>,
    standing: Mutex<HashMap<String, Standing>>,
    adopted: Mutex<Option<Adopted>>,
    used: Mutex<Vec<(String, Used)>>,
    kept: Mutex<HashMap<String, TaskSpec>>,
    /// Loads and reports wait while the test has these.
    loading: tokio::sync::Mutex<()>,
    storing: tokio::sync::Mutex<()>,
    changed: Notify,
}

impl Ends for Store {
    fn ended<'a>(
        &'a self,
        _: &'a Tenant,
        task: &'a str,
        end: End,
    ) -> BoxFuture<'a, Result<Reported, Failure>> {
        let answer = self.answers.lock().pop_front();
        let answer = answer.unwrap_or(Ok(Reported::Applied));
        if answer.is_ok() {
            let row = (task.to_owned(), end.attempt, end.answer, end.keeps_writes);
            self.ended.lock().push(row);
        }
        self.changed.notify_waiters();
        Box::pin(async {
            let _ = self.storing.lock().await;
            answer
        })
    }

    fn token(&self, spec: &TaskSpec, attempt: u32) -> Option<Arc<str>> {
        Some(format!("{}#{attempt}", spec.id).into())
    }

    fn discard(&self, _: &Tenant, task: &str, attempt: u32) {
        self.discarded.lock().push((task.to_owned(), attempt));
    }

    fn load<'a>(
        &'a self,
        _: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Option<TaskSpec>, Failure>> {
        let kept = self.kept.lock().get(task).cloned();
        Box::pin(async {
            let _ = self.loading.lock().await;
            Ok(kept)
        })
    }

    fn keep<'a>(&'a self, _: &'a Tenant, task: &'a str, used: Used) -> BoxFuture<'a, ()> {
        let mut kept = self.used.lock();
        kept.push((task.to_owned(), used));
        Box::pin(std::future::ready(()))
    }

    fn adopt<'a>(
        &'a self,
        _: &'a Tenant,
        _: &'a str,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Adopted, Failure>> {
        let adopted = *self.adopted.lock();
        Box::pin(async move { Ok(adopted.unwrap_or(Adopted::Not)) })
    }

    fn standing<'a>(
        &'a self,
        _: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Standing, Failure>> {
        let standing = self.standing.lock().get(task).copied();
        Box::pin(async move { Ok(standing.unwrap_or(Standing::Unknown)) })
    }
}

struct Bench {
    channels: Channels,
    store: Arc<Store>,
    _stop: tokio_util::sync::DropGuard,
}

impl Bench {
    fn new() -> Self {
        Self::with_room(Settings::WAITING_BYTES)
    }

    fn with_room(waiting_bytes_max: usize) -> Self {
        Self::until(CancellationToken::new(), waiting_bytes_max)
    }

    /// With a task that is loaded when a worker asks for it, since there is no room in memory.
    fn with_one_out_of_memory() -> Self {
        let bench = Self::with_room(0);
        let mut kept = bench.store.kept.lock();
        kept.insert("1".to_owned(), task("1"));
        drop(kept);
        bench.worker("w1", 1);
        bench.channels.send(task("1"));
        bench
    }

    /// With a driver that ends when it is told to.
    fn until(end: CancellationToken, waiting_bytes_max: usize) -> Self {
        let clock = Clock::Virtual {
            origin: Instant::now(),
            from: Timestamp::from_micros(0),
        };
        let settings = Settings {
            lease: Duration::from_secs(30),
            waiting_bytes_max,
        };
        let channels = Channels::new(clock, settings);
        let store = Arc::new(Store::default());
        let ends: Arc<dyn Ends> = Arc::<Store>::clone(&store);
        tokio::spawn(channels.run(ends, end.clone()));
        Self {
            channels,
            store,
            _stop: end.drop_guard(),
        }
    }

    fn member(&self, announced: Announced) -> Member {
        let (outbox, inbox) = mpsc::unbounded_channel();
        let id = MemberId::fresh();
        Member {
            id,
            membership: self.channels.join(&tenant(), id, announced, outbox),
            inbox,
        }
    }

    fn worker(&self, id: &str, max: u32) {
        let announced = Announced {
            actions: vec!["a".to_owned()],
            max_concurrency: Some(max),
            ..Announced::default()
        };
        let registered = self.channels.register(&tenant(), id, announced);
        registered.expect("registered");
    }

    fn ask(&self, id: &str, max: usize) -> Asked {
        let actions = ["a".to_owned()];
        let asked = self.channels.ask(&tenant(), "default", id, &actions, max);
        asked.expect("registered")
    }

    async fn pull(&self, id: &str, max: usize, seconds: u64) -> Vec<Leased> {
        let mut asked = self.ask(id, max);
        asked.tasks(Duration::from_secs(seconds)).await;
        asked.received()
    }

    async fn complete(&self, task: &str, worker: Option<&str>) -> Result<Ended, Refused> {
        let answered = Answered::default();
        self.channels.end(&tenant(), task, worker, &answered).await
    }

    async fn touch(
        &self,
        worker: Option<&str>,
        seconds: u64,
        progress: Option<Arc<str>>,
    ) -> Result<Timestamp, Refused> {
        let extend = Some(Duration::from_secs(seconds));
        self.channels
            .touch(&tenant(), "1", worker, extend, progress)
            .await
    }

    /// Waits until so many ends were reported.
    async fn ends(&self, count: usize) -> Vec<(String, u32, Answer, bool)> {
        let wait = async {
            loop {
                let changed = self.store.changed.notified();
                let ended = self.store.ended.lock().clone();
                if ended.len() >= count {
                    return ended;
                }
                changed.await;
            }
        };
        let ended = timeout(Duration::from_hours(100), wait).await;
        ended.expect("the ends are reported")
    }

    async fn end(&self) -> Answer {
        self.ends(1).await.remove(0).2
    }
}

struct Member {
    id: MemberId,
    membership: TaskMembership,
    inbox: mpsc::UnboundedReceiver<Sent>,
}

impl Member {
    async fn task(&mut self) -> Delivery {
        let sent = timeout(Duration::from_hours(100), self.inbox.recv()).await;
        match sent.expect("something is sent").expect("connected") {
            Sent::Task(delivery) => delivery,
            Sent::Cancel { .. } => panic!("a task is cancelled"),
        }
    }

    fn has_none(&mut self) -> bool {
        self.inbox.try_recv().is_err()
    }

    fn answer(&self, call: CallId, answered: Answered<'_>) -> bool {
        self.membership.answered(call, &Form::Task(answered))
    }

    fn done(&self, delivery: &Delivery) {
        assert!(self.answer(delivery.call, Answered::default()));
    }
}

fn tenant() -> Tenant {
    "t".into()
}

fn does(actions: &[&str]) -> Announced {
    Announced {
        actions: actions.iter().map(|&name| name.to_owned()).collect(),
        ..Announced::default()
    }
}

fn task(id: &str) -> TaskSpec {
    TaskSpec {
        id: id.into(),
        tenant: tenant(),
        namespace: "default".into(),
        kind: TaskKind::Action,
        name: "a".into(),
        dispatch: Dispatch::Task,
        tags: Tags::default(),
        labels: Labels::new(),
        priority: 10,
        input: "{}".into(),
        run: None,
        context: None,
        idempotency_key: id.into(),
        principal: Principal {
            actor: Actor {
                kind: ActorKind::User,
                name: "u".into(),
            },
            roles: Arc::default(),
            trace: None,
        },
        timeout: Duration::from_mins(1),
        retries_max: 3,
        retry_delay: Duration::from_secs(1),
        wait: Duration::from_hours(24),
        output_max: 100,
        created: Timestamp::from_micros(0),
        used: Used::default(),
        position: Position(0),
    }
}

fn success() -> Answer {
    Answer::Outcome {
        outcome: "success".into(),
        output: "{}".into(),
    }
}

fn lost(answer: &Answer) -> &str {
    match answer {
        Answer::Lost { code, .. } => code,
        Answer::Outcome { .. } | Answer::Deadline => panic!("{answer:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_sent_to_a_member_that_announced_its_action() {
    let bench = Bench::new();
    let mut other = bench.member(does(&["b"]));
    let mut silent = bench.member(Announced::default());
    let elsewhere = Announced {
        namespace: Some("elsewhere".into()),
        ..does(&["a"])
    };
    let mut elsewhere = bench.member(elsewhere);
    bench.channels.send(task("1"));
    sleep(Duration::from_hours(1)).await;
    let mut member = bench.member(does(&["a"]));
    let delivery = member.task().await;
    assert_eq!((&*delivery.spec.id, delivery.attempt), ("1", 1));
    assert_eq!(
        delivery.deadline,
        Timestamp::from_micros(0).after(Duration::from_mins(61))
    );
    let token = bench.channels.token(&delivery);
    assert_eq!(token.as_deref(), Some("1#1"));
    member.done(&delivery);
    assert_eq!(bench.ends(1).await, [("1".to_owned(), 1, success(), true)]);
    assert!(other.has_none() && silent.has_none() && elsewhere.has_none());
    assert!(bench.channels.view(&tenant(), "1").is_none());
    assert!(!member.answer(delivery.call, Answered::default()), "twice");
}

#[tokio::test(start_paused = true)]
async fn a_member_has_every_tag_and_label_that_is_required() {
    let bench = Bench::new();
    let labelled = |tags: &str, region: &str| Announced {
        tags: Tags::parse(tags),
        labels: [("region".into(), region.into())].into(),
        ..does(&["*"])
    };
    let mut wrong_label = bench.member(labelled("x,y", "us"));
    let mut wrong_tag = bench.member(labelled("x", "eu"));
    let mut right = bench.member(labelled("X,y,z", "eu"));
    bench.channels.send(TaskSpec {
        tags: Tags::parse("x,y"),
        labels: [("region".into(), "eu".into())].into(),
        ..task("1")
    });
    right.task().await;
    assert!(wrong_label.has_none() && wrong_tag.has_none());
}

#[tokio::test(start_paused = true)]
async fn connectors_and_items_go_to_a_member_with_their_tag() {
    let bench = Bench::new();
    let tagged = |tags: &str| Announced {
        tags: Tags::parse(tags),
        ..Announced::default()
    };
    let mut connector = bench.member(tagged("connector:ledger"));
    let mut item = bench.member(tagged("workflow:com.finmars:go"));
    bench.channels.send(TaskSpec {
        kind: TaskKind::Connector,
        name: "ledger".into(),
        ..task("1")
    });
    bench.channels.send(TaskSpec {
        kind: TaskKind::Item,
        name: "com.finmars:go".into(),
        ..task("2")
    });
    assert_eq!(&*connector.task().await.spec.id, "1");
    assert_eq!(&*item.task().await.spec.id, "2");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_announces_nothing_gets_calls_of_processors() {
    let bench = Bench::new();
    let mut member = bench.member(Announced::default());
    bench.channels.send(task("not for it"));
    bench.channels.send(TaskSpec {
        dispatch: Dispatch::Processor,
        ..task("1")
    });
    let delivery = member.task().await;
    assert_eq!(&*delivery.spec.id, "1");
    let answered = Answered {
        output: Some(r#"{"outcome":"late","output":[1]}"#),
        ..Answered::default()
    };
    let form = Form::Processor(answered);
    assert!(member.membership.answered(delivery.call, &form));
    let expected = Answer::Outcome {
        outcome: "late".into(),
        output: "[1]".into(),
    };
    assert_eq!(bench.end().await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_one_with_the_fewest_tasks_is_chosen_and_nobody_has_more_than_it_announced() {
    let bench = Bench::new();
    let limited = |max| Announced {
        max_concurrency: Some(max),
        ..does(&["a"])
    };
    let mut one = bench.member(limited(1));
    let mut two = bench.member(limited(2));
    for id in ["1", "2", "3", "4", "5"] {
        bench.channels.send(task(id));
    }
    let first = one.task().await;
    let others = [two.task().await, two.task().await];
    assert!(one.has_none() && two.has_none());
    one.done(&first);
    assert_eq!(&*one.task().await.spec.id, "4", "the oldest that waits");
    two.done(&others[1]);
    assert_eq!(&*two.task().await.spec.id, "5");
    assert!(one.has_none() && two.has_none());
    let facts = bench
        .channels
        .worker(&tenant(), "default", &two.id.to_string())
        .expect("it is listed");
    assert_eq!((facts.running, facts.max_concurrency), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn higher_priorities_come_first_and_equal_ones_in_the_order_of_their_commits() {
    let bench = Bench::new();
    // After a restart they are found in any order.
    for (id, priority, position) in [
        ("3", 10, 3),
        ("1", 10, 1),
        ("5", 20, 5),
        ("4", 0, 4),
        ("2", 20, 2),
    ] {
        bench.channels.send(TaskSpec {
            priority,
            position: Position(position),
            ..task(id)
        });
    }
    let mut member = bench.member(Announced {
        max_concurrency: Some(1),
        ..does(&["a"])
    });
    let mut order = Vec::new();
    for _ in 0..5 {
        let delivery = member.task().await;
        member.done(&delivery);
        order.push(delivery.spec.id.to_string());
    }
    assert_eq!(order, ["2", "5", "1", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_without_a_taker_fails_after_its_wait() {
    let bench = Bench::new();
    let begun = Instant::now();
    bench.channels.send(task("1"));
    assert_eq!(lost(&bench.end().await), "NO_COMPUTE_MEMBER_FOR_TAG");
    assert_eq!(begun.elapsed().as_secs(), 24 * 60 * 60);
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_taker_is_busy_waits_longer() {
    let bench = Bench::new();
    let mut member = bench.member(Announced {
        max_concurrency: Some(1),
        ..does(&["a"])
    });
    bench.channels.send(TaskSpec {
        timeout: Duration::from_hours(2),
        ..task("1")
    });
    let first = member.task().await;
    bench.channels.send(TaskSpec {
        wait: Duration::from_secs(10),
        ..task("2")
    });
    sleep(Duration::from_hours(1)).await;
    member.done(&first);
    assert_eq!(&*member.task().await.spec.id, "2");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_not_answered_times_out_and_a_late_answer_is_recorded() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    let delivery = member.task().await;
    let begun = Instant::now();
    assert_eq!(bench.end().await, Answer::Deadline);
    assert_eq!(begun.elapsed().as_secs(), 60);
    let cancelled = member.inbox.recv().await;
    assert!(
        matches!(&cancelled, Some(Sent::Cancel { call, .. }) if *call == delivery.call),
        "{cancelled:?}"
    );
    bench.store.answers.lock().push_back(Ok(Reported::Late));
    member.done(&delivery);
    let late = bench.ends(2).await.remove(1);
    assert_eq!(late, ("1".to_owned(), 1, success(), false));
    assert!(!member.answer(delivery.call, Answered::default()), "twice");
}

#[tokio::test(start_paused = true)]
async fn a_touch_extends_the_time_for_an_answer() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    let delivery = member.task().await;
    sleep(Duration::from_secs(50)).await;
    let progress = Some(Arc::from("0.5"));
    let touch = bench.touch(None, 300, progress.clone());
    let until = Timestamp::from_micros(350_000_000);
    assert_eq!(touch.await.expect("it is out"), until);
    let view = bench.channels.view(&tenant(), "1").expect("it is open");
    assert_eq!((view.progress, view.until), (progress, Some(until)));
    let touch = bench.touch(None, 1, None);
    assert_eq!(
        touch.await.expect("it is out"),
        until,
        "no time is taken away"
    );
    sleep(Duration::from_secs(290)).await;
    member.done(&delivery);
    assert_eq!(bench.end().await, success());
}

#[tokio::test(start_paused = true)]
async fn a_lost_member_loses_its_task_to_another_under_the_same_id() {
    let bench = Bench::new();
    let mut one = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    let first = one.task().await;
    let mut two = bench.member(does(&["a"]));
    drop(one);
    let second = two.task().await;
    assert_eq!((&*second.spec.id, second.attempt), ("1", 2));
    assert_ne!(first.call, second.call);
    two.done(&second);
    assert_eq!(bench.ends(1).await[0].1, 2);
    assert_eq!(*bench.store.discarded.lock(), [("1".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_loses_every_member_fails() {
    let bench = Bench::new();
    bench.channels.send(task("1"));
    for attempt in 1..=4 {
        let mut member = bench.member(does(&["a"]));
        assert_eq!(member.task().await.attempt, attempt);
    }
    assert_eq!(lost(&bench.end().await), "COMPUTE_MEMBER_DISCONNECTED");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_delivered_again_after_growing_pauses() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    let begun = Instant::now();
    let mut times = Vec::new();
    for attempt in 1..=4 {
        let delivery = member.task().await;
        times.push(begun.elapsed().as_secs());
        assert_eq!(delivery.attempt, attempt);
        let answered = Answered {
            failed: true,
            retryable: true,
            message: Some("busy"),
            ..Answered::default()
        };
        assert!(member.answer(delivery.call, answered));
    }
    assert_eq!(times, [0, 1, 3, 7]);
    let expected = Answer::Outcome {
        outcome: "failure".into(),
        output: r#"{"error":"busy"}"#.into(),
    };
    assert_eq!(bench.ends(1).await, [("1".to_owned(), 4, expected, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_its_member_has_not_begun_goes_to_another_at_once_and_uses_up_no_retry() {
    let stopping = Answered {
        failed: true,
        code: Some("MEMBER_STOPPING"),
        retryable: true,
        ..Answered::default()
    };
    let forms = [
        (TaskKind::Action, Dispatch::Task),
        (TaskKind::Action, Dispatch::Processor),
        (TaskKind::Connector, Dispatch::Task),
        (TaskKind::Item, Dispatch::Task),
    ];
    for (kind, dispatch) in forms {
        let bench = Bench::new();
        let offered = || Announced {
            tags: Tags::parse("connector:a, workflow:a"),
            ..does(&["a"])
        };
        let answer = |member: &Member, call, answered| {
            let form = match dispatch {
                Dispatch::Task => Form::Task(answered),
                Dispatch::Processor => Form::Processor(answered),
            };
            assert!(member.membership.answered(call, &form));
        };
        bench.channels.send(TaskSpec {
            kind,
            dispatch,
            retries_max: 0,
            ..task("1")
        });
        let begun = Instant::now();
        // More than conflicts are allowed.
        for attempt in 1..=12 {
            let mut member = bench.member(offered());
            let delivery = member.task().await;
            assert_eq!(delivery.attempt, attempt);
            answer(&member, delivery.call, stopping.clone());
            assert!(member.has_none(), "it is about to leave");
            bench.channels.send(task("another"));
            assert!(member.has_none(), "it is about to leave");
            bench.channels.give_up(&tenant(), "another", "");
        }
        let mut member = bench.member(offered());
        let delivery = member.task().await;
        assert!(begun.elapsed().is_zero());
        answer(&member, delivery.call, Answered::default());
        let output = bench.end().await;
        assert_eq!(output, success(), "{kind:?} {dispatch:?}");
        assert_eq!(bench.store.discarded.lock().len(), 12);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_cannot_count_end_the_task() {
    let large = format!("\"{}\"", "x".repeat(100));
    let forms = [
        Form::Unreadable("no object".to_owned()),
        Form::Processor(Answered::default()),
        Form::Task(Answered {
            outcome: Some("_start"),
            ..Answered::default()
        }),
        Form::Task(Answered {
            outcome: Some("execution_failure"),
            ..Answered::default()
        }),
        Form::Task(Answered {
            output: Some(&large),
            ..Answered::default()
        }),
    ];
    for form in forms {
        let bench = Bench::new();
        let mut member = bench.member(does(&["a"]));
        bench.channels.send(task("1"));
        let delivery = member.task().await;
        assert!(member.membership.answered(delivery.call, &form));
        assert_eq!(lost(&bench.end().await), "BAD_REQUEST", "{form:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_the_task_of_another_member_changes_nothing() {
    let bench = Bench::new();
    let mut one = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    let delivery = one.task().await;
    let other = bench.member(does(&["a"]));
    assert!(!other.answer(delivery.call, Answered::default()));
    assert!(!other.membership.knows(delivery.call));
    assert!(one.membership.knows(delivery.call));
    one.done(&delivery);
    bench.ends(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_conflict_delivers_again_at_once_ten_times() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench
        .store
        .answers
        .lock()
        .extend((0..11).map(|_| Ok(Reported::Conflict)));
    bench.channels.send(TaskSpec {
        retries_max: 0,
        ..task("1")
    });
    let begun = Instant::now();
    for attempt in 1..=11 {
        let delivery = member.task().await;
        assert_eq!(delivery.attempt, attempt);
        member.done(&delivery);
    }
    let ends = bench.ends(12).await;
    assert!(begun.elapsed().is_zero());
    let Answer::Outcome { outcome, output } = &ends[11].2 else {
        panic!("{ends:?}")
    };
    assert_eq!(&**outcome, "failure");
    assert!(output.contains("CONFLICT"), "{output}");
    assert!(member.has_none());
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_writes_are_lost_is_delivered_again_after_growing_pauses() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    let lost = (0..20).map(|_| Ok(Reported::Lost));
    bench.store.answers.lock().extend(lost);
    bench.channels.send(TaskSpec {
        retries_max: 0,
        ..task("1")
    });
    let mut pauses = Vec::new();
    let mut before = Instant::now();
    for attempt in 1..=21 {
        let delivery = member.task().await;
        assert_eq!(delivery.attempt, attempt);
        pauses.push(before.elapsed().as_secs());
        before = Instant::now();
        member.done(&delivery);
    }
    assert_eq!(pauses[..8], [0, 1, 2, 4, 8, 16, 32, 32]);
    let ends = bench.ends(21).await;
    let Answer::Outcome { outcome, .. } = &ends[20].2 else {
        panic!("{ends:?}")
    };
    assert_eq!(&**outcome, "success");
    assert!(member.has_none());
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_stored_is_reported_again() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench
        .store
        .answers
        .lock()
        .extend((0..3).map(|_| Err(Failure::internal("disk"))));
    bench.channels.send(task("1"));
    let delivery = member.task().await;
    member.done(&delivery);
    assert_eq!(bench.end().await, success());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_given_up_is_cancelled_at_its_member() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    bench.channels.send(task("1"));
    bench.channels.send(task("2"));
    let delivery = member.task().await;
    member.task().await;
    bench.channels.give_up(&tenant(), "1", "the run ended");
    let Some(Sent::Cancel { task, call, reason }) = member.inbox.recv().await else {
        panic!("no cancel")
    };
    assert_eq!(
        (&*task, call, &*reason),
        ("1", delivery.call, "the run ended")
    );
    assert!(bench.channels.view(&tenant(), "1").is_none());
    assert!(bench.channels.view(&tenant(), "2").is_some());
    // Its answer is recorded all the same.
    member.done(&delivery);
    assert_eq!(bench.ends(1).await[0].0, "1");
}

#[tokio::test(start_paused = true)]
async fn an_accepted_task_that_is_given_up_is_cancelled_at_its_member() {
    let bench = Bench::new();
    let mut member = bench.member(does(&["a"]));
    for id in ["1", "2"] {
        bench.channels.send(task(id));
        let delivery = member.task().await;
        let pending = Answered {
            outcome: Some("pending"),
            ..Answered::default()
        };
        assert!(member.answer(delivery.call, pending));
    }
    bench.ends(2).await;
    sleep(Duration::from_secs(1)).await;
    assert!(bench.channels.view(&tenant(), "1").is_none());
    bench.complete("2", None).await.expect("accepted");
    for id in ["1", "2", "1"] {
        bench.channels.give_up(&tenant(), id, "the run ended");
    }
    let Some(Sent::Cancel { task, .. }) = member.inbox.recv().await else {
        panic!("no cancel")
    };
    assert_eq!(&*task, "1");
    assert!(member.has_none(), "once, and only what is not over");
}

#[tokio::test(start_paused = true)]
async fn a_worker_pulls_tasks_and_ends_them() {
    let bench = Bench::new();
    bench.worker("w1", 2);
    for id in ["1", "2", "3"] {
        bench.channels.send(task(id));
    }
    let taken = bench.pull("w1", 10, 0).await;
    let ids: Vec<_> = taken.iter().map(|task| &*task.spec.id).collect();
    assert_eq!(ids, ["1", "2"], "no more than it announced");
    assert_eq!(taken[0].until, Timestamp::from_micros(30_000_000));
    assert!(bench.pull("w1", 1, 5).await.is_empty());
    let ended = bench.complete("1", Some("w1")).await.expect("it has it");
    assert!(ended.applied && !ended.will_retry);
    assert_eq!(bench.pull("w1", 1, 0).await.len(), 1);
    assert!(matches!(
        bench
            .channels
            .ask(&tenant(), "default", "w2", &["a".to_owned()], 1),
        Err(Refused::NoWorker)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_is_given_the_next_task() {
    let bench = Bench::new();
    bench.worker("w1", 10);
    let begun = Instant::now();
    assert!(bench.pull("w1", 1, 30).await.is_empty());
    assert_eq!(begun.elapsed().as_secs(), 30);
    let (taken, ()) = tokio::join!(bench.pull("w1", 1, 30), async {
        sleep(Duration::from_secs(7)).await;
        bench.channels.send(task("1"));
    });
    assert_eq!(&*taken[0].spec.id, "1");
    assert_eq!(begun.elapsed().as_secs(), 37);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_gives_everything_back() {
    let bench = Bench::new();
    bench.worker("w1", 10);
    bench.worker("w2", 10);
    let ask = |id: &str| bench.ask(id, 1);
    // One that waits, and is dropped before and after it was given something.
    drop(ask("w1"));
    bench.channels.send(task("1"));
    let ready = ask("w1");
    drop(ready);
    let taken = bench.pull("w2", 1, 0).await;
    assert_eq!((&*taken[0].spec.id, taken[0].attempt), ("1", 1));
    let parked = ask("w1");
    bench.channels.send(task("2"));
    drop(parked);
    let taken = bench.pull("w2", 1, 0).await;
    assert_eq!((&*taken[0].spec.id, taken[0].attempt), ("2", 1));
    let facts = bench.channels.worker(&tenant(), "default", "w1");
    assert_eq!(facts.expect("registered").running, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_before_its_tasks_are_received_gives_them_back() {
    let bench = Bench::new();
    bench.worker("w1", 10);
    bench.worker("w2", 10);
    // One that finds a task, and one that waits for it.
    for (is_sent_before, id) in [(true, "1"), (false, "2")] {
        let mut asked = bench.ask("w1", 1);
        if is_sent_before {
            drop(asked);
            bench.channels.send(task(id));
            asked = bench.ask("w1", 1);
        } else {
            bench.channels.send(task(id));
        }
        assert_eq!(asked.tasks(Duration::ZERO).await.len(), 1);
        assert!(bench.pull("w2", 1, 0).await.is_empty(), "w1 has it");
        drop(asked);
        let taken = bench.pull("w2", 1, 0).await;
        assert_eq!((&*taken[0].spec.id, taken[0].attempt), (id, 1));
        bench.complete(id, Some("w2")).await.expect("it has it");
    }
    // One whose lease ends first takes nothing from the worker that has the task then.
    bench.channels.send(task("3"));
    let mut asked = bench.ask("w1", 1);
    asked.tasks(Duration::ZERO).await;
    let taken = bench.pull("w2", 1, 100).await;
    assert_eq!((&*taken[0].spec.id, taken[0].attempt), ("3", 2));
    drop(asked);
    let ended = bench.complete("3", Some("w2")).await.expect("it has it");
    assert!(ended.applied);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_gives_the_task_to_another() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.worker("w2", 1);
    bench.channels.send(task("1"));
    bench.pull("w1", 1, 0).await;
    let touch = |id: &'static str| bench.touch(Some(id), 40, None);
    sleep(Duration::from_secs(20)).await;
    touch("w1").await.expect("it has it");
    assert!(matches!(touch("w2").await, Err(Refused::LeaseLost)));
    let begun = Instant::now();
    let taken = bench.pull("w2", 1, 100).await;
    assert_eq!((&*taken[0].spec.id, taken[0].attempt), ("1", 2));
    assert_eq!(begun.elapsed().as_secs(), 40);
    let late = bench.complete("1", Some("w1")).await;
    assert!(matches!(late, Err(Refused::LeaseLost)), "{late:?}");
    assert!(bench.complete("1", None).await.expect("any caller").applied);
}

#[tokio::test(start_paused = true)]
async fn a_touch_that_does_not_say_for_how_long_keeps_a_lease_within_the_deadline() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.channels.send(task("1"));
    bench.pull("w1", 1, 0).await;
    let (begun, tenant) = (Instant::now(), tenant());
    for until in [49, 60, 60] {
        sleep(Duration::from_secs(19)).await;
        let touch = bench.channels.touch(&tenant, "1", Some("w1"), None, None);
        let until = Timestamp::from_micros(until * 1_000_000);
        assert_eq!(touch.await.expect("it has it"), until);
    }
    assert_eq!(bench.end().await, Answer::Deadline);
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_ask_for_another_delivery() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.channels.send(TaskSpec {
        retries_max: 1,
        ..task("1")
    });
    let failed = Answered {
        failed: true,
        retryable: true,
        message: Some("no"),
        code: Some("X"),
        ..Answered::default()
    };
    for will_retry in [true, false] {
        assert_eq!(bench.pull("w1", 1, 10).await.len(), 1);
        let tenant = tenant();
        let ended = bench.channels.end(&tenant, "1", Some("w1"), &failed).await;
        let ended = ended.expect("it has it");
        assert_eq!(ended.will_retry, will_retry);
    }
    let expected = Answer::Outcome {
        outcome: "failure".into(),
        output: r#"{"error":"no","error_code":"X"}"#.into(),
    };
    assert_eq!(bench.end().await, expected);
}

/// A failure that asks for another delivery.
const AGAIN: Answered<'static> = Answered {
    failed: true,
    outcome: None,
    output: None,
    code: None,
    message: Some("no"),
    retryable: true,
};

#[tokio::test(start_paused = true)]
async fn a_task_continues_with_what_it_has_used_up() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    let used = Used {
        attempt: 3,
        conflicts: 1,
        lost: 0,
        declined: 0,
        waited: 0,
        not_before: Some(10_000_000),
    };
    bench.channels.send(TaskSpec {
        retries_max: 2,
        used,
        ..task("1")
    });
    let begun = Instant::now();
    let taken = bench.pull("w1", 1, 100).await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(taken[0].attempt, 4);
    let ended = bench.channels.end(&tenant(), "1", Some("w1"), &AGAIN).await;
    assert!(
        !ended.expect("it has it").will_retry,
        "the third that counts"
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_while_the_clock_was_ahead_delays_no_task_for_long() {
    let bench = Bench::new();
    bench.worker("w1", 2);
    let ahead = 30 * 86_400_000_000;
    bench.channels.send(TaskSpec {
        used: Used {
            attempt: 1,
            not_before: Some(ahead),
            ..Used::default()
        },
        ..task("1")
    });
    let lease = Lease {
        namespace: "default".into(),
        worker: "gone".into(),
        attempt: 1,
        until: ahead,
        ends: ahead,
    };
    bench.channels.restore(task("2"), &lease);
    let begun = Instant::now();
    for id in ["1", "2"] {
        let taken = bench.pull("w1", 1, 1_000).await;
        assert_eq!((&*taken[0].spec.id, taken[0].attempt), (id, 2));
        bench.complete(id, Some("w1")).await.expect("it has it");
    }
    assert!(begun.elapsed() < Duration::from_secs(400));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_has_used_up_is_stored_before_the_report_is_answered() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.channels.send(task("1"));
    for (attempt, not_before) in [(1, 1_000_000), (2, 3_000_000)] {
        bench.pull("w1", 1, 10).await;
        let ended = bench.channels.end(&tenant(), "1", Some("w1"), &AGAIN).await;
        assert!(ended.expect("it has it").will_retry);
        let used = Used {
            attempt,
            not_before: Some(not_before),
            ..Used::default()
        };
        let kept = bench.store.used.lock().clone();
        assert_eq!(kept.last(), Some(&("1".to_owned(), used)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_moves_between_processes_with_what_it_has_used_up() {
    let mut spec = TaskSpec {
        retries_max: 2,
        ..task("1")
    };
    for attempt in 1..=3 {
        let bench = Bench::new();
        let mut member = bench.member(does(&["a"]));
        bench.channels.send(spec.clone());
        assert_eq!(member.task().await.attempt, attempt);
        drop(member);
        if attempt == 3 {
            assert_eq!(lost(&bench.end().await), "COMPUTE_MEMBER_DISCONNECTED");
        }
        spec.used = bench.channels.used(&tenant(), "1");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_task_has_waited_is_stored_until_it_has_a_taker() {
    let bench = Bench::new();
    let waits = || TaskSpec {
        wait: Duration::from_hours(4),
        ..task("1")
    };
    bench.channels.send(waits());
    sleep(Duration::from_mins(210)).await;
    let mut member = bench.member(does(&["a"]));
    member.task().await;
    sleep(Duration::from_secs(1)).await;
    let hours: Vec<u64> = {
        let kept = bench.store.used.lock();
        kept.iter()
            .map(|(_, used)| used.waited / 3_600_000)
            .collect()
    };
    assert_eq!(hours, [1, 2, 3, 0]);

    let bench = Bench::new();
    let used = Used {
        waited: 3 * 3_600_000,
        ..Used::default()
    };
    bench.channels.send(TaskSpec { used, ..waits() });
    let begun = Instant::now();
    assert_eq!(lost(&bench.end().await), "NO_COMPUTE_MEMBER_FOR_TAG");
    assert_eq!(begun.elapsed().as_secs(), 3_600);
}

#[tokio::test(start_paused = true)]
async fn there_is_one_warning_about_tasks_that_nobody_takes() {
    let bench = Bench::new();
    let mut warned = Warned::default();
    for id in ["1", "2"] {
        bench.channels.send(TaskSpec {
            wait: Duration::from_hours(4),
            ..task(id)
        });
    }
    let mut warnings = || bench.channels.untaken(&mut warned).len();
    assert_eq!(warnings(), 0);
    sleep(Duration::from_secs(11)).await;
    assert_eq!((warnings(), warnings()), (1, 0));
    sleep(Duration::from_mins(11)).await;
    assert_eq!((warnings(), warnings()), (1, 0));
    sleep(Duration::from_mins(11)).await;
    // One that is busy will take the other.
    let mut member = bench.member(does(&["a"]));
    member.task().await;
    assert_eq!(warnings(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_for_another_delivery_changes_nothing() {
    let bench = Bench::with_room(0);
    let spec = task("1");
    let kept = || bench.store.kept.lock();
    kept().insert("1".to_owned(), spec.clone());
    bench.worker("w1", 1);
    bench.worker("w2", 1);
    bench.channels.send(spec);
    let tenant = tenant();
    let fail = || bench.channels.end(&tenant, "1", Some("w1"), &AGAIN);
    // Nobody has it yet, it pauses, and it waits after its lease was lost.
    assert!(fail().await.expect("it waits").will_retry);
    assert_eq!(bench.pull("w1", 1, 10).await[0].attempt, 1);
    for _ in 0..2 {
        let ended = fail().await.expect("it is delivered again");
        assert!(ended.applied && ended.will_retry);
    }
    assert_eq!(bench.pull("w1", 1, 10).await[0].attempt, 2);
    let left = bench.channels.deregister(&tenant, "default", "w1");
    left.expect("registered");
    assert!(fail().await.expect("it waits").will_retry);
    assert_eq!(bench.pull("w2", 1, 10).await[0].attempt, 3);
    assert!(matches!(fail().await, Err(Refused::LeaseLost)));
    assert!(bench.store.ended.lock().is_empty());

    // Another process has it, and then nobody.
    let ask = || bench.channels.end(&tenant, "2", Some("w1"), &AGAIN);
    let standing = || bench.store.standing.lock();
    standing().insert("2".to_owned(), Standing::Open);
    assert!(ask().await.expect("it is open").will_retry);
    let accepted = Standing::Accepted { until: None };
    standing().insert("2".to_owned(), accepted);
    assert!(!ask().await.expect("it ends").will_retry);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_while_it_is_loaded_is_not_delivered() {
    let bench = Bench::with_one_out_of_memory();
    let loading = bench.store.loading.lock().await;
    let storing = bench.store.storing.lock().await;
    let ending = async {
        sleep(Duration::from_secs(1)).await;
        let let_go = async {
            sleep(Duration::from_secs(1)).await;
            drop(loading);
            sleep(Duration::from_secs(1)).await;
            drop(storing);
        };
        tokio::join!(bench.complete("1", None), let_go).0
    };
    let (delivered, ended) = tokio::join!(bench.pull("w1", 1, 10), ending);
    assert!(ended.expect("nobody has it").applied);
    assert!(delivered.is_empty(), "{delivered:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_out_of_memory_whose_end_conflicts_is_delivered_again() {
    let bench = Bench::with_one_out_of_memory();
    let loading = bench.store.loading.lock().await;
    let conflict = Ok(Reported::Conflict);
    bench.store.answers.lock().push_back(conflict);
    let ending = async {
        sleep(Duration::from_secs(1)).await;
        let _ = bench.complete("1", None).await;
        drop(loading);
    };
    let (delivered, ()) = tokio::join!(bench.pull("w1", 1, 10), ending);
    assert_eq!(delivered.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_no_channel_holds_is_asked_of_who_started_it() {
    let bench = Bench::new();
    let answers = [Reported::Applied, Reported::Late, Reported::Unknown];
    bench
        .store
        .answers
        .lock()
        .extend(answers.into_iter().map(Ok));
    assert!(bench.complete("1", None).await.expect("accepted").applied);
    assert!(!bench.complete("1", None).await.expect("late").applied);
    let unknown = bench.complete("1", None).await;
    assert!(matches!(unknown, Err(Refused::NoTask)));
    let touch = || bench.touch(None, 1, None);
    assert!(matches!(touch().await, Err(Refused::NoTask)));
    let stands = |standing| {
        let mut standings = bench.store.standing.lock();
        standings.insert("1".to_owned(), standing);
    };
    stands(Standing::Closed("completed"));
    assert!(matches!(touch().await, Err(Refused::Finished("completed"))));
    let second = Duration::from_secs(1);
    let now = bench.channels.lock().desk.clock.now();
    let (sooner, asked, later) = (second / 2, second, second * 2);
    // Nothing moves the limit of its step.
    for (limit, answered) in [(None, asked), (Some(sooner), sooner), (Some(later), asked)] {
        stands(Standing::Accepted {
            until: limit.map(|limit| now.after(limit)),
        });
        let until = touch().await.expect("its outcome is waited for");
        assert_eq!(until, now.after(answered), "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_recorded_until_the_end_and_nothing_else_ends_a_task_after_the_stop() {
    let (stop, end) = (CancellationToken::new(), CancellationToken::new());
    let bench = Bench::until(end.clone(), Settings::WAITING_BYTES);
    bench.channels.stop_with(stop.clone());
    bench.worker("w1", 3);
    let once = |id| TaskSpec {
        retries_max: 0,
        ..task(id)
    };
    let mut member = bench.member(Announced {
        max_concurrency: Some(1),
        ..does(&["a"])
    });
    bench.channels.send(once("1"));
    member.task().await;
    for id in ["2", "3"] {
        bench.channels.send(once(id));
        assert_eq!(bench.pull("w1", 1, 10).await.len(), 1);
    }
    stop.cancel();
    // Neither a lost member nor the end of a lease is an answer.
    drop(member);
    sleep(Duration::from_mins(2)).await;
    assert!(bench.store.ended.lock().is_empty());
    let ended = bench.complete("2", Some("w1")).await;
    assert!(ended.expect("recorded").applied);
    assert_eq!(bench.ends(1).await.len(), 1);
    end.cancel();
    sleep(Duration::from_secs(1)).await;
    let refused = bench.complete("3", Some("w1")).await;
    assert!(
        matches!(&refused, Err(Refused::Failed(failure))
            if failure.code() == Code::StorageUnavailable && failure.retryable()),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_another_process_has_is_refused_and_not_acknowledged() {
    let bench = Bench::new();
    let conflicts = |refused: Refused| {
        matches!(refused, Refused::Failed(failure)
            if failure.code() == Code::Conflict && failure.retryable())
    };
    let touch = || bench.touch(Some("w1"), 1, None);
    let standings = || bench.store.standing.lock();
    standings().insert("1".to_owned(), Standing::Open);
    // It is out, and nobody knows with whom: nothing can be extended.
    assert!(conflicts(touch().await.expect_err("not extended")));
    let adopted = |adopted| {
        *bench.store.adopted.lock() = Some(adopted);
    };
    adopted(Adopted::Here);
    assert!(conflicts(touch().await.expect_err("it has moved on")));
    let ended = bench.complete("1", Some("w1")).await;
    assert!(conflicts(ended.expect_err("it has moved on")));
    adopted(Adopted::Lost);
    assert!(matches!(touch().await, Err(Refused::LeaseLost)));
    let ended = bench.complete("1", Some("w1")).await;
    assert!(matches!(ended, Err(Refused::LeaseLost)));
    let tenant = tenant();
    let again = bench.channels.end(&tenant, "1", Some("w1"), &AGAIN).await;
    assert!(matches!(again, Err(Refused::LeaseLost)));
    assert!(bench.store.ended.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_report_that_fails_leaves_the_task_with_its_worker() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.channels.send(task("1"));
    bench.pull("w1", 1, 0).await;
    let failure = Failure::new(Code::TooManyRequests, "later");
    bench.store.answers.lock().push_back(Err(failure));
    let refused = bench.complete("1", Some("w1")).await;
    assert!(matches!(refused, Err(Refused::Failed(_))));
    let view = bench.channels.view(&tenant(), "1").expect("it is open");
    assert_eq!(view.taken_by.as_deref(), Some("w1"));
    assert!(
        bench
            .complete("1", Some("w1"))
            .await
            .expect("it has it")
            .applied
    );
}

#[tokio::test(start_paused = true)]
async fn a_drained_worker_gets_nothing_and_a_deregistered_one_loses_what_it_had() {
    let bench = Bench::new();
    bench.worker("w1", 5);
    bench.channels.send(task("1"));
    assert_eq!(bench.pull("w1", 1, 0).await.len(), 1);
    let drained = bench.channels.drain(&tenant(), "default", "w1");
    assert!(drained.expect("registered").draining);
    bench.channels.send(task("2"));
    assert!(bench.pull("w1", 1, 20).await.is_empty());
    let beat = bench
        .channels
        .heartbeat(&tenant(), "default", "w1", Some(0.5));
    let beat = beat.expect("registered");
    assert!(beat.draining && beat.healthy && beat.load == Some(0.5));
    bench.worker("w2", 5);
    let left = bench.channels.deregister(&tenant(), "default", "w1");
    assert_eq!(left.expect("registered").running, 1);
    assert_eq!(bench.pull("w2", 5, 0).await.len(), 2);
    let gone = bench.channels.heartbeat(&tenant(), "default", "w1", None);
    assert!(matches!(gone, Err(Refused::NoWorker)));
    // Registered again, a worker is not draining any more.
    bench.worker("w1", 5);
    let facts = bench.channels.worker(&tenant(), "default", "w1");
    assert!(!facts.expect("registered").draining);
    let member = bench.member(does(&["a"]));
    let id = member.id.to_string();
    let left = bench.channels.deregister(&tenant(), "default", &id);
    assert!(matches!(left, Err(Refused::IsMember)));
    assert!(bench.channels.drain(&tenant(), "default", &id).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_silent_worker_is_unhealthy() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    let healthy = || {
        let facts = bench.channels.worker(&tenant(), "default", "w1");
        facts.expect("registered").healthy
    };
    sleep(Duration::from_secs(90)).await;
    assert!(healthy());
    sleep(Duration::from_secs(1)).await;
    assert!(!healthy());
    bench.pull("w1", 1, 0).await;
    assert!(healthy());
    // While it waits for tasks, it is not silent.
    tokio::join!(bench.pull("w1", 1, 300), async {
        sleep(Duration::from_secs(299)).await;
        assert!(healthy());
    });
}

#[tokio::test(start_paused = true)]
async fn tasks_that_wait_take_little_memory() {
    let bench = Bench::with_room(0);
    for id in ["1", "2", "3"] {
        let spec = task(id);
        let mut kept = bench.store.kept.lock();
        kept.insert(id.to_owned(), spec.clone());
        drop(kept);
        bench.channels.send(spec);
    }
    bench.channels.send(task("not wanted any more"));
    let mut member = bench.member(Announced {
        max_concurrency: Some(1),
        ..does(&["a"])
    });
    for id in ["1", "2", "3"] {
        let delivery = member.task().await;
        assert_eq!(&*delivery.spec.id, id);
        member.done(&delivery);
    }
    bench.ends(3).await;
    bench.worker("w1", 1);
    bench.channels.send(task("4"));
    drop(member);
    bench.store.kept.lock().insert("5".to_owned(), task("5"));
    bench.channels.send(task("5"));
    assert_eq!(&*bench.pull("w1", 1, 5).await[0].spec.id, "5");
}

#[tokio::test(start_paused = true)]
async fn one_tenant_does_not_see_the_tasks_of_another() {
    let bench = Bench::new();
    bench.worker("w1", 1);
    bench.channels.send(TaskSpec {
        tenant: "other".into(),
        ..task("1")
    });
    let mut member = bench.member(does(&["*"]));
    assert!(bench.pull("w1", 1, 10).await.is_empty());
    assert!(member.has_none());
    assert!(bench.channels.view(&tenant(), "1").is_none());
    bench.channels.give_up(&tenant(), "1", "no");
    assert!(bench.channels.view(&"other".into(), "1").is_some());
}
