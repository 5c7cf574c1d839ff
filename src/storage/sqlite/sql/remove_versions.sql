-- Appends the deletion of entities, given as a JSON list of rows, from a position on.
insert into version(n, e, m, seq, kind, state, author, executor)
select ?1 + j.key, e.e, e.m, ?2, 2, e.state, ?4, ?5 from json_each(?3) j join entity e on e.e = j.value
