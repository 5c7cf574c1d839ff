-- Makes an index of a model by a path that nobody declared, unless there is one.
insert into search_path(m, path, state, declared) values(?1, ?2, 0, 0)
on conflict(m, path) where state <> 2 do nothing
