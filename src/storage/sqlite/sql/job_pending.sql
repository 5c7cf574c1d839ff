-- How many jobs of a tenant wait or run, counted up to a number.
select count(*) from (select 1 from search_job where state = 0 and t = ?1 limit +?2)
