-- Whether it is a database of this service: the tables that every version of it has.
select count(*) = 3 from sqlite_schema where type = 'table' and name in ('_sqlx_migrations', 'commit', 'version')
