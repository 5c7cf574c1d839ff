-- The first and the last entity of a model by their ids.
select
  (select id from entity where m = $1 and live order by id limit 1),
  (select id from entity where m = $1 and live order by id desc limit 1)
