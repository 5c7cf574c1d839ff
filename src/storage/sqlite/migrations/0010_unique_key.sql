-- What live entities say in the fields of unique keys: one entity for each value. A key is its
-- place in the list of its model, which changes only while the model has no entities.
create table unique_key(
  m integer not null,
  u integer not null,
  key blob not null,
  e integer not null,
  primary key(m, u, key)
) strict, without rowid;

create index unique_key_entity on unique_key(e);
