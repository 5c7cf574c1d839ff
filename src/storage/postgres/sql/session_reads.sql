-- A table that an operator has locked costs the reads of that table, not the connections of all reads.
set lock_timeout = '5s'
