"""A tool for GradBench (gradbench/gradbench): its evals as NumPy programs, and a run of it beside other tools."""
