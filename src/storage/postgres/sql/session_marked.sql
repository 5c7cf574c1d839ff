-- What the session is marked by.
select coalesce(current_setting('interlock.session', true), '')
