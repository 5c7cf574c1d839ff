//! Runs, their keys and their histories.
#![cfg(test)]

use super::{State, row};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId, Tenant};
use crate::storage::port::{
    Batch, NewRun, RunEventRow, RunEvents, RunKey, RunMove, RunName, RunNameRow, RunsWanted,
    StoredRun, TenantRow,
};

impl State {
    pub(in crate::storage) fn newest_run(&self) -> RunId {
        RunId::new(self.runs.last_key_value().map_or(0, |(r, _)| *r))
    }

    pub(in crate::storage) fn run_name(&mut self, tenant: TenantRow, name: &RunName) -> RunNameRow {
        let known = self.run_names.iter();
        let place = known
            .clone()
            .position(|known| *known == (tenant, name.clone()));
        let place = place.unwrap_or_else(|| {
            self.run_names.push((tenant, name.clone()));
            self.run_names.len() - 1
        });
        RunNameRow(row(place))
    }

    pub(in crate::storage) fn run(&self, tenant: TenantRow, id: RunId) -> Option<StoredRun> {
        let run = self.runs.get(&id.number())?;
        (run.t == tenant.0).then(|| self.stored_run(run))
    }

    fn stored_run(&self, run: &NewRun) -> StoredRun {
        let moved = &run.moved;
        let name = usize::try_from(run.q - 1).expect("a row");
        StoredRun {
            id: RunId::new(run.r),
            tenant: TenantRow(run.t),
            name: self.run_names[name].1.clone(),
            position: Position(moved.n),
            status: u8::try_from(moved.status).expect("a status"),
            is_out: moved.out,
            owner: None,
            has_timer: moved.timer,
            parent: run.up.map(RunId::new),
            entity: run.e.map(EntityId::from_uuid),
            awaits: moved.awaits.map(EntityId::from_uuid),
            created: Timestamp::from_micros(run.created),
            ended: moved.ended.map(Timestamp::from_micros),
            state: moved.state.clone(),
        }
    }

    pub(in crate::storage) fn run_positions(&self, runs: &[RunId]) -> Vec<(RunId, Position)> {
        let position = |id: &RunId| {
            let run = self.runs.get(&id.number())?;
            Some((*id, Position(run.moved.n)))
        };
        runs.iter().filter_map(position).collect()
    }

    pub(in crate::storage) fn run_keys(
        &self,
        tenant: TenantRow,
        keys: &[RunKey],
    ) -> Vec<(RunKey, RunId)> {
        let found = |key: &RunKey| {
            let name = (
                tenant.0,
                key.kind.code(),
                key.scope.clone(),
                key.key.clone(),
            );
            let run = self.run_keys.get(&name)?;
            Some((key.clone(), RunId::new(*run)))
        };
        keys.iter().filter_map(found).collect()
    }

    pub(in crate::storage) fn runs(
        &self,
        tenant: TenantRow,
        wanted: &RunsWanted,
        limit: i64,
    ) -> Vec<StoredRun> {
        let before = wanted.before.map_or(i64::MAX, RunId::number);
        let newest = self.runs.range(..before).rev();
        let of_tenant = newest.filter(|(_, run)| run.t == tenant.0);
        let runs = of_tenant.map(|(_, run)| self.stored_run(run));
        let is_wanted = |run: &StoredRun| {
            let name = wanted.name.as_ref().is_none_or(|name| *name == run.name);
            name && wanted.parent.is_none_or(|up| run.parent == Some(up))
                && wanted
                    .entity
                    .is_none_or(|entity| run.entity == Some(entity))
        };
        runs.filter(is_wanted)
            .take(usize::try_from(limit).expect("a limit"))
            .collect()
    }

    pub(in crate::storage) fn runs_that_are_out(
        &self,
        after: RunId,
        limit: i64,
    ) -> Vec<(Tenant, RunId)> {
        let next = self.runs.range(after.number() + 1..);
        let out = next.filter(|(_, run)| run.moved.out);
        out.map(|(_, run)| self.named(run))
            .take(usize::try_from(limit).expect("a limit"))
            .collect()
    }

    pub(in crate::storage) fn runs_that_await(&self) -> Vec<(EntityId, TenantRow, Tenant, RunId)> {
        let awaiting = |run: &NewRun| {
            let entity = EntityId::from_uuid(run.moved.awaits?);
            let (tenant, id) = self.named(run);
            Some((entity, TenantRow(run.t), tenant, id))
        };
        self.runs.values().filter_map(awaiting).collect()
    }

    pub(in crate::storage) fn live_runs(&self) -> Vec<(Tenant, u8, u64)> {
        let live = self.runs.values().filter(|run| run.moved.ended.is_none());
        live.map(|run| {
            let status = u8::try_from(run.moved.status).expect("a status");
            (self.named(run).0, status, 1)
        })
        .collect()
    }

    fn named(&self, run: &NewRun) -> (Tenant, RunId) {
        let tenant = usize::try_from(run.t - 1).expect("a row");
        (self.tenants[tenant].clone(), RunId::new(run.r))
    }

    pub(in crate::storage) fn run_events(
        &self,
        run: RunId,
        after: i64,
        limit: i64,
    ) -> Vec<RunEvents> {
        let events = self.run_events.values();
        let events = events.filter(|event| {
            event.r == run.number() && event.last > after && &*event.record != "[]"
        });
        events
            .map(given)
            .take(usize::try_from(limit).expect("a limit"))
            .collect()
    }

    pub(in crate::storage) fn run_events_after(
        &self,
        tenant: TenantRow,
        after: Position,
        until: Position,
        limit: i64,
    ) -> Vec<RunEvents> {
        let events = self.run_events.range(after.0 + 1..=until.0);
        let events = events.filter(|(_, event)| self.runs[&event.r].t == tenant.0);
        events
            .map(|(_, event)| given(event))
            .take(usize::try_from(limit).expect("a limit"))
            .collect()
    }

    pub(super) fn write_runs(&mut self, batch: &Batch) {
        for done in &batch.timers_done {
            self.timers.retain(|_, timer| timer.r != done.0);
        }
        for timer in &batch.timers {
            self.timers.retain(|_, other| other.r != timer.r);
            let before = self.timers.insert(timer.k, timer.clone());
            self.insist(before.is_none(), || format!("{timer:?} a second time"));
        }
        for run in &batch.runs {
            let before = self.runs.insert(run.r, run.clone());
            self.insist(before.is_none(), || format!("{run:?} a second time"));
        }
        for moved in &batch.runs_moved {
            self.move_run(moved);
        }
        for ended in &batch.runs_ended {
            self.move_run(&ended.0);
        }
        for event in &batch.run_events {
            let before = self.run_events.insert(event.n, event.clone());
            self.insist(before.is_none(), || format!("{event:?} a second time"));
        }
        for key in &batch.run_keys {
            let name = (key.t, key.kind, key.scope.clone(), key.key.clone());
            let before = self.run_keys.insert(name, key.r);
            self.insist(before.is_none(), || format!("{key:?} a second time"));
        }
    }

    fn move_run(&mut self, moved: &RunMove) {
        match self.runs.get_mut(&moved.r) {
            Some(run) => run.moved = moved.clone(),
            None => self
                .violations
                .push(format!("{moved:?} of no run that there is")),
        }
    }
}

fn given(event: &RunEventRow) -> RunEvents {
    RunEvents {
        run: RunId::new(event.r),
        position: Position(event.n),
        last: u64::try_from(event.last).expect("a number"),
        record: event.record.clone(),
    }
}
