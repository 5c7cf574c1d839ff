-- What was answered to requests that are to be done once, by the key of their client. A request
-- of several transactions has a row for each.
create table idempotency(
  t integer not null references tenant,
  key text not null,
  part integer not null,
  hash blob not null,       -- tells the payload from another
  answer text not null,
  expires integer not null, -- microseconds
  primary key(t, key, part)
) strict;

create index idempotency_expires on idempotency(expires);
