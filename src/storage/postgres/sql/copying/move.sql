-- Not moved if someone else has moved it.
update copying set part = $2::text, place = $3::text, written = $4::bigint where source = $1::text and written = $5::bigint
