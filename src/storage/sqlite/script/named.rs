//! Rows of what has a name: records, and topics with their events.

use std::sync::Arc;

use super::{Row, Script};
use crate::storage::port::{RecordGone, RecordPut, TopicEventRow, TopicPut};

impl Row for RecordGone {
    const COLUMNS: usize = 4;

    fn bind(&self, values: &mut Script) {
        values.bind(self.t).bind(self.kind);
        values
            .bind(Arc::clone(&self.ns))
            .bind(Arc::clone(&self.name));
    }
}

impl Row for RecordPut {
    const COLUMNS: usize = 6;

    fn bind(&self, values: &mut Script) {
        self.key.bind(values);
        values.bind(self.n).bind(Arc::clone(&self.body));
    }
}

impl Row for TopicPut {
    const COLUMNS: usize = 5;

    fn bind(&self, values: &mut Script) {
        values.bind(self.o).bind(self.t);
        values
            .bind(Arc::clone(&self.ns))
            .bind(Arc::clone(&self.name))
            .bind(self.last);
    }
}

impl Row for TopicEventRow {
    const COLUMNS: usize = 7;

    fn bind(&self, values: &mut Script) {
        values.bind(self.o).bind(self.n).bind(self.at);
        values
            .bind(self.id.clone())
            .bind(self.key.clone())
            .bind(self.kind.clone())
            .bind(Arc::clone(&self.data));
    }
}
