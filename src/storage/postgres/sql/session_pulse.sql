-- This connection only reads and notifies; nobody waits for a disk because of it.
set synchronous_commit = off
