//! What a document means, field by field.
#![cfg(test)]

use std::time::Duration;

use super::{EVERY_FIELD, planned, read};
use crate::dialect::flo::*;
use crate::program::*;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn value(json: &str) -> Mapping {
    Mapping::Value(json.into())
}

fn run(target: Target) -> Kind {
    Kind::Run {
        target,
        input: None,
        retry: None,
        poll: None,
    }
}

/// The only plan of a document.
fn plan(document: &Document) -> &Plan {
    assert_eq!(document.plans.len(), 1);
    &document.plans[0].1
}

#[test]
fn every_field_of_a_document_and_its_steps_is_read() {
    let (document, findings) = read(EVERY_FIELD);
    let mut listed = findings.listed().iter();
    assert!(listed.all(|finding| finding.code != "E108"), "{findings}");
    let document = document.expect("valid");
    assert_eq!(
        (&*document.name, &*document.version),
        ("every-field", "1.10")
    );
    assert_eq!(&*document.description, "every field");
    assert_eq!(document.namespace.as_deref(), Some("default"));
    assert_eq!(document.idempotency, Idempotency::Optional);
    assert_eq!(
        document.start.kind,
        Kind::Run {
            target: Target::Plan("charge".into()),
            input: Some(Mapping::Text(r#"{"customer": "$.input.customer"}"#.into())),
            retry: Some(Retry {
                executions_max: 4,
                backoff: Backoff::Linear,
                initial_delay: ms(10),
                delay_max: ms(100),
                within: Some(ms(5_000)),
            }),
            poll: None,
        }
    );
    assert_eq!(
        document.start.transitions[1],
        ("fraud".into(), "Fraud".into())
    );
    let kinds = document
        .steps
        .iter()
        .map(|(name, step)| (&**name, step.kind.clone()));
    let wait = |timeout, on_timeout: Option<&str>| {
        Kind::Wait(Wait {
            signal: "approval".into(),
            timeout: Some(timeout),
            on_timeout: on_timeout.map(Into::into),
        })
    };
    let looks = Kind::Run {
        target: Target::Action("look".into()),
        input: Some(value(r#"{"customer":"$.input.customer"}"#)),
        retry: None,
        poll: Some(Poll {
            initial_delay: ms(1),
            polls_max: 2,
            backoff: Backoff::ExponentialJitter,
            base_delay: ms(3),
            delay_max: ms(4),
        }),
    };
    let stores = Kind::Run {
        target: Target::Entity(EntityStep::Create),
        input: Some(value(
            r#"{"model":{"name":"order","version":1},"data":"$.input"}"#,
        )),
        retry: None,
        poll: None,
    };
    let expected = [
        ("look", looks),
        ("approval", wait(ms(60_000), Some("remind"))),
        ("remind", wait(ms(1), None)),
        ("fulfil", run(Target::Child("fulfil:2".into()))),
        ("store", stores),
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    let terminal = Terminal {
        status: TerminalStatus::Cancelled,
        output: Some(value(r#"{"reason":"fraud"}"#)),
    };
    assert_eq!(document.terminals, [("Fraud".into(), terminal)]);
    assert_eq!(
        document.output,
        Some(value(r#"{"customer":"$.input.customer"}"#))
    );
}

#[test]
fn every_field_of_plans_schedules_triggers_and_attributes_is_read() {
    let document = read(EVERY_FIELD).0.expect("valid");
    let plan = plan(&document);
    assert_eq!(plan.selection, Selection::RoundRobin);
    assert_eq!(
        plan.executors[0],
        Executor {
            name: "first".into(),
            action: "charge-first".into(),
            priority: 7,
            retry: Some(Retry {
                executions_max: 1,
                backoff: Backoff::Constant,
                initial_delay: ms(1_000),
                delay_max: ms(30_000),
                within: None,
            }),
            breaker: Breaker {
                failure_threshold: 1,
                cooldown: ms(2),
                half_open_calls_max: 3,
            },
            rate_limit: RateLimit {
                per_second: Some(1),
                per_minute: Some(2),
                per_hour: Some(3),
            },
            tracking: Tracking::Async {
                timeout: Some(ms(1)),
            },
        }
    );
    let health = Health {
        window: ms(1),
        decay: 1.0,
        samples_min: 1,
    };
    assert_eq!(plan.health, health);
    let cache = Cache {
        ttl: ms(1),
        key: "{input.customer}".into(),
        invalidate_on: vec!["refund".into()],
    };
    assert_eq!(plan.cache, Some(cache));
    let fallback = Fallback {
        value: r#"{"status":"declined"}"#.into(),
        on: FallbackOn::AnyError,
    };
    assert_eq!(plan.fallback, Some(fallback));
    let errors = Errors {
        retryable: vec!["timeout".into()],
        fatal: vec!["fraud".into()],
    };
    assert_eq!(plan.errors, errors);
    let schedule = Schedule {
        every: Every::Cron(Cron::parse("*/5 0-6 * * 1").expect("cron")),
        concurrent_max: 0,
        input: r#"{"customer": 1}"#.into(),
        paused: true,
    };
    assert_eq!(document.schedule, Some(schedule));
    let trigger = Trigger {
        topic: "orders".into(),
        namespace: Some("shop".into()),
        consumer_group: "wf".into(),
        mode: TriggerMode::KeyShared,
        batch_size: 2,
        batch_timeout: ms(3),
    };
    assert_eq!(document.trigger, Some(trigger));
    let attribute = SearchAttribute {
        name: "customer".into(),
        from: "input.customer".into(),
        kind: AttributeType::Number,
    };
    assert_eq!(document.search_attributes, [attribute]);
}

#[test]
fn defaults_are_those_of_the_contract() {
    let text = planned(
        "executors: [{name: e, action: \"@actions/a\", retry: {}}], cache: {key: k}, fallback: {value: 1}",
    ) + "schedule: {interval: 1}\ntrigger: {stream: s}\nterminals: {T: }\nsearchAttributes: [{name: a, from: input.a}]\nsteps: {p: {run: \"@actions/a\", poll: {}}}\n";
    let (document, findings) = read(&text);
    let document = document.unwrap_or_else(|| panic!("{findings}"));
    assert_eq!(&*document.description, "");
    assert_eq!((&document.namespace, &document.output), (&None, &None));
    assert_eq!(document.idempotency, Idempotency::None);
    assert_eq!(document.terminals[0].1.status, TerminalStatus::Failed);
    assert_eq!(document.search_attributes[0].kind, AttributeType::Text);
    let plan = plan(&document);
    assert_eq!(plan.selection, Selection::StaticOrder);
    assert_eq!(
        plan.executors[0],
        Executor {
            name: "e".into(),
            action: "a".into(),
            priority: 100,
            retry: Some(Retry {
                executions_max: 3,
                backoff: Backoff::Exponential,
                initial_delay: ms(1_000),
                delay_max: ms(30_000),
                within: None,
            }),
            breaker: Breaker {
                failure_threshold: 5,
                cooldown: ms(30_000),
                half_open_calls_max: 3,
            },
            rate_limit: RateLimit::default(),
            tracking: Tracking::Sync,
        }
    );
    let health = Health {
        window: ms(300_000),
        decay: 0.9,
        samples_min: 50,
    };
    assert_eq!(plan.health, health);
    assert_eq!(
        plan.cache.as_ref().map(|cache| cache.ttl),
        Some(ms(300_000))
    );
    assert_eq!(
        plan.fallback.as_ref().map(|fallback| fallback.on),
        Some(FallbackOn::Exhausted)
    );
    let Kind::Run { poll, .. } = &document.steps[0].1.kind else {
        panic!("it runs");
    };
    let expected = Poll {
        initial_delay: ms(0),
        polls_max: 10,
        backoff: Backoff::Exponential,
        base_delay: ms(1_000),
        delay_max: ms(60_000),
    };
    assert_eq!(*poll, Some(expected));
    let schedule = Schedule {
        every: Every::Interval(ms(1)),
        concurrent_max: 1,
        input: "{}".into(),
        paused: false,
    };
    assert_eq!(document.schedule, Some(schedule));
    let trigger = Trigger {
        topic: "s".into(),
        namespace: None,
        consumer_group: "wf-w".into(),
        mode: TriggerMode::Shared,
        batch_size: 1,
        batch_timeout: ms(5_000),
    };
    assert_eq!(document.trigger, Some(trigger));
}
