-- Whether it is the database of another program: it has tables, and not those that every version of
-- this service has. A first migration or a copy that was interrupted may have left one of ours.
select
  exists (
    select 1 from sqlite_schema
    where type in ('table', 'view')
      and name not in ('_sqlx_migrations', 'copying')
      and name not like 'sqlite!_%' escape '!'
  )
  and (
    select count(*) < 3 from sqlite_schema
    where type = 'table' and name in ('_sqlx_migrations', 'commit', 'version')
  )
