WIDTH = 'café'
