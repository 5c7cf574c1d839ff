-- Topics: named, kept, ordered lists of events. A topic stays when its events are removed, so that
-- no sequence is given twice.
create table topic(
  o integer primary key,
  t integer not null references tenant,
  ns text not null,
  name text not null,
  last integer not null,   -- the sequence of the newest event
  unique(t, ns, name)
) strict;

create table topic_event(
  k integer primary key,   -- in the order of commits
  o integer not null,
  n integer not null,      -- 1, 2, 3… in its topic
  at integer not null,     -- microseconds
  id text,
  key text,
  type text,
  data text not null,
  unique(o, n)
) strict;

create unique index topic_event_id on topic_event(o, id) where id is not null;
