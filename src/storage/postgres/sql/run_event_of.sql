-- The advances of a run that have events after a number. One that only says who drives the run has
-- none, and the number of the one before.
select n, r, last, record from run_event
where r = $1 and last > $2 and record <> '[]'
order by last limit $3
