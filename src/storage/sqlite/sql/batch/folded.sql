delete from model_delta where exists (
  select 1 from (values (?, ?)) v where model_delta.m = v.column1 and model_delta.n < v.column2);
