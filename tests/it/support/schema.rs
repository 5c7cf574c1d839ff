//! Whether what the service sends is what its schemas say.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use interlock::event::EventType;
use jsonschema::Validator;
use serde_json::Value;

type Validators = Mutex<HashMap<EventType, Arc<(Value, Validator)>>>;

static VALIDATORS: LazyLock<Validators> = LazyLock::new(Validators::default);

fn validator(kind: EventType) -> Arc<(Value, Validator)> {
    let mut validators = VALIDATORS.lock().expect("no panic");
    let validator = validators.entry(kind).or_insert_with(|| {
        let schema = interlock::app::event_schema(kind.as_str()).expect("every type has a schema");
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .expect("a schema");
        Arc::new((schema, validator))
    });
    Arc::clone(validator)
}

/// What is wrong with the data of an event, by the schema of its type.
pub(crate) fn faults(kind: EventType, data: &Value) -> Vec<String> {
    let validator = validator(kind);
    let (schema, validator) = &*validator;
    let errors = validator.iter_errors(data);
    let mut faults: Vec<_> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    // Schemas permit members that they do not know; an answer has none.
    if let (Some(known), Some(members)) = (schema["properties"].as_object(), data.as_object()) {
        let unknown = members.keys().filter(|name| !known.contains_key(*name));
        faults.extend(unknown.map(|name| format!("the member `{name}` is not described")));
    }
    faults
}
