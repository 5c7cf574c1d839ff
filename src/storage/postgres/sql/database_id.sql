-- Identifies this database among all others, also among copies that pg_dump has made of it; the same on
-- standbys. One database may have several sets of tables.
select system_identifier::text || '/' || d.oid::text || '/' || c.relnamespace::text
from pg_control_system(), pg_database d, pg_class c
where d.datname = current_database() and c.oid = 'node'::regclass
