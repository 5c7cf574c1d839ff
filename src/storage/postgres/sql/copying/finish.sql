-- What is written from here on gets keys after those that were copied.
select setval(pg_get_serial_sequence('tenant', 't'), (select coalesce(max(t), 0) + 1 from tenant), false),
  setval(pg_get_serial_sequence('actor', 'a'), (select coalesce(max(a), 0) + 1 from actor), false),
  setval(pg_get_serial_sequence('model', 'm'), (select coalesce(max(m), 0) + 1 from model), false),
  setval(pg_get_serial_sequence('definition', 'd'), (select coalesce(max(d), 0) + 1 from definition), false),
  setval(pg_get_serial_sequence('message', 'k'), (select coalesce(max(k), 0) + 1 from message), false),
  setval(pg_get_serial_sequence('search_path', 'p'), (select coalesce(max(p), 0) + 1 from search_path), false),
  setval(pg_get_serial_sequence('search_job', 'j'), (select coalesce(max(j), 0) + 1 from search_job), false),
  setval(pg_get_serial_sequence('record', 'c'), (select coalesce(max(c), 0) + 1 from record), false),
  setval(pg_get_serial_sequence('topic_event', 'k'), (select coalesce(max(k), 0) + 1 from topic_event), false),
  setval(pg_get_serial_sequence('run_name', 'q'), (select coalesce(max(q), 0) + 1 from run_name), false)
