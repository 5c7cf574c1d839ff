insert into copying(source, part, place, written) values($1::text, $2::text, $3::text, $4::bigint)
