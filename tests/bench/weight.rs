//! What the process weighs: how fast it starts, what it keeps in memory, how large it is.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    Plan,
    message::{event, succeeded},
    process::{Process, folder},
};

/// Something that is as small as it is, without a floor.
pub(crate) struct Weight {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// In the unit of the thing, at most.
    pub(crate) goal: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    /// From the start of the process on an empty folder to its first answer, in milliseconds.
    Start,
    /// Resident memory a while after that, in MB.
    IdleMemory,
    /// The program, in MB.
    Program,
}

pub(crate) const WEIGHTS: &[Weight] = &[
    Weight {
        name: "start to first answer",
        what: What::Start,
        goal: 100.0,
    },
    Weight {
        name: "memory, idle",
        what: What::IdleMemory,
        goal: 30.0,
    },
    Weight {
        name: "size of the program",
        what: What::Program,
        goal: 40.0,
    },
];

const STARTS: usize = 7;

/// How long a process is left alone before it counts as idle.
const REST: Duration = Duration::from_secs(2);

/// What was measured, in order of size.
pub(crate) async fn measure(what: What, plan: &Plan) -> Vec<f64> {
    let mut measured = Vec::new();
    match what {
        What::Start => {
            for _ in 0..STARTS {
                let folder = folder();
                let began = Instant::now();
                started(&folder, plan).await;
                measured.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        What::IdleMemory => {
            let folder = folder();
            let service = started(&folder, plan).await;
            sleep(REST).await;
            measured.push(megabytes(service.memory()));
        }
        What::Program => {
            let bytes = std::fs::metadata(&plan.program).expect("the program").len();
            measured.push(megabytes(bytes));
        }
    }
    measured.sort_by(f64::total_cmp);
    measured
}

/// A service that has answered once.
async fn started(folder: &tempfile::TempDir, plan: &Plan) -> Process {
    let service = Process::service(folder.path(), plan);
    let payload = r#"{"id":"1"}"#.to_owned();
    let request = event("EntityModelGetAllRequest", "1", payload, []);
    let mut client = service.client().await;
    let answer = client.entity_model_manage(request).await;
    succeeded(answer.expect("an answer").into_inner());
    service
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    let kilobytes = u32::try_from(bytes / 1_000).expect("less than a terabyte");
    f64::from(kilobytes) / 1e3
}
