//! Calling a member: choosing one, awaiting its response, retrying (`grpc.md` §11 and §12).

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::{
    Failed, Forwarded, Members, Others, Rejection, RemoteMember, RemoteOutcome, Request, Response,
    Wanted, Work, member::Member,
};
use crate::dispatch::{CallSettings, Callee, Reply, RetryPolicy};
use crate::id::{CallId, DispatchKey, MemberId, Tenant};
use crate::telemetry::measure;

/// How many attempts follow the first under [`RetryPolicy::Fixed`].
const FURTHER_ATTEMPTS: u32 = 3;

/// How often members at other nodes are looked for, while a call waits for one.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// The pause between two attempts.
pub const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Settings of all calls.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long to wait for a member with the required tags.
    pub wait_for_member: Duration,
    /// The time limit of one attempt, unless the definition sets one.
    pub response_timeout: Duration,
    /// How many calls one tenant may have in flight.
    pub out_max: usize,
}

/// A call to make.
#[derive(Debug)]
pub struct DispatchSpec<'a> {
    pub tenant: &'a Tenant,
    pub settings: &'a CallSettings,
    /// Identifies the call towards members, across its attempts.
    pub dispatch: DispatchKey,
    /// The token of the next attempt, which joins the transaction.
    pub token: Option<Arc<str>>,
    pub work: Arc<Work>,
    /// When the call is abandoned, whatever its attempts may take; none for never.
    pub until: Option<Instant>,
}

impl DispatchSpec<'_> {
    /// That time, or the time left for the call if that is less.
    fn within(&self, patience: Duration) -> Duration {
        self.until.map_or(patience, |until| {
            patience.min(until.saturating_duration_since(Instant::now()))
        })
    }
}

/// How a call ended.
#[derive(Debug)]
pub struct Dispatched {
    pub outcome: Result<Reply, Failed>,
    pub warnings: Vec<String>,
    /// The member that responded, or that failed last.
    pub member: Option<MemberId>,
    pub attempts: u32,
}

/// The attempts of a call so far.
#[derive(Debug, Default)]
pub struct Attempts {
    tried: Vec<MemberId>,
    made: u32,
    /// Those of the members of the attempts that failed.
    warnings: Vec<String>,
}

impl Attempts {
    /// The call ends with this.
    fn end(&mut self, outcome: Result<Reply, Failed>, last: Vec<String>) -> Attempted {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(last);
        Attempted::Ended(Dispatched {
            outcome,
            warnings,
            member: self.tried.last().copied(),
            attempts: self.made,
        })
    }
}

/// The result of an attempt.
#[derive(Debug)]
pub enum Attempted {
    Ended(Dispatched),
    /// It failed; another attempt follows after [`RETRY_PAUSE`].
    Again,
}

/// How one attempt failed, and whether another may follow.
struct Setback {
    failed: Failed,
    may_retry: bool,
    warnings: Vec<String>,
}

impl Failed {
    /// The member has not answered within that time.
    pub fn timed_out(patience: Duration) -> Self {
        Self::TimedOut {
            after_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl CallSettings {
    fn attempts(&self) -> u32 {
        match self.retry {
            RetryPolicy::None => 1,
            RetryPolicy::Fixed => 1 + FURTHER_ATTEMPTS,
        }
    }
}

impl Settings {
    /// The longest time a call can take with all its attempts.
    pub fn longest(&self, call: &CallSettings) -> Duration {
        let response = call.response_timeout.unwrap_or(self.response_timeout);
        let attempt = self.wait_for_member.saturating_add(response);
        attempt
            .saturating_mul(call.attempts())
            .saturating_add(RETRY_PAUSE * (call.attempts() - 1))
    }
}

impl Members {
    /// Dispatches a call to a member of the tenant and awaits its response. Dropping the future
    /// abandons the call: a late response is dropped.
    pub async fn dispatch(&self, spec: &DispatchSpec<'_>, settings: &Settings) -> Dispatched {
        self.dispatch_further(spec, settings, &mut Attempts::default())
            .await
    }

    /// Makes the attempts of a call that follow those.
    pub async fn dispatch_further(
        &self,
        spec: &DispatchSpec<'_>,
        settings: &Settings,
        attempts: &mut Attempts,
    ) -> Dispatched {
        loop {
            match self.attempt(spec, settings, attempts).await {
                Attempted::Ended(called) => return called,
                Attempted::Again => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    /// Makes one attempt of a call. The caller rolls back what the member did in a failed one, and
    /// keeps the pause before the next one.
    pub async fn attempt(
        &self,
        spec: &DispatchSpec<'_>,
        settings: &Settings,
        attempts: &mut Attempts,
    ) -> Attempted {
        let Some(_place) = self.place(spec.tenant, settings.out_max) else {
            let limit = settings.out_max;
            return attempts.end(Err(Failed::TooMany { limit }), Vec::new());
        };
        let tags = &spec.settings.tags;
        let wait_until = Instant::now() + spec.within(settings.wait_for_member);
        let request = Request {
            call: CallId::fresh(),
            dispatch: spec.dispatch,
            token: spec.token.clone(),
            deadline: None,
            work: Arc::clone(&spec.work),
        };
        let mut gone = Vec::new();
        let (begun, answered) = loop {
            let wanted = Wanted {
                tenant: spec.tenant,
                tags,
                tag_match: self.tag_match(),
                tried: &attempts.tried,
                gone: &gone,
            };
            let Some(chosen) = self.wait_for(wanted, wait_until).await else {
                let tags = tags.to_string();
                return attempts.end(Err(Failed::NoMember { tags }), Vec::new());
            };
            let response_timeout = spec.settings.response_timeout;
            let patience = spec.within(response_timeout.unwrap_or(settings.response_timeout));
            let begun = std::time::Instant::now();
            let (id, answered) = match chosen {
                Found::Here(member) => {
                    let answered = exchange(&member, request.clone(), patience).await;
                    if member.has_declined(request.call) {
                        gone.push(member.id);
                        continue;
                    }
                    (member.id, answered)
                }
                Found::There(others, place) => {
                    let call = Forwarded {
                        place,
                        tenant: spec.tenant,
                        tags,
                        request: request.clone(),
                        patience,
                    };
                    let answered = match others.call(call).await {
                        RemoteOutcome::Answered(response) => Ok(response),
                        RemoteOutcome::Failed(failed) => Err(failed),
                        RemoteOutcome::NoMember => {
                            gone.push(place.member);
                            continue;
                        }
                    };
                    (place.member, answered)
                }
            };
            attempts.tried.push(id);
            break (begun, answered);
        };
        attempts.made += 1;
        kind(&spec.work.callee).since(begun);
        let answered = settle(answered);
        match answered {
            Ok((reply, warnings)) if spec.work.callee.is_answered_by(&reply) => {
                attempts.end(Ok(reply), warnings)
            }
            Ok((_, warnings)) => {
                let message = "the member's response is for another kind of call".to_owned();
                attempts.end(Err(Failed::Rejected(message)), warnings)
            }
            Err(setback)
                if setback.may_retry
                    && attempts.made < spec.settings.attempts()
                    && !spec.within(RETRY_PAUSE).is_zero() =>
            {
                attempts.warnings.extend(setback.warnings);
                Attempted::Again
            }
            Err(setback) => attempts.end(Err(setback.failed), setback.warnings),
        }
    }

    async fn wait_for(&self, wanted: Wanted<'_>, deadline: Instant) -> Option<Found> {
        loop {
            let joined = self.next_join();
            tokio::pin!(joined);
            joined.as_mut().enable();
            if let Some(found) = self.find(wanted).await {
                return Some(found);
            }
            if self.others().is_none() {
                timeout_at(deadline, joined).await.ok()?;
            } else if timeout_at(deadline.min(Instant::now() + LOOK_AROUND), joined)
                .await
                .is_err()
                && Instant::now() >= deadline
            {
                return None;
            }
        }
    }

    /// A member of this node, else one of another; one that was tried only if there is no other.
    async fn find(&self, wanted: Wanted<'_>) -> Option<Found> {
        let is_new = |id: MemberId| !wanted.tried.contains(&id);
        let here = self.choose(wanted);
        let Some(others) = self.others() else {
            return here.map(Found::Here);
        };
        let is_leaving = here.as_ref().is_some_and(|member| member.is_draining());
        if here.as_ref().is_some_and(|member| is_new(member.id)) && !is_leaving {
            return here.map(Found::Here);
        }
        match others.find(wanted).await {
            Some(place) if here.is_none() || is_leaving || is_new(place.member) => {
                Some(Found::There(Arc::clone(others), place))
            }
            _ => here.map(Found::Here),
        }
    }
}

/// A member for a call.
enum Found {
    Here(Arc<Member>),
    There(Arc<dyn Others>, RemoteMember),
}

/// The kind of call, for the metrics.
const fn kind(callee: &Callee) -> measure::Call {
    match callee {
        Callee::Processor(_) => measure::Call::Processor,
        Callee::Criterion { .. } => measure::Call::Criterion,
        Callee::Schedule(_) => measure::Call::Schedule,
    }
}

/// Sends a call to a member, and awaits its response.
pub(super) async fn exchange(
    member: &Arc<Member>,
    mut request: Request,
    patience: Duration,
) -> Result<Response, Failed> {
    let deadline = Instant::now() + patience;
    request.deadline = Some(deadline);
    let timed_out = || Failed::timed_out(patience);
    let expected = member.expect(request.call, request.work.entity);
    let mut expected = expected.ok_or(Failed::Disconnected)?;
    // A member whose queue is full counts as one that does not respond.
    match timeout_at(deadline, member.outbox().send(request)).await {
        Err(_) => return Err(timed_out()),
        Ok(Err(_)) => return Err(Failed::Disconnected),
        Ok(Ok(())) => {}
    }
    match timeout_at(deadline, &mut expected.response).await {
        Err(_) => Err(timed_out()),
        Ok(Err(_)) => Err(Failed::Disconnected),
        Ok(Ok(response)) => Ok(response),
    }
}

/// What a response means for the call.
fn settle(answered: Result<Response, Failed>) -> Result<(Reply, Vec<String>), Setback> {
    match answered {
        Err(failed) => Err(Setback {
            failed,
            may_retry: true,
            warnings: Vec::new(),
        }),
        Ok(Response {
            outcome: Ok(reply),
            warnings,
        }) => Ok((reply, warnings)),
        Ok(Response {
            outcome: Err(Rejection { message, retryable }),
            warnings,
        }) => Err(Setback {
            failed: Failed::Rejected(message),
            may_retry: retryable == Some(true),
            warnings,
        }),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::clock::Timestamp;
    use crate::compute::{Membership, Principal};
    use crate::dispatch::{Attachment, Callee, TagMatch, Tags};
    use crate::entity::{Actor, ActorKind};
    use crate::id::EntityId;

    const SETTINGS: Settings = Settings {
        wait_for_member: Duration::from_secs(5),
        response_timeout: Duration::from_secs(30),
        out_max: 3,
    };

    const NOW: Timestamp = Timestamp::from_micros(5);

    fn tenant() -> Tenant {
        "t".into()
    }

    fn work() -> Arc<Work> {
        Arc::new(Work {
            callee: Callee::Processor("p".into()),
            workflow: "w".into(),
            transition_context: None,
            entity: EntityId::NIL,
            transaction: None,
            context: None,
            attached: None,
            principal: Principal {
                actor: Actor {
                    kind: ActorKind::User,
                    name: "u".into(),
                },
                roles: Arc::default(),
                trace: None,
            },
        })
    }

    fn settings(tags: &str, retry: RetryPolicy) -> CallSettings {
        CallSettings {
            tags: Tags::parse(tags),
            attachment: Attachment::Nothing,
            response_timeout: None,
            retry,
            context: None,
        }
    }

    async fn call(members: &Members, tags: &str, retry: RetryPolicy) -> Dispatched {
        let (tenant, settings) = (tenant(), settings(tags, retry));
        let spec = DispatchSpec {
            tenant: &tenant,
            settings: &settings,
            dispatch: DispatchKey::fresh(),
            token: None,
            work: work(),
            until: None,
        };
        members.dispatch(&spec, &SETTINGS).await
    }

    fn join(members: &Members, tenant: &str, tags: &str) -> (Membership, mpsc::Receiver<Request>) {
        let (outbox, inbox) = mpsc::channel(4);
        (
            members.join(
                &tenant.into(),
                MemberId::fresh(),
                Tags::parse(tags),
                outbox,
                NOW,
            ),
            inbox,
        )
    }

    fn yes() -> Response {
        Response {
            outcome: Ok(Reply::Processed(None)),
            warnings: Vec::new(),
        }
    }

    fn no(retryable: Option<bool>) -> Response {
        Response {
            outcome: Err(Rejection {
                message: "no".to_owned(),
                retryable,
            }),
            warnings: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_joins_while_it_is_waited_for_is_called() {
        let members = Members::default();
        let (called, ()) = tokio::join!(call(&members, "a", RetryPolicy::None), async {
            let _other_tenant = join(&members, "other", "a");
            let _lacks_the_tag = join(&members, "t", "b");
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (membership, mut inbox) = join(&members, "t", "A,b");
            let request = inbox.recv().await.expect("a call");
            assert!(membership.answered(request.call, yes()));
            assert!(
                !membership.answered(request.call, yes()),
                "the first answer counts"
            );
        });
        assert!(called.outcome.is_ok());
        assert_eq!(
            call(&members, "a", RetryPolicy::None).await.outcome.err(),
            Some(Failed::NoMember {
                tags: "a".to_owned()
            })
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_so_many_calls_out_and_no_more() {
        let members = Members::default();
        let one = || call(&members, "a", RetryPolicy::None);
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        let refused = Some(Failed::TooMany { limit: 3 });
        for called in [a, b, c] {
            assert!(matches!(called.outcome, Err(Failed::NoMember { .. })));
        }
        assert_eq!(d.outcome.err(), refused);
        assert_ne!(one().await.outcome.err(), refused, "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_spread_over_members() {
        let members = Members::default();
        let (one, mut to_one) = join(&members, "t", "");
        let (other, mut to_other) = join(&members, "t", "");
        for _ in 0..4 {
            let (called, ()) = tokio::join!(call(&members, "", RetryPolicy::None), async {
                tokio::select! {
                    Some(request) = to_one.recv() => assert!(one.answered(request.call, yes())),
                    Some(request) = to_other.recv() => assert!(other.answered(request.call, yes())),
                }
            });
            assert!(called.outcome.is_ok());
        }
        let busy = one.member.expect(CallId::fresh(), EntityId::NIL);
        let chosen = members
            .choose(Wanted {
                tenant: &tenant(),
                tags: &Tags::default(),
                tag_match: TagMatch::All,
                tried: &[],
                gone: &[],
            })
            .expect("a member");
        assert_eq!(chosen.id, other.id(), "the one with fewer calls out");
        drop(busy);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_fails_with_its_member_and_a_late_answer_finds_nobody() {
        let members = Members::default();
        let (membership, mut inbox) = join(&members, "t", "");
        let (called, ()) = tokio::join!(call(&members, "", RetryPolicy::None), async {
            inbox.recv().await.expect("a call");
            drop(membership);
        });
        assert_eq!(called.outcome.err(), Some(Failed::Disconnected));

        let (membership, mut inbox) = join(&members, "t", "");
        let called = call(&members, "", RetryPolicy::None).await;
        assert_eq!(
            called.outcome.err(),
            Some(Failed::TimedOut { after_ms: 30_000 })
        );
        let request = inbox.recv().await.expect("a call");
        assert!(!membership.answered(request.call, yes()));
        assert!(!membership.has_calls_out());
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_may_pass_is_tried_again_and_with_the_same_key() {
        for (policy, answer, attempts) in [
            (RetryPolicy::None, no(Some(true)), 1),
            (RetryPolicy::Fixed, no(Some(true)), 4),
            (RetryPolicy::Fixed, no(Some(false)), 1),
            (RetryPolicy::Fixed, no(None), 1),
        ] {
            let members = Members::default();
            let (membership, mut inbox) = join(&members, "t", "");
            let serve = async {
                let mut seen = Vec::new();
                while let Some(request) = inbox.recv().await {
                    seen.push((request.dispatch, request.call));
                    let Err(rejection) = &answer.outcome else {
                        unreachable!("a rejection")
                    };
                    membership.answered(
                        request.call,
                        Response {
                            outcome: Err(rejection.clone()),
                            warnings: Vec::new(),
                        },
                    );
                    if seen.len() == attempts {
                        break;
                    }
                }
                seen
            };
            let (called, seen) = tokio::join!(call(&members, "", policy), serve);
            assert_eq!(
                (called.attempts as usize, called.outcome.err()),
                (attempts, Some(Failed::Rejected("no".to_owned())))
            );
            assert!(seen.iter().all(|(dispatch, _)| *dispatch == seen[0].0));
            assert_eq!(
                seen.iter()
                    .map(|(_, call)| call)
                    .collect::<std::collections::HashSet<_>>()
                    .len(),
                attempts
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_further_attempt_prefers_a_member_that_was_not_tried() {
        let members = Members::default();
        let (one, mut to_one) = join(&members, "t", "");
        let (called, second) = tokio::join!(call(&members, "", RetryPolicy::Fixed), async {
            let request = to_one.recv().await.expect("a call");
            let (other, mut to_other) = join(&members, "t", "");
            // Busier than the first, and still preferred.
            let _busy = other.member.expect(CallId::fresh(), EntityId::NIL);
            one.answered(request.call, no(Some(true)));
            let request = to_other.recv().await.expect("the second attempt");
            other.answered(request.call, yes());
            other.id()
        });
        assert_eq!((called.attempts, called.member), (2, Some(second)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_declines_is_asked_once_and_its_successor_is_waited_for() {
        let members = Members::default();
        let (stopping, mut to_it) = join(&members, "t", "");
        let (called, successor) = tokio::join!(call(&members, "", RetryPolicy::None), async {
            let request = to_it.recv().await.expect("a call");
            assert!(stopping.declined(request.call));
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (successor, mut inbox) = join(&members, "t", "");
            let request = inbox.recv().await.expect("a call");
            assert!(successor.answered(request.call, yes()));
            successor.id()
        });
        assert!(called.outcome.is_ok());
        assert_eq!((called.attempts, called.member), (1, Some(successor)));
        assert!(to_it.try_recv().is_err());
        let (called, ()) = tokio::join!(call(&members, "", RetryPolicy::None), async {
            let request = to_it.recv().await.expect("a call");
            assert!(stopping.declined(request.call));
        });
        assert!(matches!(called.outcome, Err(Failed::NoMember { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn the_warnings_of_every_attempt_are_kept() {
        let members = Members::default();
        let (membership, mut inbox) = join(&members, "t", "");
        let (called, ()) = tokio::join!(call(&members, "", RetryPolicy::Fixed), async {
            for (warning, mut response) in
                [("a", no(Some(true))), ("b", no(Some(true))), ("c", yes())]
            {
                response.warnings = vec![warning.to_owned()];
                let request = inbox.recv().await.expect("a call");
                membership.answered(request.call, response);
            }
        });
        assert!(called.outcome.is_ok());
        assert_eq!(called.warnings, ["a", "b", "c"]);
        let (called, ()) = tokio::join!(call(&members, "", RetryPolicy::Fixed), async {
            let request = inbox.recv().await.expect("a call");
            let mut response = no(Some(true));
            response.warnings = vec!["a".to_owned()];
            membership.answered(request.call, response);
            drop(membership);
        });
        assert!(matches!(called.outcome, Err(Failed::NoMember { .. })));
        assert_eq!(called.warnings, ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_tag_suffices_where_any_does() {
        for (members, is_called) in [(Members::default(), false), (Members::of_any_tag(), true)] {
            let (membership, mut inbox) = join(&members, "t", "b");
            let serve = async {
                if let Some(request) = inbox.recv().await {
                    membership.answered(request.call, yes());
                }
            };
            let called = tokio::select! {
                called = call(&members, "a,b", RetryPolicy::None) => called,
                () = async { serve.await; std::future::pending().await } => unreachable!("it waits"),
            };
            assert_eq!(called.outcome.is_ok(), is_called);
        }
    }
}
