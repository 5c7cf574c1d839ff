-- How many entities of a model are in each state.
select state, count(*) as count from entity where m = $1 and live group by state order by state
