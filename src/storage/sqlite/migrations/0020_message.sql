-- Texts that travel beside entities (`rest.md` §6). One is made once and deleted once; nothing
-- changes it, so there are no versions of it.
create table message(
  k integer primary key,
  id blob not null unique,
  t integer not null references tenant,
  seq integer not null,    -- the commit that made it
  header text not null,
  metadata text not null,
  content text not null
) strict;
