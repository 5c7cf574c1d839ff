-- What the members and workers of nodes can do that have nothing to do, by tenant: a node that has
-- tasks which wait hands their runs over.
create table task_offer(
  i bigint not null,
  t bigint not null references tenant,
  offers text not null,    -- JSON
  primary key(i, t)
);
