create table sorted(key blob not null, n integer not null) strict;
