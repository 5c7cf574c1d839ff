-- Whether the server can be used.
select current_setting('server_version_num')::bigint as version,
  current_setting('server_version') as version_name,
  pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as read_only,
  current_setting('server_encoding') as encoding
