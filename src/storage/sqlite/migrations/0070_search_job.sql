-- Searches that run on their own (`search.md` §6): what is looked for, and what became of it. A
-- job has the schema as it was, since that decides what its condition means: run again, it finds
-- the same.
create table search_job(
  j integer primary key autoincrement, -- never given twice: who waits asks for those after one
  id blob not null unique,
  t integer not null references tenant,
  m integer not null references model,
  seq integer not null,        -- what it sees
  query text not null,
  schema text not null,
  state integer not null,      -- 0 running, 1 successful, 2 failed, 3 cancelled
  created integer not null,    -- microseconds
  finished integer,            -- microseconds
  expires integer,             -- microseconds; once it is finished
  count integer not null,
  took integer not null        -- milliseconds
) strict;

create index search_job_running on search_job(j) where state = 0;
create index search_job_expires on search_job(expires) where expires is not null;

-- What a job has found: positions of versions, in order.
create table search_hit(
  j integer not null,
  i integer not null,
  n integer not null,
  primary key(j, i)
) strict, without rowid;
