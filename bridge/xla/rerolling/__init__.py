"""Python loops that tracing has unrolled, as loops again."""
