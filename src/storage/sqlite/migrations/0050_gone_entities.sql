-- Which of the entities that are gone were there at a sequence, told by the index alone: their
-- last version, the deletion, came later.
drop index entity_gone_id_order;
create index entity_gone_id_order on entity(m, id, n) where not live;
