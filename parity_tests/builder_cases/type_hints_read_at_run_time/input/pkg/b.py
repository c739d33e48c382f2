class Shape:
    mark = "b"
