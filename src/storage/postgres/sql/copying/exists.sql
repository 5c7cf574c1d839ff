select to_regclass('copying') is not null
