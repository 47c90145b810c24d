"""Rules: how cotangents pass through functions, which functions have one, and what is known of them."""
