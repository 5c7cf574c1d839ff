drop table copying
