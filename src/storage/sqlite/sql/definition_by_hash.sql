-- A workflow as it was when its hash, in hexadecimal, was recorded.
select body from definition where hash = unhex(?1)
