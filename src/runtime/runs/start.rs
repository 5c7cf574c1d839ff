//! Starting runs (`runs.md` §4, `orchestration.md` 1.10).

use std::{collections::BTreeMap, sync::Arc};

use super::{
    State,
    advance::Advancing,
    state::{Invoked, RunKind, TICK},
};
use crate::clock::Timestamp;
use crate::dialect::flo::MANAGER;
use crate::error::{Code, Failure};
use crate::id::{EntityId, RunId, Tenant};
use crate::pool::AT_ONCE_BYTES_MAX;
use crate::program::{
    Arrival, Ask, Begin, HistoryEvent, Kind, Next, Program, Run, StartedBy, Status, Target,
};
use crate::registry::Idempotency;
use crate::runtime::{Initiator, Runtime, Session, later::By};
use crate::storage::{NewRun, RunKey, RunName, StoredRun};

/// How many characters an identifier has at most that a caller chooses.
const ID_MAX: usize = 128;

/// What the names of invocations of actions begin with, which are runs that are not listed.
pub(super) const INVOCATION: &str = "@action/";

/// What the names of actions begin with that are the work of managers' items.
pub(super) const ITEM: &str = "@item/";

/// A run to start.
#[derive(Debug, Clone)]
pub struct StartRun {
    pub name: RunName,
    /// None: the latest.
    pub version: Option<Box<str>>,
    /// What the definition must be; none: anything.
    pub kind: Option<RunKind>,
    /// JSON.
    pub input: Arc<str>,
    pub key: Option<Box<str>>,
    /// When the trigger was created that gives the key, in microseconds: a trigger of the same name
    /// that was there before it gave the same keys. 0: the key stands for itself.
    pub key_since: i64,
    /// The identifier, if the caller chooses it.
    pub id: Option<Box<str>>,
    /// The entity that it is started for.
    pub entity: Option<EntityId>,
    /// The run above it, and its own depth.
    pub parent: Option<(RunId, u32)>,
    pub started_by: StartedBy,
    pub invoked: Option<Invoked>,
    /// Whether the commit of the start may take the first step, too. Where others write in the same
    /// transaction it takes effect after it.
    pub steps_at_once: bool,
}

impl StartRun {
    /// A run of the latest version of a definition, without a key.
    pub const fn new(name: RunName, input: Arc<str>, started_by: StartedBy) -> Self {
        Self {
            name,
            version: None,
            kind: None,
            input,
            key: None,
            key_since: 0,
            id: None,
            entity: None,
            parent: None,
            started_by,
            invoked: None,
            steps_at_once: false,
        }
    }
}

/// A run that was started, or that was there already.
#[derive(Debug, Clone)]
pub struct RunStarted {
    pub run: RunId,
    pub id: Box<str>,
    pub version: Arc<str>,
    pub status: Status,
    pub created: Timestamp,
    pub is_new: bool,
    pub kind: RunKind,
    /// Whether it is a saga that ends without waiting for signals or delays.
    pub is_simple_saga: bool,
    /// Whether an idempotency key was given that its definition ignores.
    pub ignores_key: bool,
}

/// A run that is about to be stored.
struct Starting<'a> {
    run: RunId,
    name: &'a RunName,
    program: Arc<Program>,
    now: Timestamp,
}

/// What a run follows from its start to its end.
struct Follows {
    version: Arc<str>,
    digest: Arc<str>,
    program: Arc<Program>,
    idempotency: Idempotency,
}

impl Follows {
    fn kind(&self) -> RunKind {
        if self.program.saga.is_some() {
            RunKind::Saga
        } else if *self.digest == *TICK {
            RunKind::Manager
        } else {
            RunKind::Flo
        }
    }
}

impl Runtime {
    /// Starts a run in the transaction of a session, or finds the one that has its key. It takes
    /// its first step after the commit.
    pub async fn start_run(
        &self,
        session: &mut Session,
        by: &Initiator,
        start: StartRun,
    ) -> Result<RunStarted, Failure> {
        let followed = self.followed(session, &start).await?;
        check_kind(&start, &followed)?;
        let key = key_of(&start, followed.idempotency)?;
        let ignores_key = key.is_none() && start.key.as_ref().is_some_and(|key| !key.is_empty());
        let mut keys = Vec::new();
        if let Some(key) = &key {
            let key = match start.key_since {
                0 => RunKey::idempotency(&start.name, key),
                since => RunKey::idempotency(&start.name, &format!("{key}\n{since}")),
            };
            if let Some(run) = self.run_with_key(session, &by.tenant, &key).await? {
                return self.existing(session, &by.tenant, run).await;
            }
            keys.push(key);
        }
        if let Some(id) = &start.id {
            check_id(id)?;
            let chosen = RunKey::chosen(id);
            if self
                .run_with_key(session, &by.tenant, &chosen)
                .await?
                .is_some()
            {
                return Err(exists(id));
            }
            keys.push(chosen);
        }
        self.check_live(&by.tenant)?;
        let run = self.storage().fresh_run();
        let is_simple_saga = followed.program.is_simple_saga();
        let id = start.id.unwrap_or_else(|| fresh_id(run, &followed.program));
        let now = self.0.clock.now();
        let begin = Begin {
            id: id.clone(),
            started_by: start.started_by,
            depth: start.parent.map_or(0, |(_, depth)| depth),
            input: start.input,
            now,
        };
        let (new_run, event) = Run::begin(begin, &followed.program);
        let mut state = State {
            version: followed.version,
            digest: followed.digest,
            by: By::of(&by.principal.actor, &by.principal.roles),
            key,
            invoked: start.invoked,
            used: BTreeMap::new(),
            run: new_run,
        };
        let mut history = vec![event];
        let program = Arc::clone(&followed.program);
        if start.steps_at_once {
            let starting = Starting {
                run,
                name: &start.name,
                program: followed.program,
                now,
            };
            (state, history) = self
                .first_step(session, by, starting, state, history)
                .await?;
        }
        self.mirror_later(session, &by.tenant, &start.name, run, &program)
            .await?;
        let new = NewRun {
            id: run,
            name: start.name,
            parent: start.parent.map(|(parent, _)| parent),
            entity: start.entity,
            keys,
            created: now,
            by: start.started_by.as_str(),
        };
        let advance = state.stored(&history)?;
        let text = Arc::clone(&advance.state);
        session.unit()?.begin_run(new, advance)?;
        if start.started_by == StartedBy::Manager {
            session.unit()?.await_end(run)?;
        }
        let (version, kind) = (Arc::clone(&state.version), state.kind());
        self.0.parsed.keep(run, &text, Arc::new(state));
        Ok(RunStarted {
            run,
            id,
            version,
            status: Status::Pending,
            created: now,
            is_new: true,
            kind,
            is_simple_saga,
            ignores_key,
        })
    }

    /// The run that has a key, as a session sees it.
    pub(super) async fn run_with_key(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        key: &RunKey,
    ) -> Result<Option<RunId>, Failure> {
        match session.unit()?.run_begun_with(key) {
            None => Ok(self.storage().run_of_key(tenant, key).await?),
            begun => Ok(begun),
        }
    }

    /// Takes the first step of a run that is not stored yet, where all that it does is to send a
    /// task or to wait: then the start and the step are one commit. Otherwise the run begins after
    /// the commit: the caller that starts it must not wait for modules, members or the turn of a large value.
    async fn first_step(
        &self,
        session: &mut Session,
        by: &Initiator,
        starting: Starting<'_>,
        state: State,
        history: Vec<HistoryEvent>,
    ) -> Result<(State, Vec<HistoryEvent>), Failure> {
        let Starting { run, name, .. } = starting;
        let parks = match starting.program.entry.as_ref().map(|entry| &entry.kind) {
            Some(
                Kind::Wait(_)
                | Kind::Run {
                    target: Target::Tick,
                    ..
                },
            ) => true,
            Some(Kind::Run {
                target: Target::Action(action),
                ..
            }) => {
                let action = self.action_of(&by.tenant, &name.namespace, action).await?;
                action.is_some_and(|action| action.enabled && action.wasm.is_none())
            }
            Some(Kind::Run { .. } | Kind::Saga(_)) | None => false,
        };
        if !parks || state.not_before().is_some() {
            return Ok((state, history));
        }
        let advancing = Advancing {
            run,
            name,
            by,
            conflicts: session.conflicts(),
            attempt: 0,
            depth: state.run.depth,
            uncommitted: history.clone(),
            effects: Vec::new(),
            held_before: session.unit()?.bytes(),
            program: starting.program,
            now: starting.now,
            permits: Vec::new(),
        };
        let parking = Box::pin(self.park_at_once(session, advancing, state.clone()));
        Ok(parking.await?.unwrap_or((state, history)))
    }

    /// The run after its first step, if it waits then and nothing was done for it. A step may end at
    /// once, because its input is malformed for example, and others follow that do more.
    async fn park_at_once(
        &self,
        session: &mut Session,
        mut advancing: Advancing<'_>,
        mut state: State,
    ) -> Result<Option<(State, Vec<HistoryEvent>)>, Failure> {
        let mut arrival = Arrival::Start;
        loop {
            if state.run.bytes().saturating_add(arrival.bytes()) > AT_ONCE_BYTES_MAX {
                return Ok(None);
            }
            let turning = self.turn(session, &advancing, state.run, arrival, false);
            let turn = turning.await?;
            state.run = turn.run;
            advancing.uncommitted.extend(turn.history);
            match turn.next {
                Next::Park => {
                    state.forget_used();
                    return Ok(Some((state, advancing.uncommitted)));
                }
                Next::Ask(ask @ (Ask::Action(_) | Ask::Load(_))) => {
                    let reply = self.reply(session, &mut advancing, ask).await?;
                    arrival = Arrival::Replied(reply);
                }
                Next::Ask(_) | Next::End => return Ok(None),
            }
        }
    }

    /// What a run is to follow.
    async fn followed(&self, session: &mut Session, start: &StartRun) -> Result<Follows, Failure> {
        let RunName { namespace, name } = &start.name;
        if start.invoked.is_some() {
            let action = name.strip_prefix(INVOCATION).unwrap_or(name);
            return Ok(Follows {
                version: "1".into(),
                digest: Arc::clone(name),
                program: Arc::new(Program::of_action(action)),
                idempotency: Idempotency::Optional,
            });
        }
        if **name == *MANAGER {
            return tick(start);
        }
        let (registry, version) = (&self.0.registry, start.version.as_deref());
        // What is read by the unit stays as it is until the commit.
        let definition = registry
            .definition_in(session.unit()?, namespace, name, version)
            .await?;
        definition.check_enabled()?;
        Ok(Follows {
            version: Arc::clone(&definition.version),
            digest: Arc::clone(&definition.digest),
            program: Arc::clone(&definition.program),
            idempotency: definition.idempotency,
        })
    }

    /// The program that a run follows.
    pub(super) async fn program_of(
        &self,
        tenant: &Tenant,
        name: &RunName,
        digest: &str,
    ) -> Result<Arc<Program>, Failure> {
        if let Some(action) = digest.strip_prefix(INVOCATION) {
            return Ok(Arc::new(Program::of_action(action)));
        }
        if digest == TICK {
            return Ok(Arc::new(Program::of_tick(MANAGER)));
        }
        let registry = &self.0.registry;
        Ok(registry.program(tenant, &name.namespace, digest).await?)
    }

    /// A run, and whether it is a saga that ends without waiting for signals or delays.
    pub async fn is_simple_saga(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<(RunId, bool), Failure> {
        let stored = self.stored_run(tenant, id).await?;
        let state = self.0.parsed.read(&stored)?;
        let is_it = self.follows_simple_saga(tenant, &stored, &state).await?;
        Ok((stored.id, is_it))
    }

    async fn follows_simple_saga(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
    ) -> Result<bool, Failure> {
        if state.run.saga.is_none() {
            return Ok(false);
        }
        let program = self.program_of(tenant, &stored.name, &state.digest).await?;
        Ok(program.is_simple_saga())
    }

    /// The run that has the key of another start.
    async fn existing(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        run: RunId,
    ) -> Result<RunStarted, Failure> {
        let stored = session.unit()?.run(run).await?;
        let stored = stored.ok_or_else(|| super::not_found(&run.to_string()))?;
        let state = self.0.parsed.read(&stored)?;
        Ok(RunStarted {
            run,
            id: state.run.id.clone(),
            version: Arc::clone(&state.version),
            status: state.run.status,
            created: state.run.created,
            is_new: false,
            kind: state.kind(),
            // The repeat of a start is answered as the start was: with the end.
            is_simple_saga: self.follows_simple_saga(tenant, &stored, &state).await?,
            ignores_key: false,
        })
    }
}

/// What a tick of managers follows. It has one version, which is not a document's.
fn tick(start: &StartRun) -> Result<Follows, Failure> {
    let program = Program::of_tick(MANAGER);
    if let Some(version) = start.version.as_ref().filter(|is| **is != program.version) {
        let message = format!("{MANAGER} has no version {version}; leave `version` out");
        return Err(Failure::new(Code::RunDefinitionNotFound, message)
            .with("name", MANAGER)
            .with("version", &**version));
    }
    Ok(Follows {
        version: (&*program.version).into(),
        digest: TICK.into(),
        program: Arc::new(program),
        idempotency: Idempotency::Optional,
    })
}

/// Refuses a definition of another kind than the start asks for.
fn check_kind(start: &StartRun, followed: &Follows) -> Result<(), Failure> {
    let found = followed.kind();
    let Some(asked) = start.kind.filter(|asked| *asked != found) else {
        return Ok(());
    };
    let (name, found, asked) = (&start.name.name, found.noun(), asked.noun());
    let message =
        format!("{name} is a {found}, not a {asked}; POST /runs starts definitions of any kind");
    Err(Failure::new(Code::RunDefinitionNotFound, message).with("name", &**name))
}

/// The idempotency key that counts for a start.
fn key_of(start: &StartRun, idempotency: Idempotency) -> Result<Option<Box<str>>, Failure> {
    let is_by_caller = matches!(start.started_by, StartedBy::Caller | StartedBy::Route);
    let key = start.key.clone().filter(|key| !key.is_empty());
    match idempotency {
        // The key of a trigger is not a caller's: what is delivered twice is started once.
        Idempotency::None => Ok(key.filter(|_| start.started_by == StartedBy::Trigger)),
        Idempotency::Required if key.is_none() && is_by_caller => {
            let name = &start.name.name;
            let message =
                format!("workflow {name} requires an idempotency key; send `idempotencyKey`");
            Err(Failure::new(Code::BadRequest, message))
        }
        Idempotency::Optional | Idempotency::Required => Ok(key),
    }
}

/// The failure of a start whose identifier is taken.
pub(super) fn exists(id: &str) -> Failure {
    let message = format!("there is a run {id} already; choose another `runId`");
    Failure::new(Code::RunExists, message).with("runId", id)
}

fn check_id(id: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    let prefixes = [RunId::PREFIX, RunId::SAGA_PREFIX];
    let is_ours = prefixes.iter().any(|prefix| id.starts_with(prefix));
    // Clients leave dots out of paths.
    let is_path = ["stream", ".", ".."].contains(&id);
    if (1..=ID_MAX).contains(&id.len()) && id.bytes().all(is_plain) && !is_ours && !is_path {
        return Ok(());
    }
    Err(Failure::new(
        Code::BadRequest,
        "`runId` must have 1 to 128 letters, digits or `._:-`, and must not be `stream`, `.` or \
         `..` or begin like the ids that the service assigns",
    ))
}

/// The identifier of a run for which its caller has chosen none.
fn fresh_id(run: RunId, program: &Program) -> Box<str> {
    let id = if program.saga.is_some() {
        run.saga_text()
    } else {
        run.to_string()
    };
    id.into()
}
