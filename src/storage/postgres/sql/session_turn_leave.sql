-- Leaves a turn that was not got.
rollback
