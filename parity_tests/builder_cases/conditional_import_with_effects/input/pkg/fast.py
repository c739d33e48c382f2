print('fast')
