select n from sorted order by key;
