//! Lines that wait to be written by a thread of their own.
//!
//! The output may be a pipe or a terminal that nobody reads. Then lines are dropped and counted, and
//! nobody waits.

use std::{
    io::{self, Write},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use tracing::warn;

use super::measure;

/// How many bytes wait at most: a second or more of a service that logs everything.
const BYTES_MAX: usize = 4 << 20;

/// Lines on their way to an output. Each write is a line.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// A mutex, not a task: held to append a line.
    state: Mutex<State>,
    /// Something waits, or everything is written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    is_writing: bool,
    /// How many lines were dropped since the start.
    dropped: u64,
}

impl Queue {
    /// Begins to write to an output.
    pub(super) fn write_to(
        self: &Arc<Self>,
        output: impl Write + Send + 'static,
    ) -> io::Result<()> {
        let queue = Arc::clone(self);
        let writer = thread::Builder::new().name("log".to_owned());
        writer.spawn(move || queue.drain_into(output)).map(drop)
    }

    fn drain_into(&self, mut output: impl Write) {
        let mut reported = 0;
        loop {
            let lines = self.take();
            let written = output.write_all(&lines).and_then(|()| output.flush());
            let dropped = {
                let mut state = self.state.lock();
                state.is_writing = false;
                if written.is_err() {
                    state.drop_lines(lines.split_inclusive(|byte| *byte == b'\n').count());
                }
                self.changed.notify_all();
                state.dropped
            };
            // An output that cannot be written would not have this line either.
            if dropped > reported && written.is_ok() {
                reported = dropped;
                warn!(
                    dropped_since_start = dropped,
                    "the log could not be written as fast as it was made, so lines were dropped"
                );
            }
        }
    }

    /// Waits for lines.
    fn take(&self) -> Vec<u8> {
        let mut state = self.state.lock();
        self.changed
            .wait_while(&mut state, |state| state.waiting.is_empty());
        state.is_writing = true;
        std::mem::take(&mut state.waiting)
    }

    /// Waits until everything is written, for so long at most.
    pub(super) fn flush(&self, within: Duration) {
        let mut state = self.state.lock();
        let is_left = |state: &mut State| state.is_writing || !state.waiting.is_empty();
        self.changed.wait_while_for(&mut state, is_left, within);
    }
}

impl State {
    fn drop_lines(&mut self, count: usize) {
        let count = count as u64;
        self.dropped += count;
        measure::lines_dropped(count);
    }
}

impl Write for &Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        if state.waiting.len() + line.len() > BYTES_MAX {
            state.drop_lines(1);
        } else {
            state.waiting.extend_from_slice(line);
            self.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Takes a write when the test lets it.
    struct Slow {
        begun: mpsc::Sender<Vec<u8>>,
        go: mpsc::Receiver<()>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.begun.send(bytes.to_vec()).expect("the test waits");
            self.go.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nobody_waits_for_an_output_that_takes_nothing() {
        let queue = Arc::new(Queue::default());
        let (begun, is_begun) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        queue.write_to(Slow { begun, go: wait }).expect("a thread");
        let log = |line: &[u8]| (&*queue).write_all(line).expect("never fails");
        log(b"first\n");
        assert_eq!(is_begun.recv().expect("begins"), b"first\n");
        queue.flush(Duration::ZERO);
        let line = [b'x'; 1 << 10];
        for _ in 0..BYTES_MAX / line.len() + 3 {
            log(&line);
        }
        assert_eq!(queue.state.lock().dropped, 3);
        go.send(()).expect("it waits");
        assert_eq!(is_begun.recv().expect("the rest").len(), BYTES_MAX);
        go.send(()).expect("it waits");
        queue.flush(Duration::from_mins(1));
        let state = queue.state.lock();
        assert!(state.waiting.is_empty() && !state.is_writing);
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let queue = Arc::new(Queue::default());
        (&*queue).write_all(b"one\ntwo\n").expect("never fails");
        queue
            .write_to(std::fs::File::create("/dev/full").expect("opens"))
            .expect("a thread");
        queue.flush(Duration::from_mins(1));
        assert_eq!(queue.state.lock().dropped, 2);
    }
}
