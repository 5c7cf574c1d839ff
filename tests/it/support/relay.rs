//! A relay between two sockets, which cuts, holds back or delays what passes.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

/// What becomes of connections, and of what passes on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    Open,
    /// Each piece is held back for so long.
    Slow(Duration),
    /// Nothing passes, and no connection ends.
    Silent,
    /// Connections end, and no new one is taken.
    Cut,
}

/// What is done once, on a connection on which the mark was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trick {
    /// The next request arrives; the connection ends in place of the answer.
    LoseAnswer,
    /// The connection ends, and the next request arrives so much later.
    DelayRequest(Duration),
    /// The answer to the next request for a turn is held back until [`Relay::let_go`].
    HoldTurn,
}

/// What a writing connection of the service sends when it is set up.
const MARK: &[u8] = b"force_generic_plan";

/// What it sends to take a turn.
const TURN: &[u8] = b"pg_advisory_xact_lock";

/// How much is passed on at once.
const PIECE: usize = 64 * 1_024;

/// A relay on a port of its own. Dropping it ends it.
pub(crate) struct Relay {
    pub(crate) port: u16,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    target: Mutex<Option<SocketAddr>>,
    passage: watch::Sender<Passage>,
    trick: Mutex<Option<Trick>>,
    /// Whether the answer to a request for a turn is held back.
    holds: watch::Sender<bool>,
}

/// What is known of a connection.
#[derive(Default)]
struct Known {
    /// Whether the mark was sent.
    is_marked: AtomicBool,
    /// Whether its next answer is to be held back.
    is_held: AtomicBool,
}

impl Relay {
    /// A relay to a port of this machine; to none yet, if that is not known.
    pub(crate) async fn to(port: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            target: Mutex::new(port.map(|port| ([127, 0, 0, 1], port).into())),
            passage: watch::Sender::new(Passage::Open),
            trick: Mutex::default(),
            holds: watch::Sender::new(false),
        });
        Self {
            port: own,
            accepting: tokio::spawn(accept(listener, Arc::clone(&state))),
            state,
        }
    }

    /// Has new connections go somewhere else.
    pub(crate) fn aim(&self, target: SocketAddr) {
        *self.state.target.lock().expect("no panic") = Some(target);
    }

    pub(crate) fn set(&self, passage: Passage) {
        self.state.passage.send_replace(passage);
    }

    /// Plays a trick on the next occasion.
    pub(crate) fn play(&self, trick: Trick) {
        let holds = matches!(trick, Trick::HoldTurn);
        self.state.holds.send_replace(holds);
        *self.trick() = Some(trick);
    }

    /// Whether it was played. If not, it will not be any more.
    pub(crate) fn has_played(&self) -> bool {
        self.trick().take().is_none()
    }

    /// Whether it is still to be played.
    pub(crate) fn is_waiting(&self) -> bool {
        self.trick().is_some()
    }

    /// Lets pass what was held back.
    pub(crate) fn let_go(&self) {
        self.state.holds.send_replace(false);
    }

    fn trick(&self) -> MutexGuard<'_, Option<Trick>> {
        self.state.trick.lock().expect("no panic")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.state.passage.send_replace(Passage::Cut);
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((near, _)) = listener.accept().await {
        if *state.passage.borrow() != Passage::Cut {
            tokio::spawn(connect(near, Arc::clone(&state)));
        }
    }
}

/// How the way of the requests ended.
enum Ended {
    Closed,
    /// This is to arrive later.
    Late(Vec<u8>, Duration),
}

async fn connect(near: TcpStream, state: Arc<State>) {
    let target = *state.target.lock().expect("no panic");
    let Some(target) = target else { return };
    let Ok(far) = TcpStream::connect(target).await else {
        return;
    };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let known = Known::default();
    let late = {
        let (near_in, near_out) = near.into_split();
        let (mut far_in, mut far_out) = far.into_split();
        let ended = tokio::select! {
            ended = requests(near_in, &mut far_out, &state, &known) => ended,
            () = answers(&mut far_in, near_out, &state, &known) => Ended::Closed,
        };
        match ended {
            Ended::Closed => None,
            Ended::Late(bytes, delay) => Some((bytes, delay, far_in, far_out)),
        }
    };
    if let Some((bytes, delay, mut far_in, mut far_out)) = late {
        sleep(delay).await;
        if far_out.write_all(&bytes).await.is_ok() {
            let mut rest = Vec::new();
            let _ = timeout(Duration::from_secs(5), far_in.read_to_end(&mut rest)).await;
        }
    }
}

async fn requests(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    state: &State,
    known: &Known,
) -> Ended {
    let mut piece = vec![0; PIECE];
    while let Some(length) = read(&mut from, &mut piece, state).await {
        let bytes = &piece[..length];
        if bytes.windows(MARK.len()).any(|window| window == MARK) {
            known.is_marked.store(true, Ordering::Relaxed);
        } else if known.is_marked.load(Ordering::Relaxed) {
            let mut trick = state.trick.lock().expect("no panic");
            if let Some(Trick::DelayRequest(delay)) = *trick {
                *trick = None;
                return Ended::Late(bytes.to_vec(), delay);
            }
            let has_turn = bytes.windows(TURN.len()).any(|window| window == TURN);
            if has_turn && matches!(*trick, Some(Trick::HoldTurn)) {
                *trick = None;
                known.is_held.store(true, Ordering::Relaxed);
            }
        }
        if to.write_all(bytes).await.is_err() {
            break;
        }
    }
    Ended::Closed
}

async fn answers(
    from: &mut (impl AsyncRead + Unpin),
    mut to: impl AsyncWrite + Unpin,
    state: &State,
    known: &Known,
) {
    let mut piece = vec![0; PIECE];
    while let Some(length) = read(from, &mut piece, state).await {
        if known.is_held.swap(false, Ordering::Relaxed) {
            let mut holds = state.holds.subscribe();
            let _ = holds.wait_for(|holds| !holds).await;
        }
        if known.is_marked.load(Ordering::Relaxed) {
            let mut trick = state.trick.lock().expect("no panic");
            if matches!(*trick, Some(Trick::LoseAnswer)) {
                *trick = None;
                return;
            }
        }
        if to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}

/// The next piece, once it may pass; none at the end.
async fn read(
    from: &mut (impl AsyncRead + Unpin),
    piece: &mut [u8],
    state: &State,
) -> Option<usize> {
    let mut passage = state.passage.subscribe();
    let length = tokio::select! {
        length = from.read(piece) => length.ok().filter(|length| *length > 0)?,
        _ = passage.wait_for(|passage| *passage == Passage::Cut) => return None,
    };
    let passage = passage.wait_for(|passage| *passage != Passage::Silent);
    let passage = *passage.await.ok()?;
    match passage {
        Passage::Cut => return None,
        Passage::Slow(delay) => sleep(delay).await,
        Passage::Open | Passage::Silent => {}
    }
    Some(length)
}
