-- All indexes.
select p, m, path, state, filled_to, declared from search_path order by p
