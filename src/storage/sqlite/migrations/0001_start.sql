-- Everything that was written stands on one number line (STORAGE.md §1): a version and a
-- decision take a position each, and the commit that wrote them takes the next one.

create table meta(
  key text primary key,
  value any
) strict;

create table tenant(
  t integer primary key,
  name text not null unique
) strict;

create table actor(
  a integer primary key,
  t integer not null references tenant,
  kind text not null,
  name text not null,
  unique(t, kind, name)
) strict;

-- A deleted model keeps its row, so that the history of its entities keeps its name.
create table model(
  m integer primary key,
  t integer not null references tenant,
  name text not null,
  version integer not null,
  state text not null, -- absent, UNLOCKED, LOCKED
  change_level text,
  unique_keys text,
  updated integer not null, -- microseconds
  rev integer not null,     -- the commit that changed it last
  unique(t, name, version)
) strict;

-- What samples and extensions added; the schema is what all of them together make.
create table model_delta(
  m integer not null references model,
  n integer not null,
  delta text not null,
  primary key(m, n)
) strict, without rowid;

-- One workflow as it was given, named by its hash.
create table definition(
  d integer primary key,
  hash blob not null unique,
  body text not null
) strict;

-- The list of workflows of a model: [[d, active], …]; the newest counts.
create table workflow_set(
  m integer not null references model,
  n integer not null,
  list text not null,
  primary key(m, n)
) strict, without rowid;

create table "commit"(
  seq integer primary key,
  id blob not null unique,
  entry blob,              -- the transaction the request began with, where this is a later segment
  t integer not null,
  at integer not null unique, -- microseconds, strictly increasing with seq
  author integer not null,
  executor integer
) strict;

create table entity(
  e integer primary key,
  id blob not null unique,
  m integer not null,
  n integer not null,      -- the current version
  state text not null,
  live integer not null,
  created integer not null, -- microseconds
  workflow text
) strict;

create index entity_id_order on entity(m, id) where live;
create index entity_gone_id_order on entity(m, id) where not live;
create index entity_state on entity(m, state, id) where live;

create table version(
  n integer primary key,
  e integer not null,
  m integer not null,
  seq integer not null,
  kind integer not null,   -- 0 create, 1 update, 2 delete
  state text not null,
  transition text,
  author integer,          -- where it is not that of the commit
  executor integer,
  data text,
  record text
) strict;

create index version_entity on version(e, n);

create table decision(
  n integer primary key,
  e integer not null,
  record text not null
) strict;

create index decision_entity on decision(e, n);

create table task(
  k integer primary key,
  due integer not null,    -- microseconds
  t integer not null,
  e integer,
  kind integer not null,
  name text not null,
  body text not null,
  tries integer not null,
  lease_until integer,
  lease_node integer
) strict;

create index task_due on task(due);
create unique index task_name on task(e, kind, name) where e is not null;
