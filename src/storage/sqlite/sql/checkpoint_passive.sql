pragma wal_checkpoint(passive);
