"""Loops and branches of a program as functions, so that what compiles the program may run them as its own."""
