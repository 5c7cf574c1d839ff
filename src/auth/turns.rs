//! Fair queues for CPU-heavy work that unauthenticated callers can cause: verifying secrets, and
//! signing tokens for those who know one.
//!
//! The work runs outside of the threads that serve requests, a few pieces at a time. Requests wait
//! in bounded lanes: verified clients precede known ones, and known clients precede unknown ones.
//! Within a lane addresses take turns, so that each delays others by one turn only; if a lane is
//! full, the address with the most requests in it loses its last one.

use std::{
    array,
    collections::{HashMap, VecDeque},
    fmt,
    net::IpAddr,
    num::NonZero,
    sync::Arc,
    thread::available_parallelism,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::workbench::Busy;
use crate::pool::blocking;

/// The origin of a request: the address of the socket's peer. Forwarding headers of proxies are not
/// trusted, since anybody can send them. For IPv6 it is the network, since a client has more
/// addresses than can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

impl Peer {
    /// The address of all whose address is unknown.
    pub const UNKNOWN: Self = Self(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));

    pub fn of(address: IpAddr) -> Self {
        const NETWORK: u128 = !0 << 64;
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() & NETWORK).into()),
            address @ IpAddr::V4(_) => address,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The lane of a piece of work; earlier lanes precede later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// A client whose secret has been verified before.
    Proved,
    /// A known client whose secret is still to be verified.
    Known,
    /// An unknown client. It is handled like a known one, so that timing reveals nothing.
    Unknown,
}

const LANES: usize = 3;

/// Every that many turns the last lane has one, whatever waits in the others.
const LAST_EVERY: u64 = 8;

/// A fair queue. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// How many may wait in each lane, and how many of one address in a lane.
    waiting_max: usize,
    waiting_of_one_max: usize,
    /// A mutex, not a task: held to note who waits, and who is next.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many slots are free.
    places: usize,
    taken: u64,
    lanes: [Waiting; LANES],
}

/// The waiting requests of a lane.
#[derive(Debug, Default)]
struct Waiting {
    by_peer: HashMap<Peer, VecDeque<oneshot::Sender<Slot>>>,
    /// The addresses with waiting requests, in the order of their turns.
    order: VecDeque<Peer>,
    len: usize,
}

/// A slot; dropping it hands it to the next request.
#[derive(Debug)]
struct Slot(Option<Turns>);

impl Turns {
    fn new(places: usize, waiting_max: usize, waiting_of_one_max: usize) -> Self {
        Self(Arc::new(Inner {
            waiting_max,
            waiting_of_one_max,
            state: Mutex::new(State {
                places,
                taken: 0,
                lanes: array::from_fn(|_| Waiting::default()),
            }),
        }))
    }

    /// A queue that leaves at least half of the processors to other work.
    pub(super) fn of_half_the_processors(waiting_max: usize, waiting_of_one_max: usize) -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get);
        Self::new((processors / 2).max(1), waiting_max, waiting_of_one_max)
    }

    /// Runs a piece of work when its turn has come. It continues, and keeps its slot, even if
    /// nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        peer: Peer,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let turn = self.take(lane, peer)?;
        // Its place was given to another address, which has fewer.
        let place = turn.await.map_err(|_| Busy)?;
        let work = blocking(move || {
            let done = work();
            drop(place);
            done
        });
        work.await.ok_or(Busy)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn take(&self, lane: Lane, peer: Peer) -> Result<oneshot::Receiver<Slot>, Busy> {
        let (turn, place) = oneshot::channel();
        let mut state = self.lock();
        if state.places > 0 {
            state.places -= 1;
            drop(state);
            // The receiver still exists.
            let _ = turn.send(Slot(Some(self.clone())));
            return Ok(place);
        }
        let waiting = &mut state.lanes[lane as usize];
        waiting.forget_those_gone(peer);
        let own = waiting.of(peer);
        if own >= self.0.waiting_of_one_max
            || waiting.len >= self.0.waiting_max && !waiting.make_room(own)
        {
            return Err(Busy);
        }
        waiting.add(peer, turn);
        Ok(place)
    }

    /// Hands a slot to the next request.
    fn pass_on(&self) {
        let mut state = self.lock();
        while let Some(turn) = state.next() {
            let Err(mut place) = turn.send(Slot(Some(self.clone()))) else {
                return;
            };
            // The requester is gone; the slot is handed to another here.
            place.0 = None;
        }
        state.places += 1;
    }
}

impl State {
    fn next(&mut self) -> Option<oneshot::Sender<Slot>> {
        self.taken += 1;
        let [first, second, last] = &mut self.lanes;
        if self.taken.is_multiple_of(LAST_EVERY)
            && let Some(turn) = last.next()
        {
            return Some(turn);
        }
        first
            .next()
            .or_else(|| second.next())
            .or_else(|| last.next())
    }
}

impl Waiting {
    fn of(&self, peer: Peer) -> usize {
        self.by_peer.get(&peer).map_or(0, VecDeque::len)
    }

    fn add(&mut self, peer: Peer, turn: oneshot::Sender<Slot>) {
        let own = self.by_peer.entry(peer).or_default();
        if own.is_empty() {
            self.order.push_back(peer);
        }
        own.push_back(turn);
        self.len += 1;
    }

    /// Removes the last request of the address with the most, if that has more than one that would
    /// have `own` with another.
    fn make_room(&mut self, own: usize) -> bool {
        let most = self.by_peer.iter().max_by_key(|(_, turns)| turns.len());
        let Some((&peer, _)) = most.filter(|(_, turns)| turns.len() > own + 1) else {
            return false;
        };
        if let Some(turns) = self.by_peer.get_mut(&peer) {
            turns.pop_back();
            self.len -= 1;
        }
        true
    }

    /// Removes the requests of an address that no longer wait.
    fn forget_those_gone(&mut self, peer: Peer) {
        if let Some(turns) = self.by_peer.get_mut(&peer) {
            let before = turns.len();
            turns.retain(|turn| !turn.is_closed());
            self.len -= before - turns.len();
            if turns.is_empty() {
                self.by_peer.remove(&peer);
                self.order.retain(|other| *other != peer);
            }
        }
    }

    fn next(&mut self) -> Option<oneshot::Sender<Slot>> {
        let peer = self.order.pop_front()?;
        let turns = self.by_peer.get_mut(&peer)?;
        let turn = turns.pop_front();
        self.len -= usize::from(turn.is_some());
        if turns.is_empty() {
            self.by_peer.remove(&peer);
        } else {
            self.order.push_back(peer);
        }
        turn
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::of(IpAddr::from([10, 0, 0, last]))
    }

    /// Takes a turn that must be granted or queued.
    fn take(turns: &Turns, lane: Lane, last: u8) -> oneshot::Receiver<Slot> {
        turns.take(lane, peer(last)).expect("there is room")
    }

    #[test]
    fn addresses_take_turns_and_lanes_go_first_in_their_order() {
        let turns = Turns::new(1, 8, 4);
        let mut working = take(&turns, Lane::Known, 1).try_recv().expect("free");
        let mut waiting = Vec::new();
        for (lane, last) in [
            (Lane::Unknown, 1),
            (Lane::Known, 1),
            (Lane::Known, 1),
            (Lane::Known, 2),
            (Lane::Proved, 3),
        ] {
            waiting.push((lane, last, take(&turns, lane, last)));
        }
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(working);
            let next = waiting
                .iter_mut()
                .enumerate()
                .find_map(|(index, (.., turn))| Some((index, turn.try_recv().ok()?)));
            let (index, place) = next.expect("one of them");
            let (lane, last, _) = waiting.remove(index);
            order.push((lane, last));
            working = place;
        }
        let expected = [
            (Lane::Proved, 3),
            (Lane::Known, 1),
            (Lane::Known, 2),
            (Lane::Known, 1),
            (Lane::Unknown, 1),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_full_lane_has_room_for_an_address_that_has_less_in_it() {
        let turns = Turns::new(1, 4, 3);
        let working = take(&turns, Lane::Known, 9).try_recv().expect("free");
        let mut flood: Vec<_> = (0..3).map(|_| take(&turns, Lane::Known, 1)).collect();
        assert!(turns.take(Lane::Known, peer(1)).is_err(), "its share");
        let _second = take(&turns, Lane::Known, 2);
        // Full: the third address takes the last place of the first.
        let mut third = take(&turns, Lane::Known, 3);
        assert!(
            flood[2]
                .try_recv()
                .is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
        );
        // Other lanes are not affected.
        let _other = take(&turns, Lane::Unknown, 1);
        // Requests that are cancelled make room for others.
        flood.clear();
        let _again = take(&turns, Lane::Known, 1);
        drop(working);
        assert_eq!(turns.lock().places, 0);
        assert!(third.try_recv().is_err(), "the second is first");
    }

    #[test]
    fn a_place_comes_back_if_nobody_waits_for_it() {
        let turns = Turns::new(1, 4, 4);
        let working = take(&turns, Lane::Known, 1).try_recv().expect("free");
        drop(take(&turns, Lane::Known, 2));
        drop(take(&turns, Lane::Unknown, 2));
        drop(working);
        let state = turns.lock();
        let lengths: Vec<_> = state.lanes.iter().map(|lane| lane.len).collect();
        assert_eq!((state.places, lengths), (1, vec![0; LANES]));
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer_and_ipv4_is_the_same_in_both_forms() {
        let of = |text: &str| Peer::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[tokio::test]
    async fn work_is_done_when_its_turn_has_come() {
        let turns = Turns::new(1, 4, 4);
        assert_eq!(turns.run(Lane::Known, peer(1), || 1).await, Ok(1));
        assert_eq!(turns.run(Lane::Unknown, peer(1), || 2).await, Ok(2));
    }
}
