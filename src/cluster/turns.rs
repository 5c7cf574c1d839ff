//! Whose turn it is on a stream: small messages go before parts of large ones, and requests take
//! turns. The order of what belongs to one request stays.

use std::collections::{HashMap, VecDeque, hash_map::Entry};

use super::frame::{Frame, PART, Request};

/// After how many small messages in a row a part of a large one goes.
const ROW_MAX: u32 = 16;

/// What waits to be sent. With each frame comes something that is held until it was sent.
pub(super) struct Turns<T> {
    waiting: HashMap<Request, VecDeque<(Frame, T)>>,
    /// The requests of which something waits, each once: those whose next frame is small, and the
    /// others.
    small: VecDeque<Request>,
    large: VecDeque<Request>,
    row: u32,
}

impl<T> Turns<T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: HashMap::new(),
            small: VecDeque::new(),
            large: VecDeque::new(),
            row: 0,
        }
    }

    pub(super) fn add(&mut self, frame: Frame, held: T) {
        let request = frame.request();
        match self.waiting.entry(request) {
            Entry::Occupied(waiting) => {
                let waiting = waiting.into_mut();
                // What the request still waits to say is of no use any more, nor is what has arrived
                // of it.
                if matches!(frame, Frame::Cancel(_)) {
                    waiting.clear();
                }
                waiting.push_back((frame, held));
            }
            Entry::Vacant(nothing) => {
                let is_large = frame.is_large();
                nothing.insert(VecDeque::from([(frame, held)]));
                self.queue(request, is_large);
            }
        }
    }

    fn queue(&mut self, request: Request, is_large: bool) {
        let turns = if is_large {
            &mut self.large
        } else {
            &mut self.small
        };
        turns.push_back(request);
    }

    fn whose(&mut self) -> Option<Request> {
        if (self.row < ROW_MAX || self.large.is_empty())
            && let Some(request) = self.small.pop_front()
        {
            self.row = self.row.saturating_add(1);
            return Some(request);
        }
        self.row = 0;
        self.large.pop_front()
    }

    /// What is to be sent next, and what is held until then if it is the last of its frame.
    pub(super) fn next(&mut self) -> Option<(Frame, Option<T>)> {
        let request = self.whose()?;
        let waiting = self.waiting.get_mut(&request)?;
        let next = if let Some(part) = waiting.front_mut()?.0.split(PART) {
            (part, None)
        } else {
            let (frame, held) = waiting.pop_front()?;
            (frame, Some(held))
        };
        match waiting.front().map(|(frame, _)| frame.is_large()) {
            Some(is_large) => self.queue(request, is_large),
            None => {
                self.waiting.remove(&request);
            }
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{super::frame::What, *};

    fn body(parts: usize) -> Bytes {
        vec![7; parts * PART].into()
    }

    fn all(turns: &mut Turns<u32>) -> Vec<(Frame, Option<u32>)> {
        std::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn small_messages_go_first_and_large_ones_in_turns() {
        let mut turns = Turns::new();
        turns.add(Frame::Ask(1, What::Event, body(3)), 1);
        turns.add(Frame::Item(1, body(2)), 2);
        turns.add(Frame::End(1), 3);
        turns.add(Frame::Ask(2, What::Call, body(1)), 4);
        turns.add(Frame::Ping, 5);
        let sent = all(&mut turns);
        let expected = [
            (Frame::Ask(2, What::Call, body(1)), Some(4)),
            (Frame::Ping, Some(5)),
            (Frame::AskPart(1, body(1)), None),
            (Frame::ItemPart(1, body(1)), None),
            // What is left of it is small.
            (Frame::Item(1, body(1)), Some(2)),
            (Frame::End(1), Some(3)),
            (Frame::AskPart(1, body(1)), None),
            (Frame::Ask(1, What::Event, body(1)), Some(1)),
        ];
        assert_eq!(sent, expected);
        assert!(turns.waiting.is_empty());
    }

    #[test]
    fn large_messages_are_not_kept_by_small_ones_for_ever() {
        let mut turns = Turns::new();
        turns.add(Frame::Item(1, body(2)), 0);
        let mut small = 0;
        for number in 2.. {
            turns.add(Frame::End(number), 0);
            let next = turns.next().expect("something waits");
            if next.0 == Frame::ItemPart(1, body(1)) {
                break;
            }
            small += 1;
        }
        assert_eq!(small, ROW_MAX);
    }

    #[test]
    fn what_is_cancelled_is_not_sent_any_more() {
        let mut turns = Turns::new();
        turns.add(Frame::Ask(1, What::Event, body(3)), 1);
        assert_eq!(turns.next(), Some((Frame::AskPart(1, body(1)), None)));
        turns.add(Frame::Item(1, body(1)), 2);
        turns.add(Frame::Cancel(1), 3);
        let sent = all(&mut turns);
        // An answer of that number is of a request of the other node.
        let expected = [
            (Frame::Item(1, body(1)), Some(2)),
            (Frame::Cancel(1), Some(3)),
        ];
        assert_eq!(sent, expected);
    }
}
