-- Who may call (`rest.md` §7): clients, keys and providers, each a JSON of who made it. Names are
-- unique over all tenants, because a token is looked at before anyone knows whose it is.
create table identity(
  kind integer not null,   -- 0 client, 1 key pair, 2 trusted key, 3 provider
  name text not null,
  t integer not null references tenant,
  record text not null,
  primary key(kind, name)
) strict, without rowid;
