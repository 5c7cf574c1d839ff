-- Makes an index of a model by a path that nobody declared, unless there is one, or there are
-- enough of its kind.
insert into search_path(m, path, state, declared, used) select $1::bigint, $2::text, 0, false, $3::bigint
where (select count(*) from search_path where m = $1 and state <> 2 and not declared) < $4
on conflict(m, path) where state <> 2 do nothing
