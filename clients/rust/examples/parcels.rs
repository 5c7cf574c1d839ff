//! The client of the README: it creates a parcel and reads it.

use interlock_client::{Client, ErrorKind, Model, Result};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::connect(target()).await?;
    let parcel = Model::new("parcel", 1);
    let sample = json!({"sku": "A-1", "weight": 1.5});
    match client.models().import(&parcel, &sample).await {
        Err(error) if error.kind() == ErrorKind::ModelState => {} // from the second time on
        imported => {
            imported?;
            client.models().lock(&parcel).await?;
        }
    }
    let document = json!({"sku": "B-7", "weight": 0.25});
    let written = client.entities().create(&parcel, &document).await?;
    let entity = client.entities().get(written.entity_id).await?;
    println!("{} {}", entity.state, entity.document::<Value>()?["weight"]);
    Ok(())
}

/// The server that the command line names.
fn target() -> String {
    std::env::args()
        .nth(1)
        .unwrap_or_else(|| "localhost:9090".to_owned())
}
