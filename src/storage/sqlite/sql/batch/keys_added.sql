insert or ignore into search_key(p, key, e)
select * from (values (?, ?, ?)) where column1 is not null;
