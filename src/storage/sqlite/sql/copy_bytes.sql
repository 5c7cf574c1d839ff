-- How large a copy will be, about: pages that are in use.
select (page_count - freelist_count) * page_size
from pragma_page_count, pragma_freelist_count, pragma_page_size
