pragma wal_checkpoint(truncate);
