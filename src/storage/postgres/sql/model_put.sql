insert into model(t, name, version, state, updated, rev) values($1, $2, $3, $4, $5, $6)
on conflict(t, name, version) do update set state = excluded.state, updated = excluded.updated, rev = excluded.rev, unique_keys = null, change_level = null
returning m
