class A:
    def forward(self, x):
        self.steps = x
        return x
