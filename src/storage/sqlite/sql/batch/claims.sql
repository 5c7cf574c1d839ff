insert or rollback into unique_key(m, u, key, e)
select * from (values (?, ?, ?, ?)) where column1 is not null;
