-- Who else uses the database.
select string_agg(distinct coalesce('a process at ' || host(client_addr), 'a local process'), ', ')
from pg_stat_activity
where datname = current_database() and application_name = 'interlock' and pid <> pg_backend_pid()
