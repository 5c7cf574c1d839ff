select n, r, last, record from run_event
where r = $1 and last > $2
order by last limit $3
