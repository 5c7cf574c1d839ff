-- A migration takes as long as it takes, whatever the defaults of the role and the database are. One
-- of the settings is not known to every version.
set session characteristics as transaction isolation level read committed, read write;
set client_min_messages = warning;
select set_config(name, '0', false) from pg_settings
where name in ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout')
