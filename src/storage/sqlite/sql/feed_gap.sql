-- Up to which position there is no version after another.
select coalesce(min(n) - 1, (select max(seq) from "commit")) from version where n > ?1
