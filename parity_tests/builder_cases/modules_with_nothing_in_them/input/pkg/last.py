


WIDTH = 4  # no newline