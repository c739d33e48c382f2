import json

text = json.dumps([2])
json.dumps = lambda value: "for good"
