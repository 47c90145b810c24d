"""The equations of a traced program before XLA gets them: what is not needed is dropped, some are replaced."""
