rollback;
