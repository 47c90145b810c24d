"""How compiled time grows: with the number of steps, and with the size of arrays of which loops write small parts."""
