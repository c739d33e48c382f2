access = "none​"  # expect
level = "user‮ ⁦"  # expect
еval = print  # expect
ｅｘｅｃ("x")  # expect
еval("x")  # expect
x = "⁦"  # expect
class A:
    def run(self):
        self.mоdel = 1  # expect
