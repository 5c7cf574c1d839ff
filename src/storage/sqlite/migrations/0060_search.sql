-- Search indexes: for each path that has one, a row for each value found there (STORAGE.md §6).

create table search_path(
  p integer primary key,
  m integer not null references model,
  path text not null,
  state integer not null,  -- 0 being filled, 1 ready, 2 being dropped
  filled_to blob,          -- the id up to which it has been filled
  declared integer not null
) strict;

create unique index search_path_of_model on search_path(m, path) where state <> 2;

-- Keys sort as the values do; an entity has one for each distinct value at the path.
create table search_key(
  p integer not null,
  key blob not null,
  e integer not null,
  primary key(p, key, e)
) strict, without rowid;
