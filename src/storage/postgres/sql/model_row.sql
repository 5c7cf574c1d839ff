-- The row of a model, also of one that was deleted.
select m from model where t = $1 and name = $2 and version = $3
