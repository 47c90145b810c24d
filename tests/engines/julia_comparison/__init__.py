"""What the engine "julia" gives, against the rule book: on the cases of the rules and on the recorded programs."""
