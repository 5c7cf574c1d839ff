//! The decision record: what the engine decided and why, stored with the result.
//!
//! One record per entity and transaction (`architecture.md` §4). The documented audit events are
//! derived from it. It refers to leaves of criteria by number and to the definition by hash, so
//! that it stays small; the types here are its stored form.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::condition::{Condition, FunctionResults, LeafOutcome, Trace};
use crate::entity::Image;
use crate::id::TransitionName;
use crate::text;

/// How much is stored of the transaction that a caller named, which may be any text.
const EXPECTED_BYTES: usize = 255;

/// Everything that was decided about one entity in one transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub runs: Vec<RunRecord>,
    /// What was omitted because the record would have been too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

/// How much of a record was omitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Decisions; most of them transitions that were considered.
    pub decisions: u64,
    /// Leaves of criteria, of decisions that are stored.
    pub leaves: u64,
}

/// The maximum size of a record in bytes, apart from the heads of its runs.
const BYTES_MAX: usize = 64 << 10;

/// One run of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    pub start: StartKind,
    /// The transition that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// When it began, in microseconds since 1970.
    pub at: i64,
    pub entries: Vec<Entry>,
    /// When each call among the entries ended, in microseconds since 1970. Records of earlier
    /// releases do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<i64>,
}

/// What began a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartKind {
    Create,
    Update,
    Transition,
    /// A timer was due.
    Timer,
    /// A run that continues one of an earlier transaction of the same request.
    Continued,
    /// A run that continues one that a timer began in an earlier transaction.
    TimerContinued,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// A workflow's criterion did not hold for this entity.
    Skipped(Considered),
    /// This workflow governs the run.
    Chosen {
        workflow: String,
        hash: String,
        why: Reason,
    },
    /// No workflow contains the entity's state, so no transition can fire.
    Ungoverned {
        state: String,
    },
    /// A transition was considered; only guarded ones that the run evaluated are recorded.
    Considered(Considered),
    Called(DispatchRecord),
    Fired {
        transition: String,
    },
    Armed {
        transition: String,
        state: String,
        /// In microseconds since 1970.
        due: i64,
    },
    Cancelled {
        transition: String,
        state: String,
    },
    /// A timer was too late, or expired before it was armed.
    Expired {
        transition: String,
        state: String,
    },
    Moved {
        transition: String,
        from: String,
        to: String,
    },
    Settled {
        state: String,
    },
    /// A due timer was declined, because its criterion did not hold.
    Declined {
        transition: String,
        state: String,
    },
    /// The run is committed so far, and continues in another transaction.
    Parted {
        state: String,
    },
    /// The caller expected another version, so nothing was written.
    Aborted {
        state: String,
        /// The transaction that the caller named.
        expected: String,
        /// The transaction that wrote the current version.
        actual: String,
    },
}

/// Why a workflow governs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// It has no criterion, or its criterion held.
    Matched(Vec<Leaf>),
    NoneImported,
    NoneMatched,
    /// It was selected at creation, or is the first that contains the state.
    HasState,
}

/// A criterion and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    /// The workflow, or the transition.
    pub name: String,
    pub held: bool,
    pub leaves: Vec<Leaf>,
    /// For one that did not hold: its kind, or the function that returned false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    /// The reason that the function returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One leaf: its number, whether it held, and the value it saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf(pub u32, pub bool, #[serde(default)] pub Option<String>);

/// A call to a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchRecord {
    pub name: String,
    /// The execution mode of a processor; none for a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why it failed, if that changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The member that responded, or that failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    pub attempts: u32,
    /// From the first attempt to the end, in microseconds.
    pub micros: u64,
    /// Whether the response contained a document.
    pub changed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl RunRecord {
    /// The record of a write that was rejected because `if_match` names another version.
    pub fn refused(
        asked: Option<&TransitionName>,
        stored: &Image,
        expected: &str,
        at: Timestamp,
    ) -> Self {
        Self {
            start: asked.map_or(StartKind::Update, |_| StartKind::Transition),
            asked: asked.map(ToString::to_string),
            at: at.micros(),
            entries: vec![Entry::Aborted {
                state: stored.state.to_string(),
                expected: text::start(expected, EXPECTED_BYTES).to_owned(),
                actual: stored.transaction.to_string(),
            }],
            ended: Vec::new(),
        }
    }

    /// When the calls ended whose entries are kept.
    fn ended_of(&self, kept: &[Option<Entry>]) -> Vec<i64> {
        let calls = self.entries.iter().zip(kept);
        calls
            .filter(|(entry, _)| matches!(entry, Entry::Called(_)))
            .zip(&self.ended)
            .filter(|((_, kept), _)| kept.is_some())
            .map(|(_, ended)| *ended)
            .collect()
    }
}

impl Entry {
    /// That a workflow governs, as a later record of the same run says.
    pub(super) fn chosen_before(&self) -> Option<Self> {
        let Self::Chosen { workflow, hash, .. } = self else {
            return None;
        };
        Some(Self::Chosen {
            workflow: workflow.clone(),
            hash: hash.clone(),
            why: Reason::HasState,
        })
    }
}

impl StartKind {
    /// Whether an earlier transaction began the run.
    pub const fn is_continued(self) -> bool {
        matches!(self, Self::Continued | Self::TimerContinued)
    }

    /// The same kind for the rest of a partially committed run.
    pub(super) const fn continued(self) -> Self {
        match self {
            Self::Timer | Self::TimerContinued => Self::TimerContinued,
            Self::Create | Self::Update | Self::Transition | Self::Continued => Self::Continued,
        }
    }
}

impl Record {
    pub const fn of(runs: Vec<RunRecord>) -> Self {
        Self { runs, cut: None }
    }

    /// The stored form; none if nothing was decided.
    pub fn encode(&self) -> Option<String> {
        if self.runs.is_empty() {
            return None;
        }
        let text = serde_json::to_string(self).ok()?;
        if text.len() <= BYTES_MAX {
            return Some(text);
        }
        serde_json::to_string(&self.shortened()).ok()
    }

    /// The same without what does not fit: what happened is kept before what was only considered.
    fn shortened(&self) -> Self {
        let mut cut = Cut::default();
        let mut left = BYTES_MAX;
        let mut kept: Vec<Vec<Option<Entry>>> = self
            .runs
            .iter()
            .map(|run| vec![None; run.entries.len()])
            .collect();
        for weight in Entry::WEIGHTS {
            for (run, kept) in self.runs.iter().zip(&mut kept) {
                for (entry, place) in run.entries.iter().zip(kept) {
                    if entry.weight() != weight {
                        continue;
                    }
                    let (lean, leaves) = entry.lean();
                    if entry.takes(&mut left) {
                        *place = Some(entry.clone());
                    } else if lean.takes(&mut left) {
                        *place = Some(lean);
                        cut.leaves += leaves;
                    } else {
                        cut.decisions += 1;
                    }
                }
            }
        }
        let runs = self.runs.iter().zip(kept);
        Self {
            runs: runs
                .map(|(run, kept)| RunRecord {
                    start: run.start,
                    asked: run.asked.clone(),
                    at: run.at,
                    ended: run.ended_of(&kept),
                    entries: kept.into_iter().flatten().collect(),
                })
                .collect(),
            cut: Some(cut),
        }
    }

    pub fn decode(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Entry {
    /// From entries that must not be missing to those that are missed least.
    const WEIGHTS: [u8; 4] = [0, 1, 2, 3];

    const fn weight(&self) -> u8 {
        match self {
            Self::Settled { .. }
            | Self::Ungoverned { .. }
            | Self::Parted { .. }
            | Self::Aborted { .. } => 0,
            Self::Chosen { .. }
            | Self::Moved { .. }
            | Self::Expired { .. }
            | Self::Declined { .. } => 1,
            Self::Called(_) | Self::Fired { .. } | Self::Armed { .. } | Self::Cancelled { .. } => 2,
            Self::Skipped(_) | Self::Considered(_) => 3,
        }
    }

    /// The same without details, and how many leaves that omits.
    fn lean(&self) -> (Self, u64) {
        let mut lean = self.clone();
        let leaves = match &mut lean {
            Self::Skipped(considered) | Self::Considered(considered) => {
                considered.reason = None;
                std::mem::take(&mut considered.leaves)
            }
            Self::Chosen {
                why: Reason::Matched(leaves),
                ..
            } => std::mem::take(leaves),
            Self::Called(call) => {
                call.warnings = Vec::new();
                Vec::new()
            }
            Self::Chosen { .. }
            | Self::Ungoverned { .. }
            | Self::Fired { .. }
            | Self::Armed { .. }
            | Self::Cancelled { .. }
            | Self::Expired { .. }
            | Self::Declined { .. }
            | Self::Parted { .. }
            | Self::Aborted { .. }
            | Self::Moved { .. }
            | Self::Settled { .. } => Vec::new(),
        };
        (lean, u64::try_from(leaves.len()).unwrap_or(u64::MAX))
    }

    /// Takes the bytes it needs of those left; false if there are not enough.
    fn takes(&self, left: &mut usize) -> bool {
        let text = serde_json::to_string(self);
        let bytes = text.map_or(usize::MAX, |text| text.len() + 1);
        let rest = left.checked_sub(bytes);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }
}

impl Considered {
    pub(super) fn new(
        name: &str,
        held: bool,
        trace: Trace,
        condition: &Condition,
        answers: &FunctionResults,
    ) -> Self {
        let leaf =
            |outcome: LeafOutcome| Leaf(outcome.leaf, outcome.held, outcome.seen.map(Into::into));
        let no = answers
            .iter()
            .rev()
            .find(|(_, evaluation)| !held && !evaluation.matches);
        let criterion = match no {
            Some((index, _)) => condition
                .function(*index)
                .map(|function| function.name.to_string()),
            None => Some(condition.kind().to_owned()).filter(|_| !held),
        };
        Self {
            name: name.to_owned(),
            held,
            leaves: trace.outcomes.into_iter().map(leaf).collect(),
            criterion,
            reason: no
                .and_then(|(_, evaluation)| evaluation.reason.as_deref().map(ToOwned::to_owned)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn considered(n: u32) -> Entry {
        Entry::Considered(Considered {
            name: format!("transition{n}"),
            held: false,
            leaves: (0..3)
                .map(|leaf| Leaf(leaf, false, Some("seen".to_owned())))
                .collect(),
            criterion: Some("simple".to_owned()),
            reason: None,
        })
    }

    fn record(considered_count: u32) -> Record {
        let moved = |n: u32| Entry::Moved {
            transition: format!("t{n}"),
            from: "A".to_owned(),
            to: "B".to_owned(),
        };
        let mut entries: Vec<_> = (0..considered_count).map(considered).collect();
        entries.extend((0..3).map(moved));
        entries.push(Entry::Settled {
            state: "B".to_owned(),
        });
        let run = RunRecord {
            start: StartKind::Create,
            asked: None,
            at: 1,
            entries,
            ended: Vec::new(),
        };
        Record::of(vec![run])
    }

    #[test]
    fn a_small_record_is_stored_whole() {
        let record = record(100);
        let stored = Record::decode(&record.encode().expect("some")).expect("readable");
        assert_eq!(stored, record);
    }

    #[test]
    fn a_large_record_keeps_what_happened_and_says_what_is_left_out() {
        let record = record(20_000);
        let text = record.encode().expect("some");
        assert!(text.len() <= BYTES_MAX + 1_000, "{}", text.len());
        let stored = Record::decode(&text).expect("readable");
        let cut = stored.cut.expect("cut");
        let entries = &stored.runs[0].entries;
        assert_eq!(
            entries[entries.len() - 4..],
            record.runs[0].entries[20_000..]
        );
        assert_eq!(cut.decisions + entries.len() as u64, 20_004);
        assert!(entries.len() > 300);
    }

    #[test]
    fn a_large_record_keeps_the_times_of_the_calls_that_it_keeps() {
        let called = |n: i64| {
            Entry::Called(DispatchRecord {
                name: format!("p{n}"),
                failure: Some("x".repeat(100)),
                ..DispatchRecord::default()
            })
        };
        let run = RunRecord {
            start: StartKind::Create,
            asked: None,
            at: 0,
            entries: (0..1_000).map(called).collect(),
            ended: (0..1_000).collect(),
        };
        let text = Record::of(vec![run]).encode().expect("some");
        let stored = Record::decode(&text).expect("readable");
        let run = &stored.runs[0];
        assert!((100..1_000).contains(&run.entries.len()));
        assert_eq!(run.entries.len(), run.ended.len());
        for (entry, ended) in run.entries.iter().zip(&run.ended) {
            assert_eq!(*entry, called(*ended));
        }
    }
}
