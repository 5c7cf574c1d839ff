-- The keys of entities that are deleted, in indexes that many of them leave.
swept as (
  delete from search_key using head
  where search_key.p = any(?::bigint[]) and search_key.e = any(?::bigint[])
)
