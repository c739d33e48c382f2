class Shape:
    mark = "c"
