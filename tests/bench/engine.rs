//! What deciding costs, without a database or a network: a criterion of five leaves, and a
//! cascade of ten steps. Each figure is the best of several batches, in nanoseconds per decision.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{hint::black_box, sync::Arc, time::Instant};

use interlock::{
    clock::Timestamp,
    condition::{Condition, Facts, Lifecycle},
    engine::{self, Input, Limits, Next, Run, Subject, World},
    entity::Document,
    id::{EntityId, ModelKey, TransactionId},
    model::Schema,
    workflow::{ImportMode, Workflow, WorkflowSet},
};

const DOCUMENT: &str = r#"{"total":120.50,"customer":{"name":"Ada","country":"GB","since":"2019-03-01"},
    "lines":[{"sku":"A-1","qty":2},{"sku":"B-7","qty":1}],"note":"as agreed by phone","paid":true}"#;

/// Five leaves, all of which are looked at.
const CRITERION: &str = r#"{"type":"group","operator":"AND","conditions":[
    {"type":"simple","jsonPath":"$.total","operatorType":"GREATER_THAN","value":100},
    {"type":"simple","jsonPath":"$.customer.country","operatorType":"EQUALS","value":"GB"},
    {"type":"simple","jsonPath":"$.customer.since","operatorType":"LESS_THAN","value":"2020-01-01"},
    {"type":"simple","jsonPath":"$.lines[*].sku","operatorType":"STARTS_WITH","value":"B"},
    {"type":"lifecycle","field":"state","operatorType":"EQUALS","value":"NEW"}]}"#;

const STEPS: usize = 10;

fn main() {
    let document = Document::parse(DOCUMENT).expect("JSON");
    let schema = Schema::infer(&document);
    let criterion = Condition::parse_criterion(CRITERION).expect("a criterion");
    let at = Timestamp::from_micros(1);
    let facts = Facts {
        document: document.root(),
        before: None,
        schema: &schema,
        lifecycle: Lifecycle {
            id: EntityId::NIL,
            state: "NEW",
            created: at,
            updated: at,
            previous_transition: "",
            transaction: TransactionId::NIL,
        },
    };
    assert!(criterion.holds(facts, None), "every leaf is looked at");
    let leaves = best(20_000, || {
        black_box(criterion.holds(black_box(facts), None));
    });

    let workflows = chain();
    let world = World {
        workflows: &workflows,
        schema: &schema,
        limits: Limits::default(),
        now: at,
        meter: None,
    };
    let subject = Subject {
        id: EntityId::NIL,
        model: ModelKey::new("order", 1),
        created: at,
        updated: at,
        transaction: TransactionId::NIL,
    };
    let cascade = best(2_000, || {
        let mut run = Box::new(Run::create(subject.clone(), document.clone()));
        loop {
            let step = engine::step(run, Input::Go, world).expect("settles");
            run = step.run;
            if matches!(step.next, Next::Settled) {
                break;
            }
        }
        black_box(run.finish());
    });

    println!("criterion of five leaves   {leaves:>8.0} ns   goal 1 000");
    println!("cascade of {STEPS} steps        {cascade:>8.0} ns   goal 50 000");
}

/// A workflow that leads through ten states, each left by a guarded transition.
fn chain() -> WorkflowSet {
    let states: Vec<_> = (0..STEPS)
        .map(|n| {
            format!(
                r#""S{n}":{{"transitions":[{{"name":"go","next":"S{}","manual":false,
                    "criterion":{{"type":"simple","jsonPath":"$.paid","operatorType":"EQUALS","value":true}}}}]}}"#,
                n + 1
            )
        })
        .collect();
    let json = format!(
        r#"{{"name":"chain","initialState":"S0","states":{{{},"S{STEPS}":{{}}}}}}"#,
        states.join(",")
    );
    let workflow = Workflow::parse(&json).expect("a workflow").workflow;
    WorkflowSet::default().import(ImportMode::Merge, vec![Arc::new(workflow).into()])
}

/// Nanoseconds of one call, in the best of 20 batches.
fn best(batch: u32, mut work: impl FnMut()) -> f64 {
    (0..20)
        .map(|_| {
            let began = Instant::now();
            (0..batch).for_each(|_| work());
            began.elapsed().as_secs_f64() * 1e9 / f64::from(batch)
        })
        .fold(f64::INFINITY, f64::min)
}
