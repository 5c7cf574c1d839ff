-- The documents of entities, given by their rows.
select e.e, e.m, v.data from unnest($1::bigint[]) j(e) join entity e on e.e = j.e join version v on v.n = e.n
