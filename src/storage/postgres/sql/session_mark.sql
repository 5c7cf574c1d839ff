-- Marks a session, which no other one sees.
select set_config('interlock.session', $1::text, false)
