"""Random programs of loops, branches and windows, as text in files, so that they are read: compiled against native."""
