begin immediate;
