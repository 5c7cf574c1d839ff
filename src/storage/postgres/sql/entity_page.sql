-- One page of the entities of a model as they are now; the rows before it are passed over in
-- the index alone.
select id, n from entity where m = $1 and live order by id limit $2 offset $3
