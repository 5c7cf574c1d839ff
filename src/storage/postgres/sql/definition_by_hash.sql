-- A workflow as it was when its hash was recorded.
select body from definition where hash = $1
