-- Small named documents that are not entities: definitions, compiled programs, actions and the
-- like. Only the newest version of one is stored; `n` is the commit that wrote it.
create table record(
  c integer primary key,
  t integer not null references tenant,
  kind integer not null,   -- 1 definition, 2 program, 3 action, 4 producer, 5 variable, 6 document, 7 module
  ns text not null,
  name text not null,
  n integer not null,
  body text not null,
  unique(t, kind, ns, name)
) strict;

-- What starts runs by itself is read as a whole at the start, whoever's it is.
create index record_producer on record(c) where kind = 4;
