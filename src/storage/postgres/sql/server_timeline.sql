-- On which timeline a server that takes writes is. A checkpoint names it only some time after the
-- promotion, the place of the next write at once.
select system_identifier,
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint as timeline
from pg_control_system()
