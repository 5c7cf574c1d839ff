-- This connection only reads, notifies and beats; nobody waits for a disk because of it.
set synchronous_commit = off;
-- What is not answered in time is asked again on another connection.
set statement_timeout = '2s'
