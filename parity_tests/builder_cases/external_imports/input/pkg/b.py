import json
import xml.sax
from posixpath import join as sep


def show():
    j = json.dumps(2)
    return j, sep("e", "f"), xml.sax.SAXException.__name__
