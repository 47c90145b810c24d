"""Published programs, differentiated as they stand: each in a process of its own, proved by finite differences."""
