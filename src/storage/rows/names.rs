//! Names that many rows share.

use crate::id::{ModelKey, StateName};

/// Names that rows share, made once for rows that follow each other.
#[derive(Debug, Default)]
pub(in crate::storage) struct Names {
    model: Option<ModelKey>,
    state: Option<StateName>,
}

impl Names {
    pub(in crate::storage) fn model(&mut self, name: &str, version: i32) -> ModelKey {
        match &self.model {
            Some(last) if &*last.name == name && last.version == version => last.clone(),
            Some(_) | None => self.model.insert(ModelKey::new(name, version)).clone(),
        }
    }

    pub(in crate::storage) fn state(&mut self, name: &str) -> StateName {
        match &self.state {
            Some(last) if last.as_str() == name => last.clone(),
            Some(_) | None => self.state.insert(name.into()).clone(),
        }
    }
}
