//! The member of the README: it serves the `add-tax` of orders.

use interlock_client::{Call, HandlerResult, Member, reject};
use serde_json::{Value, json};

async fn add_tax(call: Call) -> HandlerResult<Value> {
    let mut order: Value = call.document()?;
    if order["total"].as_f64() <= Some(0.0) {
        return Err(reject("nothing to tax"));
    }
    order["tax"] = json!(50);
    Ok(order)
}

#[tokio::main]
async fn main() -> interlock_client::Result<()> {
    tracing_subscriber::fmt().init();
    let member = Member::new(target()).tag("billing");
    member.processor("add-tax", add_tax).run().await
}

/// The server that the command line names.
fn target() -> String {
    std::env::args()
        .nth(1)
        .unwrap_or_else(|| "localhost:9090".to_owned())
}
