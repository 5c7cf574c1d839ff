select to_regclass(quote_ident($1::text)) is not null
