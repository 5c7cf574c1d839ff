//! Two ends of a stream between nodes, in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{sync::mpsc, time::sleep};

use super::link::Serve;
use super::seal::Seal;
use super::*;

/// How many bytes of a request's answers may be unread.
const UNREAD_MAX: usize = 1 << 20;

/// Two nodes, of which the second one answers so.
fn links(serve: Serve) -> [Arc<Link>; 2] {
    let (one, other) = (mpsc::channel(8), mpsc::channel(8));
    let nobody: Serve = Arc::new(|_, _, _| stream::empty().boxed());
    let begin = |seal, open, outgoing, mut inbox: mpsc::Receiver<_>, serve| {
        let met = Met {
            peer: Introduction {
                number: 1,
                name: "peer".to_owned(),
                version: VERSION.to_owned(),
                database: String::new(),
            },
            seal: Seal::new([seal; 32]),
            open: Seal::new([open; 32]),
        };
        let incoming = stream::poll_fn(move |cx| inbox.poll_recv(cx)).boxed();
        let pipe = Pipe { incoming, outgoing };
        let ends = Ends {
            at_once: CancellationToken::new(),
            when_idle: CancellationToken::new(),
            is_busy: Arc::new(|| false),
        };
        Link::start(met, pipe, serve, &TaskTracker::new(), ends)
    };
    [
        begin(1, 2, one.0, other.1, nobody),
        begin(2, 1, other.0, one.1, serve),
    ]
}

/// Answers a call with its body, and everything else with one item after the other; how many there
/// were.
fn answering(item: usize) -> (Serve, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let serve: Serve = Arc::new(move |what, body, _| match what {
        What::Call => stream::once(async { body }).boxed(),
        What::Event | What::Http => {
            let made = Arc::clone(&counted);
            let items = std::iter::repeat_with(move || {
                made.fetch_add(1, Ordering::Relaxed);
                Bytes::from(vec![5; item])
            });
            stream::iter(items).boxed()
        }
    });
    (serve, made)
}

async fn echoed(link: &Arc<Link>, body: Bytes) -> Bytes {
    let answers = link.ask(What::Call, body).await;
    let mut answers = answers.expect("a stream");
    let echoed = answers.next().await.expect("a stream").expect("an answer");
    assert_eq!(answers.next().await, Ok(None));
    echoed
}

#[tokio::test]
async fn a_body_of_any_size_arrives_as_it_was() {
    let [link, _peer] = links(answering(0).0);
    for size in [0, 1, frame::PART, frame::PART + 1, UNREAD_MAX * 3 / 2] {
        let body: Bytes = (0..=250).cycle().take(size).collect::<Vec<u8>>().into();
        assert_eq!(echoed(&link, body.clone()).await, body, "{size}");
    }
}

#[tokio::test]
async fn unread_answers_are_bounded_in_bytes_and_do_not_hold_up_others() {
    const ITEM: usize = 128 << 10;
    // What is unread, and one that waits.
    const MOST: usize = UNREAD_MAX / ITEM + 1;
    let (serve, made) = answering(ITEM);
    let [link, _peer] = links(serve);
    let unread = link.ask(What::Event, Bytes::new()).await;
    let mut unread = unread.expect("a stream");
    while made.load(Ordering::Relaxed) < MOST {
        sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..5 {
        sleep(Duration::from_millis(20)).await;
        let small = Bytes::from_static(b"small");
        assert_eq!(echoed(&link, small.clone()).await, small);
    }
    assert_eq!(made.load(Ordering::Relaxed), MOST);
    for _ in 0..MOST + 2 {
        let item = unread.next().await.expect("a stream").expect("an answer");
        assert_eq!(item.len(), ITEM);
    }
}

#[tokio::test]
async fn answers_that_each_take_all_that_may_be_unread_follow_each_other() {
    let [link, _peer] = links(answering(UNREAD_MAX + 1).0);
    let answers = link.ask(What::Http, Bytes::new()).await;
    let mut answers = answers.expect("a stream");
    for _ in 0..3 {
        let item = answers.next().await.expect("a stream").expect("an answer");
        assert_eq!(item.len(), UNREAD_MAX + 1);
    }
}
