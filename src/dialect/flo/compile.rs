//! Documents compiled to programs.

use std::collections::BTreeMap;

use super::{BUILT_IN_TERMINALS, Document};
use crate::program::{FORM, Program, Terminal};

impl Document {
    /// The form that a run of this document follows.
    pub fn compile(&self) -> Program {
        let built_in = BUILT_IN_TERMINALS.map(|(name, status)| {
            let terminal = Terminal {
                status,
                output: None,
            };
            (name.into(), terminal)
        });
        let terminals: BTreeMap<_, _> = self.terminals.iter().cloned().chain(built_in).collect();
        Program {
            form: FORM,
            name: self.name.clone(),
            version: self.version.clone(),
            entry: Some(self.start.clone()),
            steps: self.steps.iter().cloned().collect(),
            terminals,
            plans: self.plans.iter().cloned().collect(),
            search_attributes: self.search_attributes.clone(),
            output: self.output.clone(),
            saga: None,
        }
    }
}
