"""Parts of arrays, known when a program is compiled or only when it runs: read, written and added to."""
