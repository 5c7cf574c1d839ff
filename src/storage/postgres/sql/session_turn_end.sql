-- Ends a turn; what was written in it is durable then.
commit
