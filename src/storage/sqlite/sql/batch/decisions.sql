insert or rollback into decision(n, e, record)
select * from (values (?, ?, ?)) where column1 is not null;
