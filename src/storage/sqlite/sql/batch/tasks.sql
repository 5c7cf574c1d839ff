insert or replace into task(k, due, t, e, kind, name, body, tries)
select * from (values (?, ?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
