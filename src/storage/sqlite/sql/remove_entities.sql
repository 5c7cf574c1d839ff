-- Makes those deletions current.
update entity set n = ?1 + j.key, live = 0 from json_each(?2) j where entity.e = j.value
