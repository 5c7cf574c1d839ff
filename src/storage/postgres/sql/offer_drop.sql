delete from task_offer where i = $1 and t = (select t from tenant where name = $2)
