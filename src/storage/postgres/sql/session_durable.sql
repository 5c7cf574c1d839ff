-- An answer says that a commit is on the disk, and on the standby where there is a synchronous one.
select set_config('synchronous_commit', 'on', false)
where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')
