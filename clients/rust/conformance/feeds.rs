//! Follows endless answers with the subscriptions that resume.

use std::sync::Arc;

use futures_util::StreamExt as _;
use interlock_client::{
    Answers, Change, Changes, Client, Live, Match,
    api::{
        EntityChangesSubscribeRequest, EntitySearchSubscribeRequest, RunHistoryEvent,
        RunHistorySubscribeRequest,
    },
};
use serde_json::{Value, json};

use crate::{Failed, Program, commands::Command, output::failure};

pub(crate) fn follow(program: &Arc<Program>, command: &Command) -> Result<(), Failed> {
    let (client, ended) = program.client(&command.on)?;
    let name = command.r#as.clone();
    let stopped = ended.child_token();
    let mut items = items(&client, command)?;
    program.scene().feeds.insert(name.clone(), stopped.clone());
    let program = Arc::clone(program);
    tokio::spawn(async move {
        loop {
            let next = tokio::select! {
                biased;
                () = stopped.cancelled() => return,
                next = items.next() => next,
            };
            match next {
                Some(Ok(item)) => {
                    program
                        .output
                        .say(&json!({"event": "item", "feed": name, "item": item}));
                }
                Some(Err(error)) => {
                    let error = failure(&error);
                    program
                        .output
                        .say(&json!({"event": "ended", "feed": name, "error": error}));
                    return;
                }
                None => {
                    program.output.say(&json!({"event": "ended", "feed": name}));
                    return;
                }
            }
        }
    });
    Ok(())
}

type Items = futures_util::stream::BoxStream<'static, Result<Value, Failed>>;

fn items(client: &Client, command: &Command) -> Result<Items, Failed> {
    match command.r#type.as_str() {
        "EntityChangesSubscribeRequest" => {
            let wanted: EntityChangesSubscribeRequest = command.payload.decode()?;
            let mut what = Changes::new().states(wanted.states.unwrap_or_default());
            if let Some(model) = wanted.model {
                what = what.model(model);
            }
            if let Some(after) = wanted.from_sequence {
                what = what.after(after);
            }
            if wanted.include_data == Some(true) {
                what = what.with_data();
            }
            Ok(shown(client.entities().follow(what), |one| change(&one)))
        }
        "EntitySearchSubscribeRequest" => {
            let wanted: EntitySearchSubscribeRequest = command.payload.decode()?;
            let mut what = Live::new(wanted.model, wanted.condition);
            if let Some(after) = wanted.from_sequence {
                what = what.after(after);
            }
            if wanted.include_data == Some(true) {
                what = what.with_data();
            }
            Ok(shown(client.entities().follow_search(what), matched))
        }
        "RunHistorySubscribeRequest" => {
            let wanted: RunHistorySubscribeRequest = command.payload.decode()?;
            let run = wanted.run_id.ok_or("only single runs are followed")?;
            let after = wanted.from_sequence.unwrap_or_default();
            Ok(shown(
                client.runs().follow(run, after),
                |event: RunHistoryEvent| json!({"sequence": event.sequence, "eventType": event.event_type}),
            ))
        }
        other => Err(format!("{other} is not followed").into()),
    }
}

fn shown<T: Send + 'static>(
    answers: Answers<T>,
    show: impl Fn(T) -> Value + Send + 'static,
) -> Items {
    answers.map(move |item| Ok(show(item?))).boxed()
}

fn change(one: &Change) -> Value {
    json!({
        "sequence": one.sequence,
        "entityId": one.entity_id,
        "changeType": one.change_type,
        "state": one.state,
        "data": one.data,
    })
}

fn matched(one: Match) -> Value {
    match one {
        Match::Entity(entity) => json!({
            "change": "matches", "entityId": entity.id, "state": entity.state, "data": entity.data,
        }),
        Match::Change(found) => {
            let mut item = change(&found);
            item["change"] = json!(found.change);
            item
        }
        _ => Value::Null,
    }
}
