//! Opens streams to one server, one after the other.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{Stream as FuturesStream, future::BoxFuture};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tonic::{
    Request, Streaming,
    metadata::{AsciiMetadataKey, AsciiMetadataValue},
    transport::{Channel, Endpoint},
};

use crate::{
    Code, Error, Result, TokenSource,
    ahead::{Ahead, ReadAhead},
    generated::{
        cloudevents::CloudEvent, service::cloud_events_service_client::CloudEventsServiceClient,
    },
    options::ConnectOptions,
    stream::{Outbox, Receiver, Stream},
    sync::locked,
    version,
};

/// How long a server may take to accept a stream.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two attempts the delay doubles, and is never quite the same.
pub(crate) const DELAY_FIRST: Duration = Duration::from_millis(100);
pub(crate) const DELAY_MAX: Duration = Duration::from_secs(5);

/// What a new stream serves.
pub(crate) trait Peer: Receiver {
    /// The event with which it joins.
    fn join(&self) -> Result<CloudEvent>;

    /// Checks what the server answers to that, on this stream.
    fn joined(&self, on: &Stream, greeting: &CloudEvent) -> Result<()>;
}

pub(crate) struct Connection {
    options: ConnectOptions,
    endpoint: Endpoint,
    channel: Mutex<Option<Channel>>,
    peer: OnceLock<Weak<dyn Peer>>,
    closed: CancellationToken,
    current: Mutex<Option<Arc<Stream>>>,
    /// Why there is no stream, as far as it is known.
    failed: Mutex<Option<Error>>,
    /// Held by the one that opens a stream.
    opening: tokio::sync::Mutex<Opening>,
    /// Answers that have calls of their own, and an end.
    answers: Ahead,
}

#[derive(Default)]
struct Opening {
    delay: Duration,
    /// No attempt is made before.
    next: Option<Instant>,
    /// When the stream before was opened, until that has been taken account of.
    opened: Option<Instant>,
}

impl Opening {
    /// Has the next attempt wait: longer than this one did, and never quite as long.
    fn postpone(&mut self) {
        self.delay = DELAY_MAX.min(DELAY_FIRST.max(self.delay * 2));
        self.next = Some(Instant::now() + jittered(self.delay));
    }
}

fn jittered(delay: Duration) -> Duration {
    delay.mul_f64(0.5 + fastrand::f64() / 2.0)
}

impl Connection {
    pub(crate) fn new(options: ConnectOptions) -> Result<Self> {
        metadata_of(&options, None, &mut Request::new(()))?;
        Ok(Self {
            endpoint: options.endpoint()?,
            options,
            channel: Mutex::default(),
            peer: OnceLock::new(),
            closed: CancellationToken::new(),
            current: Mutex::default(),
            failed: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            answers: Ahead::default(),
        })
    }

    /// Lets the peer serve the streams that will be opened.
    pub(crate) fn serve(&self, peer: Weak<dyn Peer>) {
        // There is one for each connection.
        let _ = self.peer.set(peer);
    }

    pub(crate) fn target(&self) -> &str {
        &self.options.target
    }

    /// Is cancelled when the connection is closed.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// The open stream, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Stream>> {
        let current = locked(&self.current).clone();
        current.filter(|open| open.failure().is_none())
    }

    #[cfg(test)]
    pub(crate) fn use_stream(&self, open: Arc<Stream>) {
        *locked(&self.current) = Some(open);
    }

    fn channel(&self) -> Channel {
        locked(&self.channel)
            .get_or_insert_with(|| self.endpoint.connect_lazy())
            .clone()
    }

    fn service(&self) -> CloudEventsServiceClient<Channel> {
        CloudEventsServiceClient::new(self.channel())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }

    /// Waits for outstanding answers, for so long at most, then disconnects. To shut down once
    /// more does nothing.
    pub(crate) async fn shut_down(&self, patience: Duration) {
        if !self.closed.is_cancelled() {
            let answered = async {
                if let Some(open) = self.current() {
                    open.close_after_answers().await;
                }
                self.answers.ended().await;
            };
            // What is not answered in time is given up.
            let _ = timeout(patience, answered).await;
        }
        self.closed.cancel();
    }

    fn unreachable(&self, because: Option<&Error>) -> Error {
        let because = because.map(|error| format!(": {}", error.message()));
        let (target, waited) = (self.target(), self.options.connect_timeout);
        let because = because.unwrap_or_default();
        Error::lost(format!(
            "no answer from {target} within {waited:?}{because}"
        ))
        .retryable()
    }

    /// Waits until the server can be reached. It opens no stream: a server ends silent ones.
    pub(crate) async fn connect(&self) -> Result<()> {
        let until = Instant::now() + self.options.connect_timeout;
        let mut delay = DELAY_FIRST;
        let mut last = None;
        while self.current().is_none() {
            match timeout_at(until, self.endpoint.connect()).await {
                Ok(Ok(connected)) => {
                    locked(&self.channel).get_or_insert(connected);
                    break;
                }
                Ok(Err(source)) => {
                    last = Some(Error::caused(
                        Code::ConnectionLost,
                        "cannot connect",
                        source,
                    ));
                }
                Err(_) => return Err(self.unreachable(last.as_ref())),
            }
            if timeout_at(until, self.pause(delay))
                .await
                .map_err(|_| self.unreachable(last.as_ref()))?
                .is_err()
            {
                return Err(Error::closed());
            }
            delay = DELAY_MAX.min(delay * 2);
        }
        if self.closed.is_cancelled() {
            return Err(Error::closed());
        }
        Ok(())
    }

    /// The open stream, or another one that is opened within the connect timeout.
    pub(crate) async fn stream_soon(&self) -> Result<Arc<Stream>> {
        if self.closed.is_cancelled() {
            return Err(Error::closed());
        }
        if let Some(open) = self.current() {
            return Ok(open);
        }
        let waited = timeout(self.options.connect_timeout, self.stream_eventually()).await;
        waited.unwrap_or_else(|_| Err(self.unreachable(self.failed().as_ref())))
    }

    fn failed(&self) -> Option<Error> {
        locked(&self.failed).clone()
    }

    fn set_failed(&self, failure: Option<Error>) {
        *locked(&self.failed) = failure;
    }

    /// The open stream, or another one, however long it takes to open it. It fails only when the
    /// server refuses this caller.
    pub(crate) async fn stream_eventually(&self) -> Result<Arc<Stream>> {
        let mut opening = tokio::select! {
            opening = self.opening.lock() => opening,
            () = self.closed.cancelled() => return Err(Error::closed()),
        };
        loop {
            if self.closed.is_cancelled() {
                return Err(Error::closed());
            }
            if let Some(open) = self.current() {
                return Ok(open);
            }
            // A stream that ends as soon as it is opened is no reason to hurry. This is decided once
            // for each: attempts that fail take time, too, and must not look like one that was open
            // for long.
            if let Some(opened) = opening.opened.take()
                && opened.elapsed() > DELAY_MAX
            {
                *opening = Opening::default();
            }
            // Of a pause that is longer than a caller waits, the next one waits for the rest only.
            if let Some(next) = opening.next {
                self.wait_until(next).await?;
            }
            let opened = self.open().await;
            opening.postpone();
            match opened {
                Ok(open) => {
                    opening.opened = Some(Instant::now());
                    self.set_failed(None);
                    *locked(&self.current) = Some(Arc::clone(&open));
                    return Ok(open);
                }
                Err(error) if error.is_lost() => {
                    tracing::warn!(target = self.target(), %error, "cannot open a stream; retrying");
                    self.set_failed(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for about so long.
    pub(crate) async fn pause(&self, delay: Duration) -> Result<()> {
        self.wait_until(Instant::now() + jittered(delay)).await
    }

    async fn wait_until(&self, time: Instant) -> Result<()> {
        tokio::select! {
            () = sleep_until(time) => Ok(()),
            () = self.closed.cancelled() => Err(Error::closed()),
        }
    }

    /// Does something with a token; if the server refuses it, once more with another one.
    async fn authenticated<'a, T>(
        &'a self,
        attempt: impl Fn(Option<String>) -> BoxFuture<'a, Result<T>>,
    ) -> Result<T> {
        let Some(tokens) = &self.options.tokens else {
            return attempt(None).await;
        };
        let token = tokens.token().await?;
        match attempt(Some(token.clone())).await {
            Err(error) if *error.code() == Code::Unauthorized && tokens.forget(&token).await => {
                attempt(Some(tokens.token().await?)).await
            }
            attempted => attempted,
        }
    }

    async fn open(&self) -> Result<Arc<Stream>> {
        let opening = self.authenticated(|token| Box::pin(self.open_once(token)));
        let waited = timeout(GREETING_TIMEOUT, opening).await;
        waited.unwrap_or_else(|_| Err(Error::lost("the server does not answer")))
    }

    async fn open_once(&self, token: Option<String>) -> Result<Arc<Stream>> {
        let cancel = self.closed.child_token();
        // Whoever gives up meanwhile gives the stream up, too.
        let unless_ready = cancel.clone().drop_guard();
        let (greeted, mut greeting) = oneshot::channel();
        let made = Stream::new(
            self.options.in_flight,
            self.options.message_bytes_max,
            cancel,
            greeted,
        );
        let mut request = Request::new(Outbox(Arc::clone(&made)));
        metadata_of(&self.options, token.as_deref(), &mut request)?;
        let answer = self.service().start_streaming(request).await;
        let answer = answer.map_err(|status| Error::of_status(&status))?;
        version::check(answer.metadata())?;
        let inbound = answer.into_inner();
        let peer = self.peer.get().and_then(Weak::upgrade);
        let receiver = peer.clone().map(|peer| peer as Arc<dyn Receiver>);
        let target = self.target().to_owned();
        let closed = self.closed.clone();
        let serving = Arc::clone(&made);
        tokio::spawn(async move {
            Arc::clone(&serving).serve(inbound, receiver).await;
            if !closed.is_cancelled() && !serving.is_closing() {
                tracing::warn!(target, error = %serving.lost(), "the stream has ended");
            }
        });
        if let Some(peer) = peer {
            made.send(peer.join()?);
            let greeting = tokio::select! {
                biased;
                greeting = &mut greeting => greeting.map_err(|_| made.lost())?,
                () = made.ended().cancelled() => return Err(made.lost()),
            };
            peer.joined(&made, &greeting)?;
        }
        unless_ready.disarm();
        Ok(made)
    }

    /// Sends a request with a streamed answer on a call of its own. Closing the connection waits for
    /// its end.
    pub(crate) async fn answer(&self, request: CloudEvent) -> Result<ReadAhead> {
        let mut listening = self.listen(request).await?;
        listening.meaning = Error::of_answer;
        Ok(self.answers.read(listening))
    }

    /// Sends a request with an endless answer on a call of its own, so that reading it slowly
    /// delays nothing else: the server waits.
    pub(crate) async fn listen(&self, request: CloudEvent) -> Result<Listening> {
        request.check_size(self.options.message_bytes_max)?;
        let until = Instant::now() + self.options.connect_timeout;
        let mut delay = DELAY_FIRST;
        let mut known = None;
        loop {
            if self.closed.is_cancelled() {
                return Err(Error::closed());
            }
            let attempt = self.authenticated(|token| Box::pin(self.listen_once(&request, token)));
            let lost = match timeout_at(until, attempt).await {
                Ok(Err(error)) if error.is_lost() => error,
                Ok(attempted) => return attempted,
                Err(_) => return Err(self.unreachable(known.as_ref())),
            };
            match timeout_at(until, self.pause(delay)).await {
                Ok(paused) => paused?,
                Err(_) => return Err(self.unreachable(Some(&lost))),
            }
            known = Some(lost);
            delay = DELAY_MAX.min(delay * 2);
        }
    }

    async fn listen_once(&self, event: &CloudEvent, token: Option<String>) -> Result<Listening> {
        let mut request = Request::new(event.clone());
        metadata_of(&self.options, token.as_deref(), &mut request)?;
        let answer = self.service().entity_search_collection(request).await;
        let answer = answer.map_err(|status| Error::of_status(&status))?;
        version::check(answer.metadata())?;
        Ok(Listening {
            inbound: answer.into_inner(),
            closed: Box::pin(self.closed.clone().cancelled_owned()),
            token: self.options.tokens.clone().zip(token),
            replacing: None,
            meaning: Error::of_status,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

fn metadata_of<T>(
    options: &ConnectOptions,
    token: Option<&str>,
    request: &mut Request<T>,
) -> Result<()> {
    let metadata = request.metadata_mut();
    let bearer = token.map(|token| ("authorization", format!("Bearer {token}")));
    let given = options
        .metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    for (key, value) in given.chain(bearer) {
        let invalid = || {
            Error::new(
                Code::InvalidOptions,
                format!("the metadata `{key}` is not valid"),
            )
        };
        let name =
            AsciiMetadataKey::from_bytes(key.to_lowercase().as_bytes()).map_err(|_| invalid())?;
        let value = AsciiMetadataValue::try_from(value).map_err(|_| invalid())?;
        metadata.insert(name, value);
    }
    Ok(())
}

/// The events of an answer that has a call of its own.
pub(crate) struct Listening {
    inbound: Streaming<CloudEvent>,
    closed: BoxFuture<'static, ()>,
    /// With what it was opened, and where that is from.
    token: Option<(Arc<dyn TokenSource>, String)>,
    /// Once the server has revoked the token: what that means.
    replacing: Option<BoxFuture<'static, Error>>,
    /// What it means that the call has ended.
    meaning: fn(&tonic::Status) -> Error,
}

/// The token of a call was revoked after the server had accepted it. The same request would have the
/// answer begin again: a caller that resumes asks for the rest, if there is another token.
async fn replaced(tokens: Arc<dyn TokenSource>, token: String, revoked: Error) -> Error {
    if tokens.forget(&token).await {
        return revoked.or_lost();
    }
    revoked
}

impl FuturesStream for Listening {
    type Item = Result<CloudEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Error::closed())));
        }
        loop {
            if let Some(replacing) = &mut self.replacing {
                return replacing.as_mut().poll(context).map(|error| {
                    self.replacing = None;
                    Some(Err(error))
                });
            }
            let next = ready!(Pin::new(&mut self.inbound).poll_next(context));
            let ended = match next {
                Some(Err(status)) => (self.meaning)(&status),
                Some(Ok(event)) => return Poll::Ready(Some(Ok(event))),
                None => return Poll::Ready(None),
            };
            if *ended.code() == Code::Unauthorized
                && let Some((tokens, token)) = self.token.take()
            {
                self.replacing = Some(Box::pin(replaced(tokens, token, ended)));
                continue;
            }
            return Poll::Ready(Some(Err(ended)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn callers_with_little_time_connect_in_the_end_and_know_why_not() {
        let options =
            ConnectOptions::new("127.0.0.1:1").connect_timeout(Duration::from_millis(300));
        let connection = Connection::new(options).expect("options");
        {
            let mut opening = connection.opening.lock().await;
            opening.delay = DELAY_MAX;
            // Longer than any of them waits.
            opening.next = Some(Instant::now() + Duration::from_secs(1));
        }
        let trying = async {
            while connection.failed().is_none() {
                let late = connection.stream_soon().await.err().expect("a failure");
                assert!(late.is_lost() && late.is_retryable(), "{late}");
            }
        };
        let waited = timeout(Duration::from_secs(20), trying).await;
        waited.expect("somebody tries");
        let late = connection.stream_soon().await.err().expect("a failure");
        assert!(late.message().contains("refused"), "{late}");
    }

    #[tokio::test]
    async fn after_a_long_connection_the_delay_between_attempts_grows() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let target = listener.local_addr().expect("its address").to_string();
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        tokio::spawn(async move {
            // Every connection is dropped at once.
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let connection = Connection::new(ConnectOptions::new(target)).expect("options");
        {
            let mut opening = connection.opening.lock().await;
            opening.opened = Instant::now().checked_sub(Duration::from_secs(60));
            opening.delay = DELAY_MAX;
        }
        let waited = timeout(Duration::from_secs(2), connection.stream_eventually()).await;
        assert!(waited.is_err(), "nothing can be opened");
        // At once, then after delays of about 0.1, 0.2, 0.4 and 0.8 s, which may be halved; an
        // attempt may connect twice.
        let attempts = attempts.load(Ordering::SeqCst);
        assert!((3..=14).contains(&attempts), "{attempts} attempts");
    }
}
