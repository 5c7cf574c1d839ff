//! The values of the rows of runs, in the order of their statements.

use std::sync::Arc;

use super::script::{Row, Script};
use crate::storage::port::{NewRun, RunEnd, RunEventRow, RunKeyRow, RunMove, RunTimer, TimerDone};

impl Row for RunTimer {
    const COLUMNS: usize = 5;

    fn bind(&self, values: &mut Script) {
        values.bind(self.k).bind(self.due).bind(self.t);
        values.bind(self.r).bind(self.kind);
    }
}

impl Row for TimerDone {
    const COLUMNS: usize = 1;

    fn bind(&self, values: &mut Script) {
        values.bind(self.0);
    }
}

impl Row for NewRun {
    const COLUMNS: usize = 13;

    fn bind(&self, values: &mut Script) {
        let moved = &self.moved;
        values.bind(self.r).bind(self.t).bind(self.q).bind(moved.n);
        values.bind(moved.status).bind(moved.out).bind(moved.timer);
        values.bind(self.up).bind(self.e).bind(moved.awaits);
        values
            .bind(self.created)
            .bind(moved.ended)
            .bind(Arc::clone(&moved.state));
    }
}

impl Row for RunMove {
    const COLUMNS: usize = 7;

    fn bind(&self, values: &mut Script) {
        values.bind(self.r).bind(self.n).bind(self.status);
        values.bind(self.out).bind(self.timer).bind(self.awaits);
        values.bind(Arc::clone(&self.state));
    }
}

impl Row for RunEnd {
    const COLUMNS: usize = 8;

    fn bind(&self, values: &mut Script) {
        self.0.bind(values);
        values.bind(self.0.ended);
    }
}

impl Row for RunEventRow {
    const COLUMNS: usize = 4;

    fn bind(&self, values: &mut Script) {
        values.bind(self.n).bind(self.r).bind(self.last);
        values.bind(Arc::clone(&self.record));
    }
}

impl Row for RunKeyRow {
    const COLUMNS: usize = 5;

    fn bind(&self, values: &mut Script) {
        values.bind(self.t).bind(self.kind);
        values.bind(Arc::clone(&self.scope));
        values.bind(Arc::clone(&self.key)).bind(self.r);
    }
}
