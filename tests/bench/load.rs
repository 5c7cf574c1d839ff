//! Closed loops: so many requests in flight, each followed by the next when it is answered.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use interlock::event::frame::Frame;
use tokio::{sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::{
    message::{answered, succeeded},
    process::Client,
};

/// How long a load runs: first unmeasured, then measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    warm_up: Duration,
    length: Duration,
}

impl Span {
    pub(crate) fn of(length: Duration) -> Self {
        Self {
            warm_up: length / 5,
            length,
        }
    }

    /// From the beginning of the warm-up to the end.
    pub(crate) fn in_all(self) -> Duration {
        self.warm_up + self.length
    }
}

/// What came of a load.
#[derive(Clone)]
pub(crate) struct Measured {
    /// In nanoseconds.
    latencies: Histogram<u64>,
    length: Duration,
    /// How many items one recorded latency stands for.
    group: u32,
    /// How many items there were, the unmeasured ones included.
    pub(crate) total: u32,
}

impl Measured {
    pub(crate) fn latency(&self, quantile: f64) -> Duration {
        Duration::from_nanos(self.latencies.value_at_quantile(quantile))
    }

    /// Items per second.
    pub(crate) fn rate(&self) -> f64 {
        let count = u32::try_from(self.latencies.len()).expect("a run is short");
        f64::from(count) * f64::from(self.group) / self.length.as_secs_f64()
    }

    /// Both together.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.latencies
            .add(&other.latencies)
            .expect("both hold the same range");
        self.length += other.length;
        self.total += other.total;
        self
    }
}

/// Takes the times of a load while it runs.
pub(crate) struct Recorder {
    from: Instant,
    until: Instant,
    measured: Measured,
}

impl Recorder {
    pub(crate) fn new(span: Span, group: usize) -> Self {
        const LONGEST_NS: u64 = 60_000_000_000;
        let from = Instant::now() + span.warm_up;
        Self {
            from,
            until: from + span.length,
            measured: Measured {
                latencies: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that fit"),
                length: span.length,
                group: u32::try_from(group).expect("a group is small"),
                total: 0,
            },
        }
    }

    /// The time, unless it is up.
    pub(crate) fn begin(&self) -> Option<Instant> {
        let now = Instant::now();
        (now < self.until).then_some(now)
    }

    pub(crate) fn record(&mut self, began: Instant) {
        self.record_until(began, Instant::now());
    }

    /// The same for what ended before now.
    pub(crate) fn record_until(&mut self, began: Instant, now: Instant) {
        self.measured.total += self.measured.group;
        if (self.from..self.until).contains(&now) {
            let nanos = u64::try_from((now - began).as_nanos()).unwrap_or(u64::MAX);
            self.measured.latencies.saturating_record(nanos);
        }
    }

    pub(crate) fn finish(self) -> Measured {
        self.measured
    }
}

/// Unary calls: callers share the connections.
pub(crate) async fn unary(
    clients: &[Client],
    in_flight: usize,
    span: Span,
    request: impl Fn(&str) -> Frame + Clone + Send + 'static,
) -> Measured {
    callers(in_flight, span, |caller| {
        let (client, request) = (clients[caller % clients.len()].clone(), request.clone());
        move |id: String| {
            let (mut client, frame) = (client.clone(), request(&id));
            async move {
                let answer = client.entity_manage(frame).await.expect("an answer");
                succeeded(answer.into_inner());
            }
        }
    })
    .await
}

/// Callers, each of whom calls again when it is answered; every call has an id of its own.
pub(crate) async fn callers<Call, Answer>(
    in_flight: usize,
    span: Span,
    caller: impl Fn(usize) -> Call,
) -> Measured
where
    Call: Fn(String) -> Answer + Send + 'static,
    Answer: Future<Output = ()> + Send,
{
    let recorder = Arc::new(Mutex::new(Recorder::new(span, 1)));
    let lock = |recorder: &Mutex<Recorder>, began| {
        let mut recorder = recorder.lock().expect("no panic");
        if let Some(began) = began {
            recorder.record(began);
        }
        recorder.begin()
    };
    let mut callers = JoinSet::new();
    for number in 0..in_flight {
        let (call, recorder) = (caller(number), Arc::clone(&recorder));
        callers.spawn(async move {
            let mut next = lock(&recorder, None);
            let mut count = 0_u32;
            while let Some(began) = next {
                count += 1;
                call(format!("c{number}-{count}")).await;
                next = lock(&recorder, Some(began));
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller does not panic");
    }
    let recorder = Arc::into_inner(recorder).expect("all callers have ended");
    recorder.into_inner().expect("no panic").finish()
}

/// One stream: what is in flight is on it.
pub(crate) async fn stream(
    client: &Client,
    in_flight: usize,
    span: Span,
    request: impl Fn(&str) -> Frame,
) -> Measured {
    let (outbox, frames) = mpsc::unbounded_channel();
    let mut answers = client
        .clone()
        .start_streaming(UnboundedReceiverStream::new(frames))
        .await
        .expect("a stream")
        .into_inner();
    let mut recorder = Recorder::new(span, 1);
    let mut count = 0_u32;
    let mut send = |slot: usize| {
        count += 1;
        outbox
            .send(request(&format!("{slot}-{count}")))
            .expect("the stream is open");
    };
    let mut begun = vec![Instant::now(); in_flight];
    (0..in_flight).for_each(&mut send);
    let mut out = in_flight;
    while out > 0 {
        let frame = answers.message().await.expect("an open stream");
        let answer = succeeded(frame.expect("an answer"));
        let (slot, _) = answered(&answer).split_once('-').expect("an id of ours");
        let slot: usize = slot.parse().expect("an id of ours");
        recorder.record(begun[slot]);
        match recorder.begin() {
            Some(now) => {
                begun[slot] = now;
                send(slot);
            }
            None => out -= 1,
        }
    }
    recorder.finish()
}
