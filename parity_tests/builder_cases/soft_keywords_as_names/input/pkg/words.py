match = 1
type = "type"
case = "case"
_ = "_"
