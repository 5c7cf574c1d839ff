-- The documents of entities, given as a JSON list of rows.
select e.e, e.m, v.data from json_each(?1) j join entity e on e.e = j.value join version v on v.n = e.n
