"""Examples with pictures: `python -m examples.gallery`."""
