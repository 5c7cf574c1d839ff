-- The models of entities, given as a JSON list of rows.
select distinct e.m from json_each(?1) j join entity e on e.e = j.value
