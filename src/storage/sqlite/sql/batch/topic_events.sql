insert or rollback into topic_event(o, n, at, id, key, type, data)
select * from (values (?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
