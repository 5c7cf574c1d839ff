-- The records that kept runs until their managers had read how they ended.
delete from record
where c in (
  select awaited.c
  from json_each(?1) given
  cross join run on run.r = given.value
  cross join record awaited
    on awaited.t = run.t and awaited.kind = 18 and awaited.ns = ''
    and awaited.name = cast(run.r as text)
)
