-- Not moved if someone else has moved it.
update copying set part = ?2, place = ?3, written = ?4 where source = ?1 and written = ?5
