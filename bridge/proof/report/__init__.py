"""What a check finds, as data, and how it is shown."""
