-- The pages of a table and its indexes that are not what they should be.
select 'page ' || d.pageno || ' of ' || d.name from sqlite_schema s join dbstat d on d.name = s.name
where s.tbl_name = ? and d.pagetype = 'corrupted'
