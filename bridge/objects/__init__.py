"""Objects of the user's classes: taken apart into leaves, and put together again around others."""
