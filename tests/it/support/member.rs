//! A scripted compute member.

use std::sync::Arc;

use interlock::event::{Event, EventType};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    Connection, Server,
    connection::{payload_of, request},
};

/// A member on a connection of its own.
pub(crate) struct Member {
    pub(crate) connection: Arc<Connection>,
    pub(crate) id: String,
}

/// A call that a member was sent.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) event: Event,
    pub(crate) payload: Value,
}

/// What a member answers.
pub(crate) enum Reply {
    /// The entity stays as it is.
    Nothing,
    /// The entity shall have this document.
    Data(Value),
    Failure(&'static str),
    /// Of a criterion.
    Matches(bool),
    /// Of a schedule's function.
    Schedule(Value),
    /// Whatever; `requestId` is filled in.
    Raw(Value),
}

impl Call {
    pub(crate) fn data(&self) -> &Value {
        &self.payload["payload"]["data"]
    }

    pub(crate) fn processor(&self) -> &str {
        self.payload["processorName"].as_str().expect("a name")
    }

    /// The name of the criterion, if that is what is asked for.
    pub(crate) fn criterion(&self) -> Option<&str> {
        self.payload["criteriaName"].as_str()
    }

    pub(crate) fn token(&self) -> &str {
        self.event.attribute("cyodatxtoken").expect("a token")
    }
}

impl Member {
    /// Joins with tags; the first caller of the server's.
    pub(crate) async fn join(server: &Server, tags: &[&str]) -> Self {
        Self::join_on(server.connect().await, tags).await
    }

    pub(crate) async fn join_on(connection: Connection, tags: &[&str]) -> Self {
        let connection = Arc::new(connection);
        connection
            .send(request(
                "CalculationMemberJoinEvent",
                "join",
                json!({"tags": tags}),
            ))
            .await;
        let greeting = connection.unasked().await.expect("a greeting");
        assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
        let greeting = payload_of(&greeting);
        assert_eq!(greeting["success"], true);
        Self {
            connection,
            id: greeting["memberId"].as_str().expect("an id").to_owned(),
        }
    }

    /// The next call.
    pub(crate) async fn next(&self) -> Call {
        loop {
            let event = self.connection.unasked().await.expect("the stream is open");
            if is_call(&event) {
                let payload = payload_of(&event);
                return Call { event, payload };
            }
        }
    }

    pub(crate) async fn reply(&self, call: &Call, reply: Reply) {
        answer(&self.connection, call, reply).await;
    }

    /// Serves every call in a task of its own, with what `work` says.
    pub(crate) fn serve<F, W>(&self, work: W) -> JoinHandle<()>
    where
        F: Future<Output = Reply> + Send + 'static,
        W: Fn(Call, Arc<Connection>) -> F + Send + Sync + 'static,
    {
        let connection = Arc::clone(&self.connection);
        let work = Arc::new(work);
        tokio::spawn(async move {
            while let Some(event) = connection.unasked_or_end().await {
                if !is_call(&event) {
                    continue;
                }
                let call = Call {
                    payload: payload_of(&event),
                    event,
                };
                let (connection, work) = (Arc::clone(&connection), Arc::clone(&work));
                tokio::spawn(async move {
                    let reply = work(call.clone(), Arc::clone(&connection)).await;
                    answer(&connection, &call, reply).await;
                });
            }
        })
    }

    /// Serves every call, and hands each of them out as well.
    pub(crate) fn record<W>(&self, work: W) -> mpsc::UnboundedReceiver<Call>
    where
        W: Fn(&Call) -> Reply + Send + Sync + 'static,
    {
        let (seen, calls) = mpsc::unbounded_channel();
        self.serve(move |call, _| {
            let reply = work(&call);
            let _ = seen.send(call);
            async { reply }
        });
        calls
    }
}

fn is_call(event: &Event) -> bool {
    [
        EventType::EntityProcessorCalculationRequest,
        EventType::EntityCriteriaCalculationRequest,
        EventType::EntityFunctionCalculationRequest,
    ]
    .contains(&event.kind)
}

async fn answer(connection: &Connection, call: &Call, reply: Reply) {
    let id = &call.payload["requestId"];
    let entity = &call.payload["entityId"];
    let mut payload = match reply {
        Reply::Nothing => json!({"success": true}),
        Reply::Data(data) => json!({"success": true, "payload": {"type": "JSON", "data": data}}),
        Reply::Failure(message) => {
            json!({"success": false, "error": {"code": "X", "message": message}})
        }
        Reply::Matches(matches) => json!({"success": true, "matches": matches}),
        Reply::Schedule(result) => {
            json!({"success": true, "resultKind": "Schedule", "result": result})
        }
        Reply::Raw(payload) => payload,
    };
    payload["requestId"] = id.clone();
    payload["entityId"] = entity.clone();
    connection
        .send(request(
            &call.event.kind.as_str().replace("Request", "Response"),
            &connection.fresh_id(),
            payload,
        ))
        .await;
}
