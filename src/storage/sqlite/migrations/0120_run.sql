-- Runs (KERNEL §3). What a run has done is in its events; its state says where it stands.
create table run_name(
  q integer primary key,
  t integer not null references tenant,
  ns text not null,
  name text not null,
  unique(t, ns, name)
) strict;

create table run(
  r integer primary key,
  t integer not null,
  q integer not null,
  n integer not null,      -- the position of the last event
  status integer not null, -- 0 pending, 1 running, 2 waiting, from 3 on ended
  out integer not null,    -- work of it is out
  timer integer not null,  -- it has a row in task
  up integer,              -- the run that started it
  e blob,                  -- the entity it was started for
  awaits blob,             -- the entity it waits for
  created integer not null, -- microseconds
  ended integer,
  state text not null
) strict;

create index run_tenant on run(t, r);
create index run_of on run(q, r);
create index run_live on run(t, r) where ended is null;
create index run_up on run(up, r) where up is not null;
create index run_entity on run(e, r) where e is not null;
create index run_awaits on run(awaits) where awaits is not null;

-- One row for each advance, with all its events: the positions before n belong to them.
create table run_event(
  n integer primary key,
  r integer not null,
  last integer not null,   -- the number of its last event in the run
  record text not null
) strict;

create index run_event_run on run_event(r, last);

create table run_key(
  t integer not null,
  kind integer not null,   -- 0 idempotency key, 1 chosen id
  scope text not null,
  key text not null,
  r integer not null,
  primary key(t, kind, scope, key)
) strict, without rowid;

-- A task belongs to an entity, or to a run, which has one at most.
alter table task add column r integer;
create unique index task_run on task(r) where r is not null;
