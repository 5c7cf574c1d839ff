-- How far an `interlock copy` into this database has got; one row, which is gone once it is done.
create table copying(
  source text not null,  -- the newest commit of the source
  part text not null,    -- the table
  place text not null,   -- the key of its last row that was written
  written bigint not null
)
