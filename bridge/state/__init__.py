"""The program's objects: what they hold, in which slots, and how a slot gets back what it held."""
