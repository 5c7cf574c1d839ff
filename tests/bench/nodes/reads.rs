//! Reads by id, at the server: what a read takes less what an echo of the same size takes, beside
//! the same rows by bare SQL.

use sqlx::{Row as _, SqlSafeStr as _};

use super::{
    Outcome, Rates,
    base::{Base, connect, create, one, read, set_up},
};
use crate::{
    Plan,
    load::Measured,
    message::{Model, Sizes, succeeded},
    process::Process,
};

/// How many entities are read in turn.
const ENTITIES: usize = 1_000;

const BARE: &str = r#"select e.e, v.n, e.live, v.state, v.transition, v.data, e.id, e.created, c.id as tx, c.at
  from entity e join version v on v.n = e.n join "commit" c on c.seq = v.seq where e.id = $1::uuid"#;

pub(super) async fn measure(base: &Base, plan: &Plan) -> Outcome {
    let url = base.database("service");
    let service = base.node(&url, "a", plan);
    let echo = Process::echo();
    let (mut client, mut to_echo) = (service.client().await, echo.client().await);
    set_up(&mut client, Model::Plain).await;
    let mut ids = Vec::new();
    for n in 0..ENTITIES {
        ids.push(create(&mut client, Model::Plain, &n.to_string()).await);
    }
    let answer = client.entity_search(read(&ids[0])).await;
    let sizes = Sizes {
        request: read(&ids[0]).0.len(),
        answer: answer.expect("an answer").into_inner().0.len(),
    };
    let mut client_of_sql = connect(&url).await;
    let (mut outcome, mut rates) = (Outcome::default(), Rates::default());
    for _ in 0..plan.rounds {
        let echoed = one(plan.part, async |_| {
            let answer = to_echo.entity_search(sizes.request("1")).await;
            succeeded(answer.expect("an answer").into_inner());
        })
        .await;
        let selected = one(plan.part, async |n| {
            let id = ids[n % ENTITIES].as_str();
            let row = sqlx::query(BARE.into_sql_str())
                .bind(id)
                .fetch_one(&mut client_of_sql)
                .await;
            let data: String = row.expect("a row").get("data");
            assert!(data.len() > 1_000);
        })
        .await;
        let answered = one(plan.service, async |n| {
            let answer = client.entity_search(read(&ids[n % ENTITIES])).await;
            succeeded(answer.expect("an answer").into_inner());
        })
        .await;
        let median = |load: &Measured| load.latency(0.5).as_secs_f64();
        rates.floors.push(1.0 / median(&selected));
        let at_the_server = (median(&answered) - median(&echoed)).max(1e-6);
        rates.services.push(1.0 / at_the_server);
        outcome.keep("service", &answered);
        outcome.keep("unary echo", &echoed);
        outcome.keep("bare SELECT", &selected);
    }
    let workload = "reads by id, one client, less the echo; floor: bare SELECT";
    outcome.lines = vec![rates.line(workload, 0.7)];
    outcome
}
