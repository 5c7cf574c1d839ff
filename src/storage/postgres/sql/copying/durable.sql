set local synchronous_commit = on
