select source, part, place, written from copying
