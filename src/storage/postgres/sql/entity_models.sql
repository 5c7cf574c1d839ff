-- The models of entities, given by their rows.
select distinct e.m from unnest($1::bigint[]) j(e) join entity e on e.e = j.e
