vacuum into ?1
