//! What goes wrong.

use std::time::{Duration, Instant};

use tokio::{task::block_in_place, time::sleep};

use super::nodes::{self, Nodes};
use crate::support::{
    Random,
    relay::{Passage, Trick},
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// A node is killed, and started again some time later.
    Kill { node: usize, down: Duration },
    /// A node stands still for some time.
    Freeze { node: usize, time: Duration },
    /// The same of a node that has just got the turn, if it takes one soon.
    FreezeTurn { node: usize, time: Duration },
    /// So many connections of the database end.
    Terminate { count: usize },
    /// A node cannot reach the database.
    Cut { node: usize, time: Duration },
    /// The same, and no connection ends.
    Silence { node: usize, time: Duration },
    /// What passes between a node and the database takes longer.
    Slow {
        node: usize,
        time: Duration,
        delay: Duration,
    },
    /// The answer to something that a node writes is lost.
    LoseAnswer { node: usize },
    /// Something that a node writes arrives late, on a connection that the node has lost.
    DelayRequest { node: usize, delay: Duration },
    /// The database crashes and starts again.
    RestartDatabase,
    /// The other nodes cannot reach a node.
    CutPeers { node: usize, time: Duration },
    /// The database has a commit of the future, as after its clock was set back by so much.
    SetBack { time: Duration },
}

/// What a fault was, and when.
pub(super) struct Happened {
    pub(super) name: &'static str,
    /// The node that others need not wait for.
    pub(super) node: Option<usize>,
    pub(super) begun: Instant,
    pub(super) ended: Instant,
}

/// A commit that is stamped later than now.
const FUTURE: &str = "insert into \"commit\"(seq, id, prev, t, at, author, rev, server)
    select p.seq + 1, gen_random_uuid(), p.seq, 0, greatest(p.at, n.now) + TIME, 0, p.rev, p.server
    from (select seq, at, rev, server from \"commit\" order by seq desc limit 1) p,
      (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) n
    on conflict do nothing";

const TERMINATE: &str = "select pg_terminate_backend(pid) from (select pid from pg_stat_activity
    where backend_type = 'client backend' and application_name = 'interlock'
    order by random() limit COUNT) x";

fn millis(random: &mut Random, from: usize, until: usize) -> Duration {
    let some = from + random.below(until - from);
    Duration::from_millis(some.try_into().expect("small"))
}

impl Fault {
    /// One of them; freezes take up to so long.
    pub(super) fn pick(random: &mut Random, node: usize, freeze_max: usize) -> Self {
        match random.below(14) {
            0 | 1 => Self::Kill {
                node,
                down: millis(random, 50, 800),
            },
            2 => Self::Freeze {
                node,
                time: millis(random, 1_000, freeze_max),
            },
            3 => Self::FreezeTurn {
                node,
                time: millis(random, 1_000, freeze_max),
            },
            4 => Self::Terminate {
                count: 1 + random.below(6),
            },
            5 => Self::Cut {
                node,
                time: millis(random, 100, 1_500),
            },
            6 => Self::Silence {
                node,
                time: millis(random, 100, freeze_max),
            },
            7 => Self::Slow {
                node,
                time: millis(random, 200, 1_000),
                delay: millis(random, 5, 60),
            },
            8 | 9 => Self::LoseAnswer { node },
            10 | 11 => Self::DelayRequest {
                node,
                delay: millis(random, 1, 400),
            },
            12 => Self::RestartDatabase,
            _ if random.chance(50) => Self::CutPeers {
                node,
                time: millis(random, 200, 1_500),
            },
            _ => Self::SetBack {
                time: millis(random, 100, 5_000),
            },
        }
    }

    /// Whether it is about a process, which can be killed or frozen by one fault at a time.
    pub(super) fn is_of_process(self) -> bool {
        matches!(
            self,
            Self::Kill { .. } | Self::Freeze { .. } | Self::FreezeTurn { .. }
        )
    }

    /// Has it happen; returns when it is over.
    pub(super) async fn happen(self, nodes: &Nodes) -> Happened {
        let begun = Instant::now();
        let (name, node) = self.cause(nodes).await;
        Happened {
            name,
            node,
            begun,
            ended: Instant::now(),
        }
    }

    async fn cause(self, nodes: &Nodes) -> (&'static str, Option<usize>) {
        let of = |node: usize| &nodes.all[node];
        match self {
            Self::Kill { node, down } => {
                of(node).kill();
                sleep(down).await;
                of(node).restart();
                ("kill", Some(node))
            }
            Self::Freeze { node, time } => {
                freeze(nodes, node, time).await;
                ("freeze", Some(node))
            }
            Self::FreezeTurn { node, time } => {
                let has_played = play(nodes, node, Trick::HoldTurn).await;
                freeze(nodes, node, time).await;
                of(node).database.let_go();
                let name = if has_played {
                    "freeze with the turn"
                } else {
                    "freeze"
                };
                (name, Some(node))
            }
            Self::Terminate { count } => {
                let text = TERMINATE.replace("COUNT", &count.to_string());
                ask(nodes, &text);
                ("terminate", None)
            }
            Self::Cut { node, time } => {
                of(node).database.set(Passage::Cut);
                sleep(time).await;
                of(node).database.set(Passage::Open);
                ("cut", Some(node))
            }
            Self::Silence { node, time } => {
                of(node).database.set(Passage::Silent);
                sleep(time).await;
                of(node).database.set(Passage::Open);
                ("silence", Some(node))
            }
            Self::Slow { node, time, delay } => {
                of(node).database.set(Passage::Slow(delay));
                sleep(time).await;
                of(node).database.set(Passage::Open);
                ("slow", Some(node))
            }
            Self::LoseAnswer { node } => {
                let has_played = play(nodes, node, Trick::LoseAnswer).await;
                let name = if has_played { "lost answer" } else { "nothing" };
                (name, Some(node))
            }
            Self::DelayRequest { node, delay } => {
                let has_played = play(nodes, node, Trick::DelayRequest(delay)).await;
                let name = if has_played {
                    "late request"
                } else {
                    "nothing"
                };
                (name, Some(node))
            }
            Self::RestartDatabase => {
                block_in_place(|| nodes.postgres.restart());
                ("restart of the database", None)
            }
            Self::CutPeers { node, time } => {
                of(node).peers.set(Passage::Cut);
                sleep(time).await;
                of(node).peers.set(Passage::Open);
                ("cut from peers", Some(node))
            }
            Self::SetBack { time } => {
                let text = FUTURE.replace("TIME", &time.as_micros().to_string());
                ask(nodes, &text);
                ("clock set back", None)
            }
        }
    }
}

/// Asks the database, which may be away.
fn ask(nodes: &Nodes, text: &str) -> Option<String> {
    block_in_place(|| nodes.postgres.try_execute(text)).ok()
}

async fn freeze(nodes: &Nodes, node: usize, time: Duration) {
    nodes.all[node].freeze();
    sleep(time).await;
    nodes.all[node].thaw();
}

/// Plays a trick on what a node writes; whether there was an occasion.
async fn play(nodes: &Nodes, node: usize, trick: Trick) -> bool {
    let relay = &nodes.all[node % nodes::COUNT].database;
    relay.play(trick);
    let begun = Instant::now();
    while relay.is_waiting() && begun.elapsed() < Duration::from_secs(1) {
        sleep(Duration::from_millis(2)).await;
    }
    relay.has_played()
}
